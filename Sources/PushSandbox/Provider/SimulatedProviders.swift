/// The providers that the sandbox plays.
enum SimulatedProviders {
    /// In the order in which their services are asked whether a request is for them.
    static let all: [any SimulatedProvider] = [
        SimulatedAPNs(), SimulatedFCM(), SimulatedWebPush(), SimulatedWebhooks(),
    ]
}
