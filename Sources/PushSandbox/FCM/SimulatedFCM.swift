/// The simulation of Firebase Cloud Messaging, with the services that issue its access tokens and keep its topics.
struct SimulatedFCM: SimulatedProvider {
    let name = "fcm"
    let services = [SimulatedService.fcm, .oauth, .fcmTopics]

    func simulators(_ parts: SimulatorParts) throws -> [any ProviderSimulator] {
        let options = parts.options
        let tokens = AccessTokens()
        let streams = options.openStreamLimit
        let projects = FCMProjects(id: options.projectID, foreignIDs: options.foreignProjectIDs)
        return [
            FCMSimulator(
                streamLimit: streams,
                projects: projects,
                packageName: options.packageName,
                tokens: tokens,
                quota: FCMQuota(project: options.projectQuota, device: options.deviceQuota),
                installations: parts.installations
            ),
            OAuthSimulator(
                streamLimit: streams,
                account: parts.folder.serviceAccount,
                tokens: tokens,
                lifetime: Int64(options.accessTokenLifetime)
            ),
            TopicSimulator(
                streamLimit: streams,
                projects: projects,
                tokens: tokens,
                quota: TopicQuota(options.topicQuota),
                limitStatus: options.topicLimitStatus,
                subscriptions: TopicSubscriptions(mostTopics: options.topicLimit)
            ),
        ]
    }

    func configuration(_ place: SandboxPlace) -> [String] {
        [
            "service_account_file: \(SandboxFolder.FileName.serviceAccount)",
            "endpoint: \(place.origin)",
            "ca_file: ca.pem",
        ]
    }

    func device(named name: String, _ place: SandboxPlace) -> SimulatedDevice? {
        SimulatedDevice(provider: self.name, token: "\(name)-android-phone")
    }
}

extension SimulatedService {
    /// The service for messages to devices, topics and conditions.
    static let fcm = SimulatedService(
        rawValue: "fcm",
        success: "the simulated Android phone got a push",
        status: { FCMErrorCode(rawValue: $0)?.status },
        shown: { body in
            let message = body?.field("message")?.members
            let second = message?.field("android_v2")?.members?.field("remote_notification")?.members
            let android = (second ?? message?["android"]?.members)?["notification"]?.members
            return lines(of: message?["notification"]?.members, over: android)
        }
    )

    /// Google's token endpoint, which issues FCM's access tokens.
    static let oauth = SimulatedService(
        rawValue: "oauth",
        isPush: false,
        success: "Google issued an access token",
        status: { OAuthRejection.status(of: $0) }
    )

    /// FCM's own topics: which registration is subscribed to which.
    static let fcmTopics = SimulatedService(
        rawValue: "fcm_topics",
        isPush: false,
        success: "FCM changed or read the topics of a registration",
        status: { FCMErrorCode(rawValue: $0)?.status ?? GoogleStatus.status(of: $0) }
    )
}
