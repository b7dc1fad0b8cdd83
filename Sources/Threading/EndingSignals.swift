internal import Dispatch
internal import Glibc

/// SIGTERM and SIGINT do not end the process while it lives, but have something done.
public final class EndingSignals {
    private static let numbers = [SIGTERM, SIGINT]

    private let raised = Locked(false)
    private let sources: [any DispatchSourceSignal]

    /// Takes the signals from now on.
    ///
    /// - Parameter body: done at each of them, on a thread of its own.
    public init(_ body: @escaping @Sendable () -> Void) {
        let queue = DispatchQueue(label: "ending signals")
        sources = Self.numbers.map { [raised] number in
            _ = signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler {
                raised.withLock { $0 = true }
                body()
            }
            source.activate()
            return source
        }
    }

    deinit {
        for source in sources { source.cancel() }
        for number in Self.numbers { _ = signal(number, SIG_DFL) }
    }

    /// Whether one of them came.
    public var isRaised: Bool { raised.withLock { $0 } }
}
