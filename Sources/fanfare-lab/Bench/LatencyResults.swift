import Foundation
import PushSandbox

/// The latencies from commit to arrival, in ascending milliseconds.
struct LatencyResults: Sendable {
    let idle: [Double]
    let busy: [Double]
    /// The CPU microseconds per event on the idle daemon.
    let lone: (daemon: Double, postgres: Double)

    /// Reads the arrivals from the ledger of a stopped sandbox.
    init(_ commits: (idle: LatencyBench.Commits, usage: Usage, busy: LatencyBench.Commits), ledger: String) throws {
        let arrivals = try Self.arrivals(ledger: ledger)
        idle = try Self.latencies(commits.idle, arrivals)
        busy = try Self.latencies(commits.busy, arrivals)
        let count = Double(commits.idle.count)
        lone = (commits.usage.total / count, commits.usage.postgres / count)
    }

    /// Returns the latencies from commit to arrival, in ascending milliseconds.
    ///
    /// - Parameters:
    ///   - commits: the times of the commits.
    ///   - arrivals: the times of the arrivals, in microseconds.
    /// - Returns: a latency for each event.
    /// - Throws: if a push did not arrive.
    private static func latencies(_ commits: LatencyBench.Commits, _ arrivals: [Int: Int64]) throws -> [Double] {
        let found = commits.compactMap { sample, commit in arrivals[sample].map { Double($0 - commit) / 1000 } }
        guard found.count == commits.count else {
            throw BenchError("\(commits.count - found.count) of \(commits.count) samples never reached the provider")
        }
        return found.sorted()
    }

    /// Reads the arrivals of samples, in microseconds on CLOCK_MONOTONIC, by the sample's number.
    ///
    /// - Parameter ledger: the path of a stopped sandbox's ledger.
    /// - Returns: the first arrival of each sample.
    /// - Throws: if it cannot be read.
    private static func arrivals(ledger: String) throws -> [Int: Int64] {
        let decoder = JSONDecoder()
        var arrivals: [Int: Int64] = [:]
        for line in try Data(contentsOf: URL(fileURLWithPath: ledger), options: .mappedIfSafe).split(separator: 10) {
            let push = try decoder.decode(ReceivedPush.self, from: line)
            let number = push.headers["apns-collapse-id"]?.dropFirst(LatencyBench.collapsePrefix.count)
            guard let sample = number.flatMap({ Int($0) }) else { continue }
            let at = Int64(push.atNanoseconds / 1000)
            arrivals[sample] = min(at, arrivals[sample] ?? at)
        }
        return arrivals
    }
}

extension BenchReport {
    /// Adds percentiles.
    mutating func add(_ results: LatencyResults) {
        add("idle", "idle", results.idle, p50: .atMost(3), p99: .atMost(15))
        add("lone.cpu", "daemon's CPU per event, idle", "µs", [results.lone.daemon], bar: .atMost(560))
        add("lone.postgres", "PostgreSQL's CPU per event, idle", "µs", [results.lone.postgres], bar: .atMost(1350))
        add("broadcast", "beside a broadcast", results.busy, p50: nil, p99: .atMost(12))
    }

    private mutating func add(_ id: String, _ what: String, _ latencies: [Double], p50: Bar?, p99: Bar) {
        let title = "commit to request, \(what)"
        add("latency.\(id).p50", title + ", p50", "ms", [latencies.percentile(50)], bar: p50)
        add("latency.\(id).p90", title + ", p90", "ms", [latencies.percentile(90)])
        add("latency.\(id).p99", title + ", p99", "ms", [latencies.percentile(99)], bar: p99)
    }
}

extension [Double] {
    /// Returns the nearest-rank percentile of values in ascending order.
    fileprivate func percentile(_ percent: Double) -> Double {
        guard !isEmpty else { return .nan }
        return self[Swift.min(count - 1, Swift.max(0, Int((percent / 100 * Double(count)).rounded(.up)) - 1))]
    }
}
