/// A connection string of libpq: a URI or `keyword=value` pairs, which may hold a password.
///
/// Its descriptions show no password; only ``connectionString`` returns the whole text.
public struct DatabaseURL: Equatable, Sendable {
    /// The text as configured, for libpq only; may hold a password.
    public let connectionString: String
    private let redacted: String

    /// Whether the text holds a password.
    public let hasPassword: Bool

    /// Takes a connection string of libpq.
    ///
    /// - Parameter connectionString: a URI or `keyword=value` pairs; not checked further.
    public init(_ connectionString: String) {
        self.connectionString = connectionString
        redacted = Self.redact(connectionString)
        hasPassword = redacted != connectionString
    }

    static func isURI(_ text: String) -> Bool { text.hasPrefix("postgres://") || text.hasPrefix("postgresql://") }

    private static let stars = "***"

    /// The parameters of libpq that are secret (PostgreSQL 15 to 18, section "Parameter Key Words").
    private static let secretParameters: Set<String> = [
        "password", "sslpassword", "scram_client_key", "scram_server_key", "oauth_client_secret",
    ]

    private static func redact(_ text: String) -> String {
        isURI(text) ? redactURI(text) : redactKeywords(text)
    }

    /// Hides the password of the user part, and secret parameters of the query.
    ///
    /// If a password is not percent-encoded as required, too much is hidden rather than too little.
    private static func redactURI(_ text: String) -> String {
        guard let scheme = text.firstRange(of: "://") else { return stars }
        let rest = text[scheme.upperBound...]
        let authority = rest.prefix { $0 != "/" }
        let afterUser = authority.lastIndex(of: "@") ?? misplacedAt(in: rest)
        guard let afterUser else { return "\(text[..<scheme.upperBound])\(redactQuery(rest))" }
        let user = rest[..<afterUser]
        let tail = redactQuery(rest[afterUser...])
        guard let colon = user.firstIndex(of: ":") else { return "\(text[..<scheme.upperBound])\(user)\(tail)" }
        return "\(text[...colon])\(stars)\(tail)"
    }

    /// Returns the end of a user part whose password holds a raw `/`, which libpq would misread.
    private static func misplacedAt(in rest: Substring) -> Substring.Index? {
        let host = rest.prefix { $0 != "/" && $0 != "?" }
        guard let colon = host.lastIndex(of: ":"), !host.hasSuffix("]"),
            !host[host.index(after: colon)...].allSatisfy({ $0.isWholeNumber })
        else { return nil }
        return rest.lastIndex(of: "@")
    }

    private static func redactQuery(_ text: Substring) -> String {
        guard let mark = text.firstIndex(of: "?") else { return String(text) }
        let parameters = text[text.index(after: mark)...].split(separator: "&", omittingEmptySubsequences: false)
        let shown = parameters.map { parameter in
            let name = parameter.prefix { $0 != "=" }
            return isSecret(name) ? "\(name)=\(stars)" : String(parameter)
        }
        return "\(text[...mark])\(shown.joined(separator: "&"))"
    }

    private static func isSecret(_ name: Substring) -> Bool {
        // A name with a percent sign may hide a secret parameter, because libpq decodes it.
        secretParameters.contains(name.lowercased()) || name.contains("%")
    }

    /// Hides the values of secret keywords; values may be quoted, with backslashes.
    private static func redactKeywords(_ text: String) -> String {
        var shown: [String] = []
        var rest = text[...]
        while true {
            rest = rest.drop { $0.isWhitespace }
            guard !rest.isEmpty else { return hidden(text, shown) }
            guard let equals = rest.firstIndex(of: "=") else { return stars }
            let name = rest[..<equals].filter { !$0.isWhitespace }
            rest = rest[rest.index(after: equals)...].drop { $0.isWhitespace }
            let start = rest.startIndex
            guard skipValue(&rest) else { return stars }
            let value = text[start..<rest.startIndex]
            // libpq also accepts a whole URI as dbname.
            shown.append("\(name)=\(isSecret(name[...]) || value.contains("://") ? stars : String(value))")
        }
    }

    /// Returns the pairs to show, or the text itself if nothing was hidden.
    private static func hidden(_ text: String, _ pairs: [String]) -> String {
        pairs.contains { $0.hasSuffix("=" + stars) } ? pairs.joined(separator: " ") : text
    }

    /// Skips one value; returns false if its quote is never closed.
    private static func skipValue(_ rest: inout Substring) -> Bool {
        let quoted = rest.first == "'"
        if quoted { rest.removeFirst() }
        while let character = rest.first {
            if quoted ? character == "'" : character.isWhitespace {
                if quoted { rest.removeFirst() }
                return true
            }
            rest.removeFirst()
            if character == "\\" { rest = rest.dropFirst() }
        }
        return !quoted
    }
}

extension DatabaseURL: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The text without passwords.
    public var description: String { redacted }
    /// The text without passwords.
    public var debugDescription: String { redacted }
    /// Shows the text without passwords to `dump` and debuggers.
    public var customMirror: Mirror { Mirror(self, children: ["redacted": redacted]) }
}
