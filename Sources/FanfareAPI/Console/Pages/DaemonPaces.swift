internal import FanfareCore
internal import FanfareStore
internal import PostgresClient
internal import Threading

/// How fast daemons send: from what they said with their last heartbeats, for as long as somebody looks.
final class DaemonPaces: Sendable {
    /// How many heartbeats are kept of each.
    private static let limit = 31

    private struct Beat {
        /// In microseconds since 1970.
        let at: Int64
        let requests: Int64
    }

    private let beats = Locked<[Int32: [Beat]]>([:])

    /// Takes over what the daemons said last.
    ///
    /// - Parameter daemons: all that are on the list; others are forgotten.
    func see(_ daemons: [DaemonRow]) {
        beats.withLock { beats in
            let known = Set(daemons.map(\.id))
            beats = beats.filter { known.contains($0.key) }
            for daemon in daemons {
                guard let requests = daemon.report["requests"]?.numberValue?.integer else { continue }
                let at = daemon.heartbeatAt.microseconds
                var own = beats[daemon.id] ?? []
                // Looks cross each other: an older report says nothing new.
                guard own.last.map({ $0.at < at && $0.requests <= requests }) ?? true else { continue }
                own.append(Beat(at: at, requests: requests))
                beats[daemon.id] = Array(own.suffix(Self.limit))
            }
        }
    }

    /// Over which time the newest of ``perSecond(_:)`` is a rate.
    ///
    /// - Parameter id: the daemon's.
    /// - Returns: in seconds; nil until two heartbeats were seen.
    func window(_ id: Int32) -> Double? {
        let own = beats.withLock { $0[id] ?? [] }.suffix(2)
        guard own.count == 2, let first = own.first, let last = own.last else { return nil }
        return Double(last.at - first.at) / 1_000_000
    }

    /// Requests a second, from one heartbeat to the next.
    ///
    /// - Parameter id: the daemon's.
    /// - Returns: the newest last; empty until two heartbeats were seen.
    func perSecond(_ id: Int32) -> [Double] {
        let own = beats.withLock { $0[id] ?? [] }
        return zip(own, own.dropFirst()).map { before, after in
            Double(after.requests - before.requests) / (Double(after.at - before.at) / 1_000_000)
        }
    }
}
