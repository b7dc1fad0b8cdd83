import Foundation

/// The baseline of a daemon's CPU per push: the bare client of the same library, at the same sink.
struct ThroughputBaseline: Sendable {
    let sink: BenchSink
    let transport: BenchTransportKind

    init(sink: BenchSink, of transport: BenchTransportKind) {
        self.sink = sink
        self.transport = transport
    }

    /// Returns the CPU microseconds per request; nil if the client is not installed.
    func microseconds(requests: Int) throws -> Double? {
        let load = try TransportLoad(sink: sink, requests: requests)
        return switch transport {
        case .engine: try load.h2load()?.microseconds
        case .curl: try load.bareCurl().microseconds
        }
    }

    var title: String {
        switch transport {
        case .engine: "h2load"
        case .curl: "bare libcurl in C"
        }
    }

    /// The bar of the whole daemon, as a multiple of the baseline.
    var bar: Bar {
        switch transport {
        case .engine: .atMost(2)
        case .curl: .atMost(1.15)
        }
    }
}

/// The results of all runs.
struct ThroughputResults: Sendable {
    private(set) var broadcasts: [ThroughputBench.Result] = []
    /// The broadcasts with a frequency cap per user.
    private(set) var capped: [ThroughputBench.Result] = []
    private(set) var backlogs: [ThroughputBench.Result] = []
    private(set) var streams: [ThroughputBench.Result] = []
    /// The plain inserts per second by as many writers as in the stream.
    private(set) var inserts: [Double] = []
    /// The baseline's CPU microseconds per request at the same sink.
    private(set) var bare: [Double] = []
    let baseline: ThroughputBaseline?

    /// Runs each load as often as requested, in turn, so that a slow minute of the machine affects all of them.
    init(_ bench: ThroughputBench, events: Int, writers: Int, runs: Int, baseline: ThroughputBaseline?) throws {
        self.baseline = baseline
        for run in 1...runs {
            note("run \(run) of \(runs): broadcast to \(bench.database.devices)")
            broadcasts.append(try bench.broadcast())
            let requests = max(20_000, bench.database.devices / 2)
            if let cost = try baseline?.microseconds(requests: requests) { bare.append(cost) }
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
        addCPU("broadcast", "push of a broadcast", broadcasts)
        addCPU("backlog", "event of a backlog", backlogs)
        addCPU("stream", "event emitted at once", streams)
        addCPU("capped", "push of a broadcast with a cap", results.capped)
        let overPlain = zip(results.capped, broadcasts).map { $0.usage.postgres / $1.usage.postgres }
        add("capped.ratio", "    PostgreSQL's, over a broadcast without", "×", overPlain, bar: .atMost(3))
        let ratios = zip(broadcasts, results.bare).map { $0.usage.total / $0.pushes / $1 }
        if let baseline = results.baseline {
            add("bare.cpu", "\(baseline.title), CPU per request", "µs", results.bare)
            add("broadcast.ratio", "daemon over \(baseline.title), CPU per push", "×", ratios, bar: baseline.bar)
        }
        addMemory(broadcasts)
        addDatabase(broadcasts)
    }

    private mutating func addCPU(_ id: String, _ what: String, _ results: [ThroughputBench.Result]) {
        add("\(id).cpu", "daemon's CPU per \(what)", "µs", results.map { $0.usage.total / $0.pushes })
        for stage in BenchStage.allCases {
            let values = results.map { ($0.usage.daemon[stage] ?? 0) / $0.pushes }
            add("\(id).cpu.\(stage)", "    \(stage.rawValue)", "µs", values)
        }
        add("\(id).postgres", "PostgreSQL's CPU per \(what)", "µs", results.map { $0.usage.postgres / $0.pushes })
    }

    private mutating func addMemory(_ broadcasts: [ThroughputBench.Result]) {
        let mebibyte = 1_048_576.0
        let (peaks, medians) = (broadcasts.map { $0.peak / mebibyte }, broadcasts.map { $0.steady / mebibyte })
        add("memory.peak", "resident memory in a broadcast, peak", "MiB", peaks, bar: .atMost(96))
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
