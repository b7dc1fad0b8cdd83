/// The providers that the sandbox simulates.
enum SimulatedProviders {
    /// All providers, in the order in which their services are matched with a request.
    static let all: [any SimulatedProvider] = [
        SimulatedAPNs(), SimulatedFCM(), SimulatedWebPush(), SimulatedWebhooks(),
    ]
}
