internal import FanfareCore

/// What the body of a Web Push error says, whichever service wrote it: JSON with a `reason` (Apple), JSON with an `errno`
/// (Mozilla), plain text or HTML (Google).
///
/// Never fails: an empty body or garbage gives an error body that says nothing.
public struct WebPushErrorBody: Equatable, Sendable {
    /// More than this is not looked at.
    public static let maximumBytes = 16 * 1024
    /// A reason is cut to this many characters.
    public static let maximumReasonLength = 64

    /// What a service complains of, where its words are known.
    public enum Complaint: Equatable, Sendable {
        /// The subscription was made with another VAPID key.
        case keyMismatch
        /// The VAPID token: signature, claims, age. A fresh one may help.
        case token
        /// The VAPID header or key themselves.
        case credential
        /// The endpoint is damaged.
        case subscription
        /// The connection idled too long.
        case idle
        /// The server goes down.
        case shutdown
        /// The sender is banned (WNS).
        case blocked
    }

    /// Why, for logs: Apple's reason or Mozilla's number; nil for texts, which may name the endpoint.
    public let reason: String?
    /// What it complains of; nil where it says nothing known.
    public let complaint: Complaint?

    /// An error body of known content.
    ///
    /// - Parameters:
    ///   - reason: why.
    ///   - complaint: what it complains of.
    public init(reason: String? = nil, complaint: Complaint? = nil) {
        self.reason = reason
        self.complaint = complaint
    }

    /// Reads a body.
    ///
    /// - Parameter bytes: the body, complete or cut.
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

    /// Google's texts as Chromium's tables and reports have them.
    private static func complaint(inText text: String) -> Complaint? {
        if ["do not correspond", "unauthorizedregistration", "public key mismatch"].contains(where: text.mentions) {
            return .keyMismatch
        }
        if text.mentions("domain blocked") { return .blocked }
        if ["jwt", "authenticated", "'aud'", "'exp'", "expir"].contains(where: text.mentions) { return .token }
        return ["crypto-key", "authorization", "vapid", "public key"].contains(where: text.mentions) ? .credential : nil
    }
}
