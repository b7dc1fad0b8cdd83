public import Threading

extension WakeSignal: TransportWaker {
    /// Creates a signal for a transport, which requires a descriptor.
    ///
    /// - Returns: a signal that is not raised.
    /// - Throws: ``TransportError`` if the process has no descriptor left.
    package static func forTransport() throws(TransportError) -> WakeSignal {
        let signal = WakeSignal()
        if let problem = signal.problem { throw TransportError(reason: .call("eventfd", problem: problem)) }
        return signal
    }
}
