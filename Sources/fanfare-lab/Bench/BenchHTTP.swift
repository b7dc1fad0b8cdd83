import ArgumentParser
import FanfareConfiguration
import FanfareCore
import FanfareProviders
import FanfareService
import FanfareTools
import Foundation
import PostgresClient

/// `fanfare bench http`: measures how fast the daemon responds by HTTP while it sends, and what readers of `tail` cost.
struct BenchHTTP: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "http",
        abstract: "Measure emitting and registering by HTTP, and readers of the tail.",
        discussion: """
            Clients keep their connections, as backends do. Emits come by the clock, whether the one before is answered or \
            not: a slow one delays no other.
            """
    )

    @OptionGroup var options: BenchOptions

    @Option(help: "Devices that the broadcasts beside the emits reach.")
    var devices = 100_000

    @Option(help: "Clients at once.")
    var clients = 16

    @Option(help: "Events a second, 100 to a request.")
    var rate = 5000

    @Option(help: "Seconds each load is kept up.")
    var seconds = 10.0

    @Option(help: "Readers of the tail that hear nothing; 0 leaves them out.")
    var readers = 1000

    func validate() throws {
        guard devices >= 1, clients >= 1, rate >= 100, seconds > 0, readers >= 0 else {
            throw ValidationError("--devices, --clients and --seconds must be more than 0, --rate at least 100")
        }
    }

    func run() async throws {
        let report = try await BenchPlace.use { place in
            note("starting a private cluster with \(devices) devices")
            var (_, sink) = try await place.startSandbox(named: "sandbox", keepsLedger: false)
            let port = try LoopbackPort.free()
            sink.api = "127.0.0.1:\(port)"
            let (database, configuration) = try await place.startDatabase(devices: devices, sink: sink)
            let token = try await Self.token(configuration: configuration)
            return try await blocking { [self] in
                let daemon = try DaemonProcess.start(
                    named: "http",
                    configuration: configuration,
                    database: database,
                    in: place
                )
                let bench = HTTPBench(daemon: daemon, database: database, port: port, token: token, clients: clients)
                return try measure(bench)
            }
        }
        try options.show(report)
    }

    private func measure(_ bench: HTTPBench) throws -> BenchReport {
        var report = BenchReport(setting: [
            "devices": "\(devices)", "clients": "\(clients)", "rate": "\(rate)", "seconds": "\(seconds)",
            "readers": "\(readers)", "runs": "\(options.runs)", "version": Program.version,
        ])
        var (quiet, busy, registrations): ([HTTPBench.Answers], [HTTPBench.Answers], [Double]) = ([], [], [])
        for run in 1...options.runs {
            note("run \(run) of \(options.runs): emits alone, beside a broadcast, registrations")
            quiet.append(try bench.emits(rate, seconds: seconds, besideBroadcast: false))
            busy.append(try bench.emits(rate, seconds: seconds, besideBroadcast: true))
            registrations.append(try bench.registrations(seconds: seconds))
        }
        report.add("http.emit.alone.p99", "100 events by HTTP, p99", "ms", quiet.map { $0.milliseconds(0.99) })
        report.add("http.emit.rate", "emits by HTTP beside a broadcast", "/s", busy.map { $0.rate * 100 })
        report.add("http.emit.p50", "    a request of 100, p50", "ms", busy.map { $0.milliseconds(0.5) })
        report.add("http.emit.p99", "    p99", "ms", busy.map { $0.milliseconds(0.99) }, bar: .atMost(50))
        report.add("http.register", "registrations by HTTP", "/s", registrations, bar: .atLeast(2000))
        if readers > 0 {
            let memory = try bench.memory(ofReaders: readers)
            report.add(
                "http.readers",
                "memory of \(readers) readers that hear nothing",
                "MiB",
                [memory],
                bar: .atMost(64)
            )
        }
        return report
    }

    private static func token(configuration: String) async throws -> String {
        let parsed = try Configuration.load(file: configuration, environment: [:])
        var request = APITokenRequest(name: "bench", scopes: [.emitter, .registrar, .reader])
        request.rate = Int32.max
        return try await ToolDatabase(parsed, environment: [:]).whileOpen { [request] database throws(ToolError) in
            try await database.createToken(request).text
        }
    }
}
