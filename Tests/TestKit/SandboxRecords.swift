/// What the sandbox prints when it is ready.
public struct SandboxReady: Decodable, Sendable {
    /// Port of TLS and HTTP/2, for all providers.
    public let tlsPort: Int
    /// Port of the APNs sandbox environment.
    public let sandboxTLSPort: Int
    /// Port of the control interface, plain HTTP/1.1.
    public let controlPort: Int
    /// Where it keeps its files.
    public let directory: String
    /// The certificate authority to trust, PEM.
    public let caFile: String
    /// A configuration for `fanfare` that uses it all.
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
    /// When it was complete, in nanoseconds of CLOCK_MONOTONIC.
    public let nanoseconds: Int
    /// Number of its TLS connection, from 1.
    public let connection: Int
    /// Its HTTP/2 stream.
    public let stream: Int
    /// The provider's name.
    public let provider: String
    /// `production` or `sandbox`.
    public let environment: String
    /// What it is for: a device token, the path of an endpoint, a topic.
    public let target: String
    /// Path of the request; for APNs it ends in the token.
    public let path: String
    /// Header fields, lower case.
    public let headers: [String: String]
    /// The body, if it is UTF-8.
    public let body: String?
    /// Status it was answered with; nil if it got no answer.
    public let status: Int?
    /// Reason in the answer, if any.
    public let reason: String?
    /// The fault that was applied, if any.
    public let fault: String?

    enum CodingKeys: String, CodingKey {
        case number = "n"
        case nanoseconds = "at_ns"
        case connection, stream, provider, environment, target, path, headers, body, status, reason, fault
    }
}

/// What the sandbox has counted: `GET /counts`.
public struct SandboxCounts: Decodable, Sendable {
    /// Complete requests, however they were answered.
    public let received: Int
    /// Those answered with 2xx.
    public let accepted: Int
    /// Devices that had at least one push accepted.
    public let distinctTokens: Int
    /// Pushes that a device got, or may have got, again.
    public let duplicates: Int
    /// Connections that agreed on HTTP/2.
    public let connections: Int
    /// Requests by provider, then by status and reason.
    public let byProvider: [String: [String: Int]]

    enum CodingKeys: String, CodingKey {
        case received, accepted, duplicates, connections
        case distinctTokens = "distinct_tokens"
        case byProvider = "by_provider"
    }
}

/// A simulated device, as `fanfare.register_device` wants it.
public struct SimulatedDevice: Decodable, Sendable {
    /// Its provider.
    public let provider: String
    /// Its token, or the URL that stands for one.
    public let token: String
    /// Its public key, where devices of the provider have one.
    public let p256dh: String?
    /// Its secret, where devices of the provider have one.
    public let auth: String?

    /// What requests for it, and faults that match it, call it: the token, or the URL's path.
    public var target: String {
        guard token.hasPrefix("https://") else { return token }
        return token.drop { $0 != ":" }.dropFirst(3).drop { $0 != "/" }.description
    }
}

/// A browser's push subscription, as `PushSubscription.toJSON()` gives it.
public struct BrowserSubscription: Decodable, Sendable {
    /// Its keys.
    public struct Keys: Decodable, Sendable {
        /// The public key in base64url.
        public let p256dh: String
        /// The secret in base64url.
        public let auth: String
    }

    /// Where to push.
    public let endpoint: String
    /// What to encrypt with.
    public let keys: Keys
}
