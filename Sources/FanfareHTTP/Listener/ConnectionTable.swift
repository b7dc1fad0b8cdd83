package import NIOCore
internal import Threading

/// The open connections.
///
/// When a connection exceeds the limit, the table closes the connection without a token that has been idle longest, so
/// that unauthenticated clients cannot lock others out.
package final class ConnectionTable: Sendable {
    private struct Entry {
        let channel: any Channel
        /// Grows with every request and every new connection; the smallest turn has been idle longest.
        var turn: Int
        var hasToken = false
    }

    private struct State {
        var entries: [ObjectIdentifier: Entry] = [:]
        var turn = 0
    }

    /// The connection limit; one more is accepted for as long as it takes to close another.
    let limit: Int
    private let state = Locked(State())

    init(limit: Int) { self.limit = limit }

    /// Adds a connection, and closes an idle one if the table is full.
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
            // Closing below TLS skips close_notify, which would wait for the peer.
            let context = try? victim.pipeline.syncOperations.context(handlerType: AnswerDeadline.self)
            if let context { context.close(promise: nil) } else { victim.close(promise: nil) }
        }
    }

    /// Records that a request arrived on a connection.
    func use(_ channel: any Channel) {
        state.withLock { state in
            state.turn += 1
            state.entries[ObjectIdentifier(channel)]?.turn = state.turn
        }
    }

    /// Records that a request on a connection had a valid token.
    package func trust(_ channel: any Channel) {
        state.withLock { $0.entries[ObjectIdentifier(channel)]?.hasToken = true }
    }

    /// Removes a closed connection.
    func close(_ channel: any Channel) {
        state.withLock { _ = $0.entries.removeValue(forKey: ObjectIdentifier(channel)) }
    }
}
