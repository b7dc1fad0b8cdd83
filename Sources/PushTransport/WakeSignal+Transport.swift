public import Threading

extension WakeSignal: TransportWaker {
    /// Makes a signal for a transport, which cannot do without.
    ///
    /// - Returns: a signal that nobody has raised.
    /// - Throws: ``TransportError`` where no descriptor is left.
    package static func forTransport() throws(TransportError) -> WakeSignal {
        let signal = WakeSignal()
        if let problem = signal.problem { throw TransportError(reason: .call("eventfd", problem: problem)) }
        return signal
    }
}
