/// The simulated Apple Push Notification service.
///
/// Every well-formed device token is known, in both environments; faults make tokens unknown, gone or foreign.
struct APNsSimulator: ProviderSimulator {
    let name = "apns"
    let verifier: ProviderTokenVerifier
    let topics: APNsTopics
    let order: SandboxOptions.ValidationOrder

    func serves(_ head: RequestHead) -> Bool {
        head.path.hasPrefix("/3/device") || head.authority.contains("push.apple.com")
    }

    func target(of head: RequestHead) -> String {
        APNsRequest.deviceToken(in: head.path) ?? ""
    }

    func makeSession() -> any ProviderSession {
        APNsSession(simulator: self)
    }
}
