internal import NIOCore
internal import Threading

/// The connections that are open.
///
/// One too many ends the one without a token that has asked nothing for longest, so that strangers
/// cannot keep others out.
final class ConnectionTable: Sendable {
    private struct Entry {
        let channel: any Channel
        /// The larger, the later it asked last, or was opened.
        var turn: Int
        var hasToken = false
    }

    private struct State {
        var entries: [ObjectIdentifier: Entry] = [:]
        var turn = 0
    }

    /// How many there may be; one more is taken for as long as it takes to end another.
    let limit: Int
    private let state = Locked(State())

    init(limit: Int) { self.limit = limit }

    /// Takes a connection up.
    func open(_ channel: any Channel) {
        let id = ObjectIdentifier(channel)
        let victim = state.withLock { state -> (any Channel)? in
            state.turn += 1
            state.entries[id] = Entry(channel: channel, turn: state.turn)
            guard state.entries.count > limit,
                let oldest = state.entries.filter({ $0.key != id && !$0.value.hasToken })
                    .min(by: { $0.value.turn < $1.value.turn })
            else { return nil }
            return state.entries.removeValue(forKey: oldest.key)?.channel
        }
        guard let victim else { return }
        victim.eventLoop.execute {
            // Behind TLS, whose farewell would wait for the peer.
            let context = try? victim.pipeline.syncOperations.context(handlerType: AnswerDeadline.self)
            if let context { context.close(promise: nil) } else { victim.close(promise: nil) }
        }
    }

    /// Notes that a connection asks.
    func use(_ channel: any Channel) {
        state.withLock { state in
            state.turn += 1
            state.entries[ObjectIdentifier(channel)]?.turn = state.turn
        }
    }

    /// Notes that who asks has a token that is known.
    func trust(_ channel: any Channel) {
        state.withLock { $0.entries[ObjectIdentifier(channel)]?.hasToken = true }
    }

    /// Forgets a connection that is closed.
    func close(_ channel: any Channel) {
        state.withLock { _ = $0.entries.removeValue(forKey: ObjectIdentifier(channel)) }
    }
}
