internal import FanfareCore
internal import FanfareLogging
internal import FanfareMetrics
internal import FanfareStore
package import Logging
package import PostgresClient
internal import Threading

/// What this daemon counted of what only daemons know, on its way into `fanfare.traffic`: fates of events, and how long pushes took.
///
/// The counters are the metrics' own, so that nothing is counted twice on the way of a push. A daemon that is killed takes with it what
/// it counted since it last wrote; a session that is lost in the middle may have it written twice.
package final class TrafficTally: Sendable {
    /// How long it is between two times.
    package static let interval = 10 * Micros.second

    /// What is counted together.
    struct Place: Hashable {
        let kind: TrafficKind
        /// Nil where it is of no target.
        var target: Target?
        var lane: Int16 = 0
        let code: Int16

        /// Where pushes went.
        struct Target: Hashable {
            let app: String
            let provider: String
        }
    }

    private let counters: PipelineCounters
    /// What of the counters is written, or was there before us.
    private let written: Locked<[Place: Int64]>

    /// Begins with what is counted from now on.
    ///
    /// - Parameter counters: those that it reads.
    package init(_ counters: PipelineCounters) {
        self.counters = counters
        written = Locked(counters.traffic)
    }

    /// Writes what came since the last time; nothing where nothing did.
    ///
    /// What the server refuses is tried again the next time: charts with a gap are no reason to lose a lease.
    ///
    /// - Parameters:
    ///   - connection: outside a transaction.
    ///   - logger: told of what the server refuses.
    /// - Throws: if the connection is lost.
    package func write(on connection: PostgresConnection, logger: Logger) throws(PostgresError) {
        let now = counters.traffic
        let before = written.withLock { $0 }
        let news = now.compactMap { place, count in
            let more = count - (before[place] ?? 0)
            return more > 0 ? AddTraffic.Count(place, more) : nil
        }
        guard !news.isEmpty else { return }
        do throws(PostgresError) {
            _ = try connection.runReturningCount(AddTraffic(counts: news))
        } catch {
            guard !error.isConnectionLost else { throw error }
            logger.warning("traffic could not be written", metadata: .init([.error: "\(error)"]))
            return
        }
        written.withLock { $0 = now }
    }
}

extension AddTraffic.Count {
    fileprivate init(_ place: TrafficTally.Place, _ count: Int64) {
        self.init(
            place.kind,
            target: place.target.map { (app: $0.app, provider: $0.provider, environment: nil) },
            lane: place.lane,
            code: place.code,
            count: count
        )
    }
}

extension PipelineCounters {
    /// Fates of events and times of pushes, as `fanfare.traffic` counts them.
    var traffic: [TrafficTally.Place: Int64] {
        var counts: [TrafficTally.Place: Int64] = [:]
        for (fate, count) in snapshot.eventsByFate {
            if let code = Int16(exactly: fate) { counts[TrafficTally.Place(kind: .fate, code: code)] = count }
        }
        for series in acceptances {
            guard case .histogram(let value) = series.value,
                let app = series.value(of: "app"), let provider = series.value(of: "provider"),
                let lane = Lane.allCases.first(where: { $0.name == series.value(of: "lane") })
            else { continue }
            var before: Int64 = 0
            for (code, bucket) in value.buckets.enumerated() {
                defer { before = bucket.count }
                guard bucket.count > before else { continue }
                let place = TrafficTally.Place(
                    kind: .latency,
                    target: .init(app: app, provider: provider),
                    lane: lane.rawValue,
                    code: Int16(code)
                )
                counts[place] = bucket.count - before
            }
        }
        return counts
    }
}

extension MetricSeries {
    fileprivate func value(of label: String) -> String? { labels.first { $0.name == label }?.value }
}
