/// Firebase Cloud Messaging, HTTP v1.
///
/// Every well-formed registration token is known; faults make tokens unknown, foreign or throttled.
struct FCMSimulator: ProviderSimulator {
    let name = SimulatedService.fcm
    let streamLimit: Int
    let opensNarrow = false
    /// The project that the service account belongs to.
    let projectID: String
    /// Projects that exist, but which the service account may not send for.
    let foreignProjectIDs: Set<String>
    let packageName: String
    let tokens: AccessTokens
    let quota: FCMQuota

    func serves(_ head: RequestHead) -> Bool {
        // Endpoints of some browsers begin with the same host name.
        head.path.hasPrefix("/v1/projects/") || head.host == "fcm.mtls.googleapis.com"
            || head.host == "fcm.googleapis.com" && !WebPushEndpoint.serves(head)
    }

    /// The target is in the body.
    func target(of head: RequestHead) -> String { "" }

    func makeSession(for client: TLSClient) -> any ProviderSession {
        FCMSession(simulator: self)
    }
}
