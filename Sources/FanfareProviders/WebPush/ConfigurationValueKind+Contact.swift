internal import FanfareConfiguration
internal import PushTransport

extension ConfigurationValueKind<String> {
    /// The contact for push services: the `sub` of VAPID (RFC 8292 section 2.1).
    static var contact: Self {
        let expected = "expected mailto:NAME@DOMAIN or https://HOST/…"
        return .init(
            name: "URI",
            range: "mailto:NAME@DOMAIN or https://HOST/…",
            parse: { (raw, _) throws(ConfigurationValueError) in
                let text = try raw.string(expected: expected).withoutVariables()
                let name = try Self.domain(of: text, expected: expected)
                // Apple answers 403 BadJwtToken for these hosts.
                guard name != "localhost", !name.hasSuffix(".localhost") else {
                    throw ConfigurationValueError("\(expected), found localhost; push services refuse that")
                }
                return text
            },
            text: { $0.isEmpty ? nil : $0 }
        )
    }

    /// Returns the domain of an address or URL.
    private static func domain(of text: String, expected: String) throws(ConfigurationValueError) -> String {
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }), !text.contains("<"), !text.contains(">") else {
            throw ConfigurationValueError("\(expected), without spaces, angle brackets and letters outside of ASCII")
        }
        if let url = try? HTTPSURL(text) { return url.origin.host }
        let parts = text.split(separator: "@", omittingEmptySubsequences: false)
        guard text.hasPrefix("mailto:"), parts.count == 2, parts[0] != "mailto:",
            !parts[1].contains(where: { ":/".contains($0) }),
            let origin = try? Endpoint("https://\(parts[1].prefix { $0 != "?" })")
        else { throw ConfigurationValueError(expected) }
        return origin.host
    }
}
