import SandboxCrypto

/// The simulated Apple Push Notification service.
///
/// Every well-formed device token is registered, in both environments; faults make tokens unknown, unregistered, or
/// those of another app.
struct APNsSimulator: ProviderSimulator {
    let name = SimulatedService.apns
    let streamLimit: Int
    let opensNarrow = true
    let verifier: ProviderTokenVerifier
    let topics: APNsTopics
    let order: SandboxOptions.ValidationOrder
    /// The CA whose client certificates are credentials.
    let authority: Certificate
    let channels = BroadcastChannels()

    func serves(_ head: RequestHead) -> Bool {
        head.path.hasPrefix("/3/device") || BroadcastRequest.serves(head.path)
            || head.host.hasSuffix(".push.apple.com") && head.host != "web.push.apple.com"
    }

    func target(of head: RequestHead) -> String {
        APNsRequest.deviceToken(in: head.path) ?? BroadcastRequest.channelID(of: head) ?? ""
    }

    func makeSession(for client: TLSClient) -> any ProviderSession {
        APNsSession(simulator: self, client: client)
    }
}
