import FanfareCore

@testable import FanfareProviders
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// Events that are gathered, and leave as one.
extension Rows {
    struct Gathering: Equatable {
        /// The type of events that are gathered.
        static let type = "gathered"
        /// The type of those they leave as.
        static let digest = "digest"
        static let window = 10 * Micros.second

        let dueAt: Microseconds
        /// How many there were.
        var count = 0
        var events: [Int64] = []
    }

    /// An event joins those of its user, in the round that plans it.
    mutating func gather(_ event: Waiting) {
        guard event.type == Gathering.type, events[event.id]?.fate == .planned, let user = event.users.first else {
            return
        }
        gatherings[user, default: Gathering(dueAt: now + Gathering.window)].count += 1
        gatherings[user]?.events.append(event.id)
    }

    /// What is due leaves, as one event for each user.
    ///
    /// - Returns: the new events.
    mutating func flushGatherings() -> [Waiting] {
        gatherings.filter { $0.value.dueAt <= now }.sorted { $0.key < $1.key }.compactMap { user, gathering in
            gatherings[user] = nil
            let live = gathering.events.filter { !isCancelled($0) }
            guard !live.isEmpty else { return nil }
            let xid = begin()
            let id = emit(Gathering.digest, users: [user], gathered: gathering.events, in: xid)
            commit(xid)
            return outbox.first { $0.id == id }
        }
    }
}
