package import FanfareCore
package import FanfareStore
internal import PostgresClient
internal import Threading

/// The cancellations committed since this daemon started, with a version number that grows with each change.
///
/// The index covers batches that are already prepared. Earlier cancellations are found when the events of a batch are
/// fetched (``EventRow/isCancelled``), or when an event of a single delivery is planned. An entry is kept as long as
/// its row in the database.
package final class CancelIndex: Sendable {
    private static let patience = Int64(Forgetting.factDays) * 24 * Micros.hour

    private struct TypeAndKey: Hashable {
        let type: String
        let key: String
    }

    private struct State {
        var version = 0
        var events: [Int64: Timestamp] = [:]
        /// The events that were taken back, among ``events``.
        var retracted: Set<Int64> = []
        var keys: [TypeAndKey: CancelFact] = [:]
        /// When expired entries were last removed, in the time of the newest cancellation.
        var tidiedAt = Timestamp.minusInfinity
    }

    private let state = Locked(State())

    /// A number that grows with every new cancellation.
    package var version: Int { state.withLock { $0.version } }

    /// The number of known cancellations.
    package var count: Int { state.withLock { $0.events.count + $0.keys.count } }

    /// Adds cancellations; known ones change nothing.
    package func add(_ facts: [CancelFact]) {
        guard let newest = facts.map(\.createdAt).max() else { return }
        state.withLock { state in
            for fact in facts {
                if let event = fact.eventID, state.events[event].map({ $0 < fact.createdAt }) ?? true {
                    state.events[event] = fact.createdAt
                    state.version += 1
                }
                if let event = fact.eventID, fact.takesBack { state.retracted.insert(event) }
                guard let type = fact.type, let key = fact.key else { continue }
                let name = TypeAndKey(type: type, key: key)
                if state.keys[name].map(fact.isLater) ?? true {
                    state.keys[name] = fact
                    state.version += 1
                }
            }
            guard newest > .minusInfinity, newest.microseconds - Micros.hour > state.tidiedAt.microseconds else {
                return
            }
            state.tidiedAt = newest
            let end = newest.microseconds - Self.patience
            state.events = state.events.filter { $0.value.microseconds >= end }
            state.retracted = state.retracted.filter { state.events[$0] != nil }
            state.keys = state.keys.filter { $0.value.createdAt.microseconds >= end }
        }
    }

    /// Returns the outcome of an event that is cancelled, by its id or by a later cancellation of its key; nil if it is not.
    package func outcome(of event: EventRow) -> Outcome? {
        state.withLock { state in
            if state.events[event.id] != nil { return state.retracted.contains(event.id) ? .retracted : .cancelled }
            guard let key = event.key else { return nil }
            let isReached = state.keys[TypeAndKey(type: event.type, key: key)]?.reaches(event) ?? false
            return isReached ? .cancelled : nil
        }
    }
}
