/// The push services of browsers; they differ in endpoint, limits and format of errors.
public enum WebPushService: String, Sendable, CaseIterable, Codable {
    /// A service that follows RFC 8030 and RFC 8292.
    case rfc
    /// Mozilla's, for Firefox.
    case mozilla
    /// Google's, for Chrome and its relatives.
    case fcm
    /// Apple's, for Safari.
    case apple
    /// Microsoft's, for Edge.
    case wns
    /// A distributor of UnifiedPush, which anyone may run: NextPush, a part of Nextcloud.
    case unifiedpush

    /// The part of the endpoint's path before the subscription's id.
    ///
    /// As in the real service, except for Apple's, which has none.
    var pathPrefix: String {
        switch self {
        case .rfc: "/push/"
        case .mozilla: "/wpush/v2/"
        case .fcm: "/fcm/send/"
        case .apple: "/apple/"
        case .wns: "/w/?token="
        case .unifiedpush: "/index.php/apps/uppush/push/"
        }
    }

    /// The largest body in bytes.
    var bodyLimit: Int {
        switch self {
        case .rfc, .fcm, .apple, .unifiedpush: 4096
        case .mozilla: 5630
        case .wns: 5000
        }
    }
}

/// The path of a push resource, which contains the whole subscription: no subscription is stored.
struct WebPushEndpoint: Equatable {
    /// The VAPID key that a sender must use.
    enum Restriction: Equatable {
        /// The sandbox's own VAPID key.
        case own
        /// A key, by its `fingerprint`.
        case key(String)
        /// No key.
        case open
    }

    private static let prefixes: [(prefix: String, service: WebPushService, isOpen: Bool)] =
        WebPushService.allCases.map { (prefix: $0.pathPrefix, service: $0, isOpen: false) } + [
            (prefix: "/wpush/v1/", service: .mozilla, isOpen: true),
            (prefix: "/wp/", service: .fcm, isOpen: false),
        ]
    private static let hosts: [Substring: WebPushService] = [
        "web.push.apple.com": .apple, "updates.push.services.mozilla.com": .mozilla,
    ]

    let service: WebPushService
    let restriction: Restriction
    /// The path and query, byte for byte.
    let path: String

    /// Returns whether a request is for any of the services.
    static func serves(_ head: RequestHead) -> Bool {
        prefixes.contains { head.path.hasPrefix($0.prefix) } || hosts[head.host] != nil
            || head.host.hasSuffix(".notify.windows.com")
    }

    /// Parses an endpoint; nil if there can be no such subscription.
    init?(_ head: RequestHead) {
        let id: Substring
        var isOpen = false
        if let known = Self.prefixes.first(where: { head.path.hasPrefix($0.prefix) }) {
            (service, isOpen) = (known.service, known.isOpen)
            id = head.path.dropFirst(known.prefix.count)
        } else if head.host == "web.push.apple.com" {
            service = .apple
            id = head.path.dropFirst()
        } else {
            return nil
        }
        let parts = id.split(separator: ".", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), Self.isName(parts[0]) else { return nil }
        switch parts.dropFirst().first {
        case nil: restriction = isOpen ? .open : .own
        case "open"?: restriction = .open
        case let fingerprint?: restriction = .key(String(fingerprint))
        }
        path = head.path
    }

    /// Returns the path of a subscription.
    static func path(_ service: WebPushService, name: String, restriction: Restriction) -> String {
        let suffix =
            switch restriction {
            case .own: ""
            case .open: ".open"
            case .key(let fingerprint): "." + fingerprint
            }
        return service.pathPrefix + name + suffix
    }

    /// Returns whether a text can be the name of a subscription.
    static func isName(_ text: some StringProtocol) -> Bool {
        (1...200).contains(text.utf8.count) && text.utf8.allSatisfy(isBase64URL)
    }

    /// Returns whether a byte is in the alphabet of RFC 4648 section 5.
    static func isBase64URL(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
