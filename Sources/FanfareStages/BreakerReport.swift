/// The state of the circuit breakers between one app and one provider, as reported by a daemon.
package struct BreakerReport: Equatable, Sendable {
    /// Whether only probes are sent to the provider or to one of its services.
    package var isOpen: Bool
    /// The provider's reason for rejecting the sender, by topic or service; an empty name covers all requests.
    package var refusals: [String: String]
    /// Other reasons why the breaker is open, by service; an empty name covers all requests.
    package var failures: [String: String]

    /// Creates a report; by default the breakers are closed.
    package init(isOpen: Bool = false, refusals: [String: String] = [:], failures: [String: String] = [:]) {
        (self.isOpen, self.refusals, self.failures) = (isOpen, refusals, failures)
    }
}
