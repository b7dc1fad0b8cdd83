internal import FanfareCore

/// The parsed body of a Web Push error.
///
/// Services write JSON with a `reason` (Apple), JSON with an `errno` (Mozilla), plain text or HTML (Google).
///
/// Parsing never fails: an empty body or garbage yields an error body without content.
public struct WebPushErrorBody: Equatable, Sendable {
    /// The maximum size of a body that is parsed.
    public static let maximumBytes = 16 * 1024
    /// A reason is truncated to this many characters.
    public static let maximumReasonLength = 64

    /// The kind of error, if the service's text is known.
    public enum Complaint: Equatable, Sendable {
        /// The subscription was made with another VAPID key.
        case keyMismatch
        /// An error of the VAPID token: signature, claims, age. A new token may be accepted.
        case token
        /// An error of the VAPID header or key.
        case credential
        /// The endpoint is malformed.
        case subscription
        /// The connection idled too long.
        case idle
        /// The server is shutting down.
        case shutdown
        /// The sender is banned (WNS).
        case blocked
    }

    /// The reason for logs: Apple's reason or Mozilla's number; nil for texts, which may contain the endpoint.
    public let reason: String?
    /// The kind of error; nil if the text is unknown.
    public let complaint: Complaint?

    /// Makes an error body with the given content.
    ///
    /// - Parameters:
    ///   - reason: the reason.
    ///   - complaint: the kind of error.
    public init(reason: String? = nil, complaint: Complaint? = nil) {
        self.reason = reason
        self.complaint = complaint
    }

    /// Parses a body.
    ///
    /// - Parameter bytes: the body, complete or truncated.
    public init(parsing bytes: some Collection<UInt8>) {
        guard !bytes.isEmpty, bytes.count <= Self.maximumBytes else {
            self.init()
            return
        }
        let bytes = Array(bytes)
        let limits = JSONLimits(bytes: Self.maximumBytes, levels: 32)
        guard let json = try? JSONValue(parsing: bytes, limits: limits), json.objectValue != nil else {
            self.init(complaint: Self.complaint(inText: String(decoding: bytes, as: UTF8.self)))
            return
        }
        if let reason = json["reason"]?.stringValue?.loggable(upTo: Self.maximumReasonLength) {
            self.init(reason: reason, complaint: Self.complaint(ofApple: reason))
            return
        }
        let message = json["message"]?.stringValue ?? ""
        guard let number = json["errno"]?.numberValue?.integer else {
            self.init(complaint: Self.complaint(inText: message))
            return
        }
        self.init(reason: "errno_\(number)", complaint: Self.complaint(ofMozilla: number, message))
    }

    private static func complaint(ofApple reason: String) -> Complaint? {
        switch reason {
        case "VapidPkHashMismatch": .keyMismatch
        case "BadJwtToken": .token
        case "BadAuthorizationHeader", "BadVapidPublicKey": .credential
        case "IdleTimeout": .idle
        case "Shutdown": .shutdown
        default: nil
        }
    }

    private static func complaint(ofMozilla number: Int64, _ message: String) -> Complaint? {
        switch number {
        case 108: .subscription
        case 109: message.mentions("public key mismatch") ? .keyMismatch : .token
        default: nil
        }
    }

    /// Returns the kind of error for Google's texts, as in Chromium's tables and in reports.
    private static func complaint(inText text: String) -> Complaint? {
        if ["do not correspond", "unauthorizedregistration", "public key mismatch"].contains(where: text.mentions) {
            return .keyMismatch
        }
        if text.mentions("domain blocked") { return .blocked }
        if ["jwt", "authenticated", "'aud'", "'exp'", "expir"].contains(where: text.mentions) { return .token }
        return ["crypto-key", "authorization", "vapid", "public key"].contains(where: text.mentions) ? .credential : nil
    }
}
