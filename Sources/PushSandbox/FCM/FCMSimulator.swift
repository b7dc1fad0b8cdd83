/// Firebase Cloud Messaging, HTTP v1.
///
/// Every well-formed registration token and installation id is registered, unless a test registers its app otherwise;
/// faults make tokens unknown, those of another sender, or throttled.
struct FCMSimulator: ProviderSimulator {
    let name = SimulatedService.fcm
    let streamLimit: Int
    let opensNarrow = false
    let projects: FCMProjects
    let packageName: String
    let tokens: AccessTokens
    let quota: FCMQuota
    let installations: FCMInstallations

    func serves(_ head: RequestHead) -> Bool {
        guard !TopicRequest.serves(head.path) else { return false }
        // The endpoints of some browsers have the same host name. Google's topic API of before 2026 answers 404.
        return head.path.hasPrefix("/v1/projects/") || head.path.hasPrefix("/iid/")
            || head.host == "fcm.mtls.googleapis.com"
            || head.host == "fcm.googleapis.com" && !WebPushEndpoint.serves(head)
    }

    /// Returns no target: it is in the body.
    func target(of head: RequestHead) -> String { "" }

    func makeSession(for client: TLSClient) -> any ProviderSession {
        FCMSession(simulator: self)
    }
}
