import ArgumentParser
import FanfareService
import Foundation
import PushSandbox
import PushTransport

/// `fanfare bench`: measures the whole daemon, from the commit of an event to the recorded outcome.
struct BenchDaemon: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "daemon",
        abstract: "Measure the whole daemon (the default)."
    )

    @OptionGroup var options: BenchOptions

    @Option(help: "Devices, all of which a broadcast reaches.")
    var devices = 100_000

    @Option(help: "Events of one recipient each.")
    var events = 50_000

    @Option(help: "Sessions that emit at once while the daemon drains.")
    var writers = 32

    @Option(help: "Events whose way is timed; 0 leaves latency out.")
    var samples = 300

    @Option(help: "Seconds for which an idle daemon is measured, once each run; 0 leaves them out.")
    var idleSeconds = 20

    @Option(
        help: """
            What to push to for throughput (default: nghttpd where it is installed); latency is always taken at the sandbox.
            """
    )
    var sink: SinkKind?

    @Flag(help: "Have the daemon listen for HTTP as well, without requests: what the API costs at rest.")
    var api = false

    @Option(help: "An https origin to push to instead, answering 200 to POST /3/device/…")
    var endpoint: String?

    @Option(help: "A PEM file with the CA of --endpoint.")
    var caFile: String?

    @Flag(help: "Allow an --endpoint beyond this machine.")
    var yesThisEndpointIsMine = false

    func validate() throws {
        guard devices >= 1, events >= writers, writers >= 1, samples >= 0, idleSeconds >= 0 else {
            throw ValidationError(
                "--devices and --writers must be at least 1, --events at least --writers"
            )
        }
        guard let endpoint else { return }
        let place: Endpoint
        do {
            place = try Endpoint(endpoint)
        } catch {
            throw ValidationError("--endpoint: \(error)")
        }
        guard place.isLoopback || yesThisEndpointIsMine else {
            throw ValidationError(
                "--endpoint \(place) is beyond this machine and would get \(devices) requests and more; "
                    + "give --yes-this-endpoint-is-mine too if it is there for that"
            )
        }
    }

    func run() async throws {
        let report = try await BenchPlace.use { place in
            note("starting a private cluster with \(devices) devices")
            var (sandbox, sink) = try await place.startSandbox(named: "sandbox", keepsLedger: true)
            sink.api = api ? "127.0.0.1:\(try LoopbackPort.free())" : nil
            let (database, configuration) = try await place.startDatabase(devices: devices, sink: sink)
            var report = BenchReport(setting: setting)
            report.add(try await measureThroughput(database, sink, certificates: sandbox.ready.dir, in: place))
            guard samples > 0 || idleSeconds > 0 else { return report }
            let daemon = try await blocking {
                try DaemonProcess.start(named: "latency", configuration: configuration, database: database, in: place)
            }
            report.add(
                try await blocking { [idleSeconds, runs = options.runs] in
                    let bench = IdleBench(daemon: daemon, database: database, seconds: Double(idleSeconds))
                    return try (0..<(idleSeconds > 0 ? runs : 0)).map { _ in try bench.run() }
                }
            )
            guard samples > 0 else { return report }
            let commits = try await blocking { [samples] in
                try LatencyBench(daemon: daemon, database: database, samples: samples).run()
            }
            await sandbox.stop()
            let ledger = sandbox.ready.dir + "/received.jsonl"
            report.add(try await blocking { try LatencyResults(commits, ledger: ledger) })
            return report
        }
        try options.show(report)
    }

    private var sinkKind: SinkKind { sink ?? (BenchPlace.program("nghttpd") == nil ? .sandbox : .nghttpd) }

    private var setting: [String: String] {
        [
            "devices": "\(devices)", "events": "\(events)", "writers": "\(writers)", "runs": "\(options.runs)",
            "sink": endpoint ?? sinkKind.rawValue, "api": "\(api)",
            "version": Program.version,
            "processors": "\(ProcessInfo.processInfo.activeProcessorCount)",
        ]
    }

    private func measureThroughput(
        _ database: BenchDatabase,
        _ credentials: BenchSink,
        certificates: String,
        in place: BenchPlace
    ) async throws -> ThroughputResults {
        let target = try await target(credentials, certificates: certificates, in: place)
        let configuration = try target.writeConfiguration(named: "throughput", database: database, in: place)
        // h2load's provider token is not renewed, which only nghttpd accepts.
        let baseline = endpoint == nil && sinkKind == .nghttpd ? target : nil
        return try await blocking { [events, writers, runs = options.runs] in
            let daemon = try DaemonProcess.start(
                named: "throughput",
                configuration: configuration,
                database: database,
                in: place
            )
            // The next daemon must not find this one on the same database.
            defer { daemon.process.stop() }
            let bench = ThroughputBench(daemon: daemon, database: database)
            return try ThroughputResults(bench, events: events, writers: writers, runs: runs, baseline: baseline)
        }
    }

    private func target(
        _ credentials: BenchSink,
        certificates: String,
        in place: BenchPlace
    ) async throws -> BenchSink {
        if let endpoint { return credentials.at(endpoint, caFile: caFile) }
        switch sinkKind {
        case .sandbox:
            var sink = try await place.startSandbox(named: "sink", keepsLedger: false).sink
            sink.api = credentials.api
            return sink
        case .nghttpd:
            let origin = try await blocking { try place.startNghttpd(certificates: certificates) }
            return credentials.at(origin, caFile: credentials.caFile)
        }
    }
}
