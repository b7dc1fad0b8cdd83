import ArgumentParser
import FanfareService
import Foundation
import PushSandbox

/// `fanfare bench transport`: measures the daemon's transports alone, beside the best clients of the same libraries.
struct BenchTransport: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "transport",
        abstract: "Measure the HTTP/2 transport to APNs and FCM alone, against h2load.",
        discussion: """
            Both send pushes to one server; h2load is left out if it is not installed (nghttp2-client). nghttpd \
            answers many requests in one TLS record, which flatters every client; the sandbox answers each by itself, \
            5 ms later, as APNs does.
            """
    )

    @OptionGroup var options: BenchOptions

    @Option(help: "The server to push to.")
    var sink = SinkKind.nghttpd

    @Option(help: "Requests in each run.")
    var requests = 200_000

    @Option(help: "Connections, each with a thread.")
    var connections = 2

    @Option(help: "Requests at once on a connection.")
    var streams = 100

    func validate() throws {
        guard connections >= 1, streams >= 1, requests >= connections * streams else {
            throw ValidationError("--requests must be at least --connections times --streams, and none of them 0")
        }
    }

    func run() async throws {
        let report = try await BenchPlace.use { place in
            // With nghttpd, only its certificates are used.
            let (sandbox, own) = try await place.startSandbox(
                named: "sandbox",
                keepsLedger: false,
                faults: #"[{"match": {}, "do": "slow", "ms": 5}]"#
            )
            let certificates = sandbox.ready.dir
            let target =
                switch sink {
                case .sandbox: own
                case .nghttpd:
                    try await blocking {
                        own.at(try place.startNghttpd(certificates: certificates), caFile: own.caFile)
                    }
                }
            var load = try TransportLoad(sink: target, requests: requests)
            load.connections = connections
            load.streams = streams
            let results = try await blocking { [load, runs = options.runs] in try TransportResults(load, runs: runs) }
            return results.report(setting)
        }
        try options.show(report)
    }

    private var setting: [String: String] {
        [
            "requests": "\(requests)", "connections": "\(connections)", "streams": "\(streams)",
            "runs": "\(options.runs)", "sink": sink.rawValue, "version": Program.version,
            "processors": "\(ProcessInfo.processInfo.activeProcessorCount)",
        ]
    }
}

/// The results of all runs.
struct TransportResults: Sendable {
    private var engine: [TransportLoad.Result] = []
    private var h2load: [TransportLoad.Result] = []

    /// Runs each sender as often as requested, in turn.
    init(_ load: TransportLoad, runs: Int) throws {
        // A warm-up that is not counted: it loads certificates, libraries and the server's memory pages.
        _ = try load.with(requests: max(load.connections, load.requests / 10)).engine()
        for run in 1...runs {
            note("run \(run) of \(runs): \(load.requests) requests each")
            engine.append(try load.engine())
            if let result = try load.h2load() { h2load.append(result) }
        }
    }

    /// Creates the report.
    func report(_ setting: [String: String]) -> BenchReport {
        var report = BenchReport(setting: setting)
        for (id, title, results) in [("engine", "HTTP2Engine", engine), ("h2load", "h2load", h2load)] {
            report.add("\(id).cpu", "\(title), CPU per request", "µs", results.map(\.microseconds))
            report.add("\(id).rate", "\(title), requests", "/s", results.map(\.rate))
        }
        let ratios = zip(engine, h2load).map { $0.microseconds / $1.microseconds }
        report.add("ratio.h2load", "HTTP2Engine over h2load, CPU per request", "×", ratios, bar: .atMost(1.5))
        return report
    }
}
