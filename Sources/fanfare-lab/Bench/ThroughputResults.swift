import Foundation

/// The results of all runs.
struct ThroughputResults: Sendable {
    private(set) var broadcasts: [ThroughputBench.Result] = []
    /// The broadcasts with a frequency cap per user.
    private(set) var capped: [ThroughputBench.Result] = []
    private(set) var backlogs: [ThroughputBench.Result] = []
    private(set) var streams: [ThroughputBench.Result] = []
    /// The plain inserts per second by as many writers as in the stream.
    private(set) var inserts: [Double] = []
    /// The CPU microseconds per request of h2load at the same sink; empty if it is not installed.
    private(set) var h2load: [Double] = []

    /// Runs each load as often as requested, in turn, so that a slow minute of the machine affects all of them; h2load
    /// too, unless there is no baseline.
    init(_ bench: ThroughputBench, events: Int, writers: Int, runs: Int, baseline: BenchSink?) throws {
        for run in 1...runs {
            note("run \(run) of \(runs): broadcast to \(bench.database.devices)")
            broadcasts.append(try bench.broadcast())
            let requests = max(20_000, bench.database.devices / 2)
            if let baseline, let run = try TransportLoad(sink: baseline, requests: requests).h2load() {
                h2load.append(run.microseconds)
            }
            note("run \(run) of \(runs): backlog of \(events) events")
            backlogs.append(try bench.backlog(events))
            note("run \(run) of \(runs): \(events) events by \(writers) writers")
            streams.append(try bench.stream(events, writers: writers))
            note("run \(run) of \(runs): \(events) plain inserts by \(writers) writers")
            inserts.append(try bench.inserts(events, writers: writers))
            note("run \(run) of \(runs): broadcast with a cap to \(bench.database.devices)")
            capped.append(try bench.broadcast("bench.capped"))
        }
    }
}

extension BenchReport {
    /// Adds the figures of the loads.
    mutating func add(_ results: ThroughputResults) {
        let (broadcasts, backlogs, streams) = (results.broadcasts, results.backlogs, results.streams)
        add("backlog.rate", "events, backlog drained", "/s", backlogs.map(\.rate), bar: .atLeast(20_000))
        add("stream.rate", "events, emitted to recorded at once", "/s", streams.map(\.rate), bar: .atLeast(8000))
        let overInserts = zip(streams, results.inserts).map { $0.rate / $1 }
        add("insert.rate", "    plain inserts by as many writers", "/s", results.inserts)
        add("stream.ratio", "    events at once over plain inserts", "×", overInserts)
        add("broadcast.rate", "pushes, broadcast", "/s", broadcasts.map(\.rate))
        addCPU("broadcast", "push of a broadcast", broadcasts, postgres: .atMost(3))
        addCPU("backlog", "event of a backlog", backlogs)
        addCPU("stream", "event emitted at once", streams, sessions: .atMost(20))
        addCPU("capped", "push of a broadcast with a cap", results.capped, postgres: .atMost(10))
        let ratios = zip(broadcasts, results.h2load).map { $0.usage.total / $0.pushes / $1 }
        add("h2load.cpu", "h2load, CPU per request", "µs", results.h2load)
        add("broadcast.ratio", "daemon over h2load, CPU per push", "×", ratios, bar: .atMost(1.1))
        addMemory(broadcasts)
        addDatabase(broadcasts)
    }

    private mutating func addCPU(
        _ id: String,
        _ what: String,
        _ results: [ThroughputBench.Result],
        postgres: Bar? = nil,
        sessions: Bar? = nil
    ) {
        add("\(id).cpu", "daemon's CPU per \(what)", "µs", results.map { $0.usage.total / $0.pushes })
        for stage in BenchStage.allCases {
            let values = results.map { ($0.usage.daemon[stage] ?? 0) / $0.pushes }
            add("\(id).cpu.\(stage)", "    \(stage.rawValue)", "µs", values)
        }
        add(
            "\(id).postgres",
            "PostgreSQL's CPU per \(what)",
            "µs",
            results.map { $0.usage.postgres / $0.pushes },
            bar: postgres
        )
        let own = results.map { $0.usage.sessions.values.reduce(0, +) / $0.pushes }
        add("\(id).postgres.sessions", "    the daemon's sessions", "µs", own, bar: sessions)
        for name in Set(results.flatMap(\.usage.sessions.keys)).sorted() {
            let values = results.map { ($0.usage.sessions[name] ?? 0) / $0.pushes }
            guard let highest = values.max(), highest >= 0.01 else { continue }
            add("\(id).postgres.\(name)", "        \(name)", "µs", values)
        }
    }

    private mutating func addMemory(_ broadcasts: [ThroughputBench.Result]) {
        let mebibyte = 1_048_576.0
        let (peaks, medians) = (broadcasts.map { $0.peak / mebibyte }, broadcasts.map { $0.steady / mebibyte })
        add("memory.peak", "resident memory in a broadcast, peak", "MiB", peaks, bar: .atMost(64))
        add("memory.median", "resident memory in a broadcast, median", "MiB", medians)
    }

    private mutating func addDatabase(_ broadcasts: [ThroughputBench.Result]) {
        // Later broadcasts reuse the empty pages of the queue; the first one is what an empty database pays.
        let bytes = broadcasts.map { $0.usage.tables / $0.pushes }
        add("database.first", "database per recipient, first broadcast", "B", Array(bytes.prefix(1)), bar: .atMost(12))
        let later = Array(bytes.dropFirst())
        add("database.later", "database per recipient, later broadcasts", "B", later, bar: .atMost(12))
        add("database.wal", "write-ahead log per recipient", "B", broadcasts.map { $0.usage.wal / $0.pushes })
    }
}
