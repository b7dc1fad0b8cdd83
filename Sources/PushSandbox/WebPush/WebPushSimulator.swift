/// The push services of browsers.
///
/// Every well-formed endpoint is known; faults make subscriptions unknown or gone.
struct WebPushSimulator: ProviderSimulator {
    let name = SimulatedService.webpush
    let streamLimit: Int
    let opensNarrow = false
    /// Of the sandbox's own VAPID key.
    let fingerprint: String
    let subscribers: Subscribers
    /// Whether messages are decrypted; a sink saves itself the work.
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
