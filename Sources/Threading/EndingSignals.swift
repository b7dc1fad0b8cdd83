internal import Dispatch
internal import Glibc

/// Runs a closure on SIGTERM and SIGINT, which do not end the process while the object exists.
public final class EndingSignals {
    private static let numbers = [SIGTERM, SIGINT]

    private let raised = Locked(false)
    private let sources: [any DispatchSourceSignal]

    /// Starts to handle the signals.
    ///
    /// - Parameter body: called for each signal, on a thread of its own.
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

    /// Whether one of the signals has arrived.
    public var isRaised: Bool { raised.withLock { $0 } }
}
