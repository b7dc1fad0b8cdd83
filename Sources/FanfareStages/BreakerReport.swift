/// What a daemon tells of the breakers of one app's way to a provider.
package struct BreakerReport: Equatable, Sendable {
    /// Whether only probes are sent, to the provider or to one of its services.
    package var isOpen: Bool
    /// What the provider said where it refuses the sender: by topic or service, an empty name for all that is sent.
    package var refusals: [String: String]
    /// Why else it is open: by service, an empty name for all that is sent.
    package var failures: [String: String]

    /// Describes them; nothing is kept back unless said otherwise.
    package init(isOpen: Bool = false, refusals: [String: String] = [:], failures: [String: String] = [:]) {
        (self.isOpen, self.refusals, self.failures) = (isOpen, refusals, failures)
    }
}
