import FanfareCore

@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// The model of digests.
extension Rows {
    struct DigestDefinition: Equatable {
        /// The type of events that are gathered.
        static let type = "gathered"
        /// The type of the digests' events.
        static let digest = "digest"
        static let window = 10 * Micros.second

        let dueAt: Microseconds
        /// The number of gathered events.
        var count = 0
        var events: [Int64] = []
    }

    /// Adds an event to its user's digest, in the round that plans it.
    mutating func gather(_ event: Waiting) {
        guard event.type == DigestDefinition.type, events[event.id]?.fate == .planned, let user = event.users.first
        else {
            return
        }
        openDigests[user, default: DigestDefinition(dueAt: now + DigestDefinition.window)].count += 1
        openDigests[user]?.events.append(event.id)
    }

    /// Emits the due digests, one event for each user.
    ///
    /// - Returns: the new events.
    mutating func flushDigests() -> [Waiting] {
        openDigests.filter { $0.value.dueAt <= now }.sorted { $0.key < $1.key }.compactMap { user, digest in
            openDigests[user] = nil
            let live = digest.events.filter { !isCancelled($0) }
            guard !live.isEmpty else { return nil }
            let xid = begin()
            let id = emit(DigestDefinition.digest, users: [user], gathered: digest.events, in: xid)
            commit(xid)
            return outbox.first { $0.id == id }
        }
    }
}
