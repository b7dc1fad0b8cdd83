internal import FanfareCore
internal import FanfareLogging
internal import FanfareMetrics
internal import FanfareStore
package import Logging
package import PostgresClient
internal import Threading

/// This daemon's counts for `fanfare.traffic` that only daemons know: fates of events and latencies of pushes.
///
/// It reads the metrics' own counters, so that no push is counted twice. A daemon that is killed loses the counts since
/// its last write. If the session is lost during a write, the counts may be written twice.
package final class TrafficTally: Sendable {
    /// The time between two writes.
    package static let interval = 10 * Micros.second

    /// The key of one count.
    struct Place: Hashable {
        let kind: TrafficKind
        /// The app and provider; nil for counts without a target.
        var target: Target?
        var lane: Int16 = 0
        let code: Int16

        /// The app and provider that pushes went to.
        struct Target: Hashable {
            let app: String
            let provider: String
        }
    }

    private let counters: PipelineCounters
    /// The part of the counters that is written, or was there before this instance.
    private let written: Locked<[Place: Int64]>

    /// Creates a tally that writes what is counted from now on.
    ///
    /// - Parameter counters: the counters to read.
    package init(_ counters: PipelineCounters) {
        self.counters = counters
        written = Locked(counters.traffic)
    }

    /// Writes the counts since the last write; does nothing if there are none.
    ///
    /// Counts that the server rejects are written the next time: a gap in a chart must not cost the session and with it
    /// the lease.
    ///
    /// - Parameters:
    ///   - connection: a connection outside a transaction.
    ///   - logger: receives the server's errors.
    /// - Throws: ``PostgresError`` if the connection is lost.
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
    /// The fates of events and latencies of pushes, as `fanfare.traffic` counts them.
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
