/// The push services of browsers.
///
/// Every well-formed endpoint is registered; faults make subscriptions unknown or expired.
struct WebPushSimulator: ProviderSimulator {
    let name = SimulatedService.webpush
    let streamLimit: Int
    let opensNarrow = false
    /// The fingerprint of the sandbox's own VAPID key.
    let fingerprint: String
    let subscribers: Subscribers
    /// Whether messages are decrypted; a sink does not.
    let decrypts: Bool

    func serves(_ head: RequestHead) -> Bool {
        WebPushEndpoint.serves(head)
    }

    func target(of head: RequestHead) -> String {
        WebPushEndpoint(head)?.path ?? ""
    }

    func makeSession(for client: TLSClient) -> any ProviderSession {
        WebPushSession(simulator: self)
    }
}
