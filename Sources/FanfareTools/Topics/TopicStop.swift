internal import PushTransport
internal import Threading

/// Stops a change of subscriptions from another thread.
public final class TopicStop: Sendable {
    private let state = Locked<(isRequested: Bool, signal: Int32?, waker: (any TransportWaker)?)>((false, nil, nil))

    /// Makes a stop that was not requested.
    public init() {}

    /// Whether the change is to stop.
    public var isRequested: Bool { state.withLock { $0.isRequested } }

    /// The number of the signal that asked for it; nil if it was no signal.
    public var signal: Int32? { state.withLock { $0.signal } }

    /// Asks the change to stop: it sends no further request, awaits the answers to those in flight, and stores its
    /// progress.
    ///
    /// - Parameter signal: the number of the signal that asks for it.
    /// - Returns: whether this is the first request.
    @discardableResult
    public func request(by signal: Int32? = nil) -> Bool {
        let (isFirst, waker) = state.withLock { state in
            guard !state.isRequested else { return (false, state.waker) }
            (state.isRequested, state.signal) = (true, signal)
            return (true, state.waker)
        }
        waker?.wake()
        return isFirst
    }

    /// Names the transport that waits.
    func wakes(_ waker: any TransportWaker) {
        state.withLock { $0.waker = waker }
    }
}
