import Foundation

/// How a sandbox is to be started.
public struct SandboxOptions: Sendable {
    /// The order in which the simulated APNs checks a request, which decides the answer where several checks fail.
    public enum ValidationOrder: String, Sendable, CaseIterable {
        /// Credentials before device token and payload, as the real service very probably does.
        case service
        /// The order of pushy's mock server: credentials after the device token, an uncovered topic is a 403.
        case pushy
    }

    /// Folder for the CA, the credentials, the configuration and the ledger; made if it does not exist.
    public var directory: String
    /// TCP port of the production environment on loopback; 0 picks a free one.
    public var tlsPort = 0
    /// TCP port of the APNs sandbox environment on loopback; 0 picks a free one.
    public var sandboxTLSPort = 0
    /// TCP port of the control interface on loopback; 0 picks a free one.
    public var controlPort = 0
    /// Team id of the APNs credential, 10 characters.
    public var teamID = "SIMTEAM001"
    /// Key id of the APNs credential, 10 characters; it names the file `AuthKey_….p8`.
    public var keyID = "SIMKEY0001"
    /// Bundle ids the APNs key covers; the first one goes into the configuration and the client certificate.
    public var topics = ["com.example.demo"]
    /// The Firebase project that the service account belongs to.
    public var projectID = "demo-project"
    /// Projects that exist, but which the service account may not send for.
    public var foreignProjectIDs: Set<String> = ["foreign-project"]
    /// Package name of the simulated Android app.
    public var packageName = "com.example.demo"
    /// Seconds an access token is accepted for; the answer that hands it out always promises 3599.
    public var accessTokenLifetime = 3599
    /// Messages FCM takes per minute and project; nil for any number.
    public var projectQuota: Int?
    /// Messages FCM takes per minute and device; nil for any number.
    public var deviceQuota: Int?
    /// Contact of the sender in the written configuration, which becomes VAPID's `sub`.
    public var vapidSubject = "mailto:push@example.com"
    /// Whose blocks the written configuration has, of ``PushSandbox/providers``; credentials are made for all.
    public var configuredProviders = Set(PushSandbox.providers)
    /// Name of the app in the written configuration.
    public var appName = "demo"
    /// Database URL for the written configuration; nil leaves the database to the environment.
    public var databaseURL: String?
    /// Faults to start with: the JSON list that `POST /faults` takes, or nil.
    public var faults: [UInt8]?
    /// Keeps counts only and writes no ledger, so that the sandbox costs a load test as little as possible.
    public var sink = false
    /// Writes down only pushes whose `apns-collapse-id` begins so, and counts them all; nil for every push.
    ///
    /// For load beside what is looked at: a ledger of all of it would keep the disk busy that the database commits to.
    public var ledgerCollapsePrefix: String?
    /// Concurrent streams a connection to APNs may have after its first request with a valid provider token, or with a
    /// valid client certificate.
    public var streamLimit = 1000
    /// Concurrent streams before that, and before the first request to another service; APNs grants one.
    public var firstStreamLimit = 1
    /// Concurrent streams a connection to Google's services or to a Web Push service may have, from its first request.
    public var openStreamLimit = 100
    /// Flow-control window for request bodies that is advertised per stream, in bytes.
    public var initialWindow = 65_535
    /// The order of the checks.
    public var validationOrder = ValidationOrder.service
    /// Event loops that serve pushes; one keeps the order of the ledger equal to the order of arrival.
    public var threads = 1
    /// The wall clock, in microseconds since 1970; tests put another one here.
    var unixMicroseconds: @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970 * 1_000_000) }

    /// Makes the default options.
    ///
    /// - Parameter directory: folder for everything the sandbox writes.
    public init(directory: String) {
        self.directory = directory
    }
}
