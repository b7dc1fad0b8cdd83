/// Firebase Cloud Messaging, HTTP v1.
///
/// Every well-formed registration token and installation id is registered, unless a test registers its app otherwise;
/// faults make tokens unknown, those of another sender, or throttled.
struct FCMSimulator: ProviderSimulator {
    let name = SimulatedService.fcm
    let streamLimit: Int
    let opensNarrow = false
    /// The project of the service account.
    let projectID: String
    /// Projects that exist but that the service account may not send for.
    let foreignProjectIDs: Set<String>
    let packageName: String
    let tokens: AccessTokens
    let quota: FCMQuota
    let installations: FCMInstallations

    func serves(_ head: RequestHead) -> Bool {
        // The endpoints of some browsers have the same host name.
        head.path.hasPrefix("/v1/projects/") || head.host == "fcm.mtls.googleapis.com"
            || head.host == "fcm.googleapis.com" && !WebPushEndpoint.serves(head)
    }

    /// Returns no target: it is in the body.
    func target(of head: RequestHead) -> String { "" }

    func makeSession(for client: TLSClient) -> any ProviderSession {
        FCMSession(simulator: self)
    }
}
