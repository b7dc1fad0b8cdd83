/// The sandbox's output when it is ready.
public struct SandboxReady: Decodable, Sendable {
    /// The port for TLS and HTTP/2, for all providers.
    public let tlsPort: Int
    /// The port of the APNs sandbox environment.
    public let sandboxTLSPort: Int
    /// The port of the control interface, plain HTTP/1.1.
    public let controlPort: Int
    /// The directory of its files.
    public let directory: String
    /// The CA certificate to trust, PEM.
    public let caFile: String
    /// A configuration for `fanfare` that uses all simulated services.
    public let configFile: String
    /// The service account of the simulated FCM, JSON.
    public let serviceAccountFile: String
    /// The VAPID key that simulated subscriptions are restricted to, PEM.
    public let vapidKeyFile: String
    /// A client certificate for the simulated APNs with its key, PEM.
    public let certificateFile: String

    enum CodingKeys: String, CodingKey {
        case tlsPort = "tls_port"
        case sandboxTLSPort = "sandbox_tls_port"
        case controlPort = "control_port"
        case directory = "dir"
        case caFile = "ca_file"
        case configFile = "config_file"
        case serviceAccountFile = "service_account_file"
        case vapidKeyFile = "vapid_key_file"
        case certificateFile = "certificate_file"
    }
}

/// One request that the sandbox received: a line of `GET /received`.
public struct ReceivedPush: Decodable, Sendable {
    /// Its number, from 1, in order of arrival.
    public let number: Int
    /// When it had arrived completely, in nanoseconds of CLOCK_MONOTONIC.
    public let nanoseconds: Int
    /// The number of its TLS connection, from 1.
    public let connection: Int
    /// Its HTTP/2 stream.
    public let stream: Int
    /// The provider's name.
    public let provider: String
    /// `production` or `sandbox`.
    public let environment: String
    /// The recipient: a device token, the path of an endpoint, a topic.
    public let target: String
    /// The HTTP method.
    public let method: String
    /// The path of the request; for APNs it ends in the token.
    public let path: String
    /// Header fields, lower case.
    public let headers: [String: String]
    /// The body, if it is UTF-8.
    public let body: String?
    /// The status of the answer; nil without an answer.
    public let status: Int?
    /// The reason in the answer, if any.
    public let reason: String?
    /// The fault that was applied, if any.
    public let fault: String?
    /// An error of the sender that the answer does not tell, if any.
    public let problem: String?
    /// How Safari shows a declarative message; nil for another one.
    public let presentation: String?

    enum CodingKeys: String, CodingKey {
        case number = "n"
        case nanoseconds = "at_ns"
        case connection, stream, provider, environment, target, method, path, headers, body, status, reason, fault
        case problem, presentation
    }
}

/// The sandbox's counters: `GET /counts`.
public struct SandboxCounts: Decodable, Sendable {
    /// Complete requests, with any answer.
    public let received: Int
    /// Requests answered with 2xx.
    public let accepted: Int
    /// Devices that had at least one push accepted.
    public let distinctTokens: Int
    /// Pushes that a device received again, or may have.
    public let duplicates: Int
    /// Connections that negotiated HTTP/2.
    public let connections: Int
    /// Memberships of FCM's topics that were requested, each by one operation, and served.
    public let memberships: Int
    /// The largest number of requests for one of them, without those answered 429 or 5xx.
    public let requestsPerMembership: Int
    /// Requests by provider, then by status and reason.
    public let byProvider: [String: [String: Int]]

    enum CodingKeys: String, CodingKey {
        case received, accepted, duplicates, connections, memberships
        case requestsPerMembership = "requests_per_membership"
        case distinctTokens = "distinct_tokens"
        case byProvider = "by_provider"
    }
}

/// A simulated device, in the form for `fanfare.register_device`.
public struct SimulatedDevice: Decodable, Sendable {
    /// Its provider.
    public let provider: String
    /// Its token, or the URL used as one.
    public let token: String
    /// Its public key, where devices of the provider have one.
    public let p256dh: String?
    /// Its secret, where devices of the provider have one.
    public let auth: String?

    /// The name of the device in requests and in faults that match it: the token, or the URL's path.
    public var target: String {
        guard token.hasPrefix("https://") else { return token }
        return token.drop { $0 != ":" }.dropFirst(3).drop { $0 != "/" }.description
    }
}

/// A browser's push subscription, in the form of `PushSubscription.toJSON()`.
public struct BrowserSubscription: Decodable, Sendable {
    /// Its keys.
    public struct Keys: Decodable, Sendable {
        /// The public key in base64url.
        public let p256dh: String
        /// The secret in base64url.
        public let auth: String
    }

    /// The URL to push to.
    public let endpoint: String
    /// The keys for encryption.
    public let keys: Keys
}
