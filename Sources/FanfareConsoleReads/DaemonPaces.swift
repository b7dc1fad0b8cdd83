internal import FanfareCore
package import FanfareRecords
internal import PostgresClient
internal import Threading

/// The send rates of daemons, from their last heartbeats; collected only while a page is open.
package final class DaemonPaces: Sendable {
    /// The number of heartbeats kept per daemon.
    private static let limit = 31

    private struct Beat {
        /// In microseconds since 1970.
        let at: Int64
        let requests: Int64
    }

    private let beats = Locked<[Int32: [Beat]]>([:])

    package init() {}

    /// Records the daemons' latest reports.
    ///
    /// - Parameter daemons: all daemons in the table; others are dropped.
    package func see(_ daemons: [DaemonRow]) {
        beats.withLock { beats in
            let known = Set(daemons.map(\.id))
            beats = beats.filter { known.contains($0.key) }
            for daemon in daemons {
                guard let requests = daemon.report["requests"]?.numberValue?.integer else { continue }
                let at = daemon.heartbeatAt.microseconds
                var own = beats[daemon.id] ?? []
                // Concurrent queries may return out of order: an older report is ignored.
                guard own.last.map({ $0.at < at && $0.requests <= requests }) ?? true else { continue }
                own.append(Beat(at: at, requests: requests))
                beats[daemon.id] = Array(own.suffix(Self.limit))
            }
        }
    }

    /// Returns the time that the newest rate of ``perSecond(_:)`` covers.
    ///
    /// - Parameter id: the daemon's.
    /// - Returns: seconds; nil before the second heartbeat.
    package func window(_ id: Int32) -> Double? {
        let own = beats.withLock { $0[id] ?? [] }.suffix(2)
        guard own.count == 2, let first = own.first, let last = own.last else { return nil }
        return Double(last.at - first.at) / 1_000_000
    }

    /// Returns the requests per second between consecutive heartbeats.
    ///
    /// - Parameter id: the daemon's.
    /// - Returns: the rates, newest last; empty before the second heartbeat.
    package func perSecond(_ id: Int32) -> [Double] {
        let own = beats.withLock { $0[id] ?? [] }
        return zip(own, own.dropFirst()).map { before, after in
            Double(after.requests - before.requests) / (Double(after.at - before.at) / 1_000_000)
        }
    }
}
