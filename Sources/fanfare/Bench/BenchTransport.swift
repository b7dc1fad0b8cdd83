import ArgumentParser
import Foundation
import PushSandbox

/// `fanfare bench transport`: the daemon's transport alone, beside what the same library does at best.
struct BenchTransport: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "transport",
        abstract: "Measure the HTTP/2 transport alone, against bare libcurl in C.",
        discussion: "All send the same push to one nghttpd; h2load joins in where it is installed (nghttp2-client)."
    )

    @OptionGroup var options: BenchOptions

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
            // Only for its certificates.
            let (sandbox, credentials) = try await place.startSandbox(named: "sandbox", keepsLedger: false)
            let certificates = sandbox.ready.dir
            let origin = try await blocking { try place.startNghttpd(certificates: certificates) }
            var load = TransportLoad(sink: credentials.at(origin, caFile: credentials.caFile), requests: requests)
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
            "runs": "\(options.runs)", "sink": "nghttpd --echo-upload", "version": Fanfare.version,
            "processors": "\(ProcessInfo.processInfo.activeProcessorCount)",
        ]
    }
}

/// The results of all runs.
struct TransportResults: Sendable {
    private var own: [TransportLoad.Result] = []
    private var bare: [TransportLoad.Result] = []
    private var h2load: [TransportLoad.Result] = []

    /// Runs all senders as often as asked, taking turns.
    init(_ load: TransportLoad, runs: Int) throws {
        // Not counted: certificates, libraries and the server's pages are fetched for the first time.
        _ = try load.with(requests: max(load.connections, load.requests / 10)).bareCurl()
        for run in 1...runs {
            note("run \(run) of \(runs): \(load.requests) requests each")
            bare.append(try load.bareCurl())
            own.append(try load.ownTransport())
            if let result = try load.h2load() { h2load.append(result) }
        }
    }

    /// The figures.
    func report(_ setting: [String: String]) -> BenchReport {
        var report = BenchReport(setting: setting)
        let senders = [("own", "HTTP2Client", own), ("bare", "bare libcurl in C", bare), ("h2load", "h2load", h2load)]
        for (id, title, results) in senders {
            report.add("\(id).cpu", "\(title), CPU per request", "µs", results.map(\.microseconds))
            report.add("\(id).rate", "\(title), requests", "/s", results.map(\.rate))
        }
        let ratios = zip(own, bare).map { $0.microseconds / $1.microseconds }
        report.add("ratio.bare", "HTTP2Client over bare libcurl, CPU per request", "×", ratios, bar: .atMost(1.15))
        let overH2load = zip(own, h2load).map { $0.microseconds / $1.microseconds }
        report.add("ratio.h2load", "HTTP2Client over h2load, CPU per request", "×", overH2load)
        return report
    }
}
