import Foundation

/// The options of a sandbox.
public struct SandboxOptions: Sendable {
    /// The order in which the simulated APNs checks a request, which decides the response if several checks fail.
    public enum ValidationOrder: String, Sendable, CaseIterable {
        /// Credentials before device token and payload, as the real service most likely does.
        case service
        /// The order of pushy's mock server: credentials after the device token, and a 403 for an uncovered topic.
        case pushy
    }

    /// The folder for the CA, the credentials, the configuration and the ledger; created if it does not exist.
    public var directory: String
    /// The TCP port of the production environment on loopback; 0 picks a free one.
    public var tlsPort = 0
    /// The TCP port of the APNs sandbox environment on loopback; 0 picks a free one.
    public var sandboxTLSPort = 0
    /// The TCP port of the control interface on loopback; 0 picks a free one.
    public var controlPort = 0
    /// The team id of the APNs credential, 10 characters.
    public var teamID = "SIMTEAM001"
    /// The key id of the APNs credential, 10 characters; it names the file `AuthKey_….p8`.
    public var keyID = "SIMKEY0001"
    /// The bundle ids that the APNs key covers; the first one goes into the configuration and the client certificate.
    public var topics = ["com.example.demo"]
    /// The Firebase project that the service account belongs to.
    public var projectID = "demo-project"
    /// Projects that exist but that the service account may not send for.
    public var foreignProjectIDs: Set<String> = ["foreign-project"]
    /// The package name of the simulated Android app.
    public var packageName = "com.example.demo"
    /// The seconds for which an access token is accepted; the response that issues it always states 3599.
    public var accessTokenLifetime = 3599
    /// FCM's limit of messages per minute and project; nil for no limit.
    public var projectQuota: Int?
    /// FCM's limit of messages per minute and device; nil for no limit.
    public var deviceQuota: Int?
    /// FCM's limit of changes to topics a second; nil for no limit.
    public var topicQuota: Int?
    /// The status for a registration with 2,000 topics that subscribes to another: 400 or 429, as Google documents
    /// neither.
    public var topicLimitStatus = 400
    /// The largest number of topics of a registration; tests lower it.
    var topicLimit = 2000
    /// The sender's contact in the written configuration, which becomes VAPID's `sub`.
    public var vapidSubject = "mailto:push@example.com"
    /// The providers in the written configuration, of ``PushSandbox/providers``; credentials are created for all.
    public var configuredProviders = Set(PushSandbox.providers)
    /// The name of the app in the written configuration.
    public var appName = "demo"
    /// The database URL in the written configuration; nil leaves the database to the environment.
    public var databaseURL: String?
    /// The initial faults: the JSON list that `POST /faults` takes, or nil.
    public var faults: [UInt8]?
    /// Whether to keep only counts and no ledger, so that the sandbox costs a load test as little as possible.
    public var sink = false
    /// The prefix of the `apns-collapse-id` of pushes to record; nil for every push.
    ///
    /// All pushes are counted.
    ///
    /// For tests that inspect some pushes beside a load: a ledger of the whole load would keep the disk busy that the
    /// database commits to.
    public var ledgerCollapsePrefix: String?
    /// The number of concurrent streams on a connection to APNs after its first request with a valid provider token, or
    /// with a valid client certificate.
    public var streamLimit = 1000
    /// The number of concurrent streams before that, and before the first request to another service; APNs grants one.
    public var firstStreamLimit = 1
    /// The number of concurrent streams on a connection to Google's services or to a Web Push service, from its first
    /// request.
    public var openStreamLimit = 100
    /// The advertised flow-control window for request bodies per stream, in bytes.
    public var initialWindow = 65_535
    /// The order of the checks.
    public var validationOrder = ValidationOrder.service
    /// The number of event loops that serve pushes; with one, the order of the ledger is the order of arrival.
    public var threads = 1
    /// The wall clock, in microseconds since 1970; tests replace it.
    var unixMicroseconds: @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970 * 1_000_000) }

    /// Creates the default options.
    ///
    /// - Parameter directory: the folder for everything the sandbox writes.
    public init(directory: String) {
        self.directory = directory
    }
}
