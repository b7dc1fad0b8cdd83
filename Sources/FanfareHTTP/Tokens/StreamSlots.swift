internal import Threading

/// The number of open streams of each token.
package final class StreamSlots: Sendable {
    /// The most streams of a token.
    package static let limit = 20

    private let counts = Locked<[Int32: Int]>([:])
    private let stopped = Locked(false)

    /// Whether the server shuts down, so that streams must end.
    package var isStopped: Bool { stopped.withLock { $0 } }

    /// Makes all streams end.
    func stop() { stopped.withLock { $0 = true } }

    /// Opens a stream of a token.
    ///
    /// - Parameters:
    ///   - token: the token's id.
    ///   - limit: the most streams, including this one.
    /// - Returns: the stream, which counts until it is released.
    /// - Throws: a ``Problem`` if there are too many.
    package func take(_ token: Int32, upTo limit: Int = StreamSlots.limit) throws -> StreamSlot {
        let isTaken = counts.withLock { counts in
            guard counts[token, default: 0] < limit else { return false }
            counts[token, default: 0] += 1
            return true
        }
        guard isTaken else {
            throw Problem(
                .tooMany,
                "token \(token) has \(limit) streams open",
                hint: "Close streams that are not read, let several readers share one, or use another token.",
                retryAfter: 1
            )
        }
        return StreamSlot(self, token)
    }

    fileprivate func leave(_ token: Int32) {
        counts.withLock { counts in
            let left = counts[token, default: 1] - 1
            counts[token] = left > 0 ? left : nil
        }
    }
}

/// One open stream of a token.
package final class StreamSlot: Sendable {
    private let slots: StreamSlots
    private let token: Int32

    fileprivate init(_ slots: StreamSlots, _ token: Int32) { (self.slots, self.token) = (slots, token) }

    deinit { slots.leave(token) }
}
