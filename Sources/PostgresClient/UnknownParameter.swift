internal import CPostgres

/// A parameter of a connection URL that libpq does not know.
///
/// Poolers, ORMs and hosting providers add parameters of their own, or of a newer libpq. Errors show only the name,
/// because the value may be secret.
struct UnknownParameter: Equatable {
    let name: String

    /// Finds the first one in a URL that libpq refuses; nil if there is none, or if it may be part of a password.
    ///
    /// - Parameter url: `postgres://…?name=value`, or `name=value` words.
    init?(in url: String) {
        let isURI = url.starts(with: /postgres(ql)?:\/\//)
        // If an unencoded password contains `?`, the parameters seem to begin there, and an `@` follows.
        let query = isURI ? url.drop { $0 != "?" }.dropFirst() : url[...]
        guard !isURI || !query.contains("@") else { return nil }
        let known = Self.known
        for name in isURI ? Self.names(inQuery: query) : Self.names(inWords: query) {
            // The rest of an unencoded or unquoted password may look like a parameter.
            guard !name.hasSuffix("password") else { return nil }
            guard !known.contains(name) else { continue }
            guard name.wholeMatch(of: /[A-Za-z_]{1,63}/) != nil else { return nil }
            self.name = name
            return
        }
        return nil
    }

    /// The error that names the parameter and says what to do.
    var error: PostgresError {
        PostgresError(
            .invalidOptions,
            message: "the database URL has the parameter \(name), which libpq \(Self.version) does not know",
            hint: advice
        )
    }

    private var advice: String {
        switch name {
        case "schema":
            return "Leave it out: Fanfare's tables are in the schema fanfare."
        case "pgbouncer", "connection_limit", "pool_timeout", "statement_cache_size", "prepareThreshold", "pool_mode":
            return "Leave it out, and connect to PostgreSQL itself, not through a pool."
        default:
            guard let release = Self.releases.first(where: { $0.names.contains(name) })?.version else {
                return "Leave it out, or check its spelling."
            }
            return "libpq knows it from version \(release) on: install that version, or leave it out."
        }
    }

    /// Parameters of newer versions of libpq, by the version that added them.
    private static let releases: [(version: Int, names: Set<String>)] = [
        (16, ["require_auth", "sslcertmode", "load_balance_hosts"]),
        (17, ["sslnegotiation", "gssdelegation"]),
        (
            18,
            [
                "min_protocol_version", "max_protocol_version", "sslkeylogfile", "servicefile", "scram_client_key",
                "scram_server_key", "oauth_issuer", "oauth_client_id", "oauth_client_secret", "oauth_scope",
            ]
        ),
    ]

    /// The version of libpq, such as `15.18`.
    private static var version: String {
        let number = Int(PQlibVersion())
        return "\(number / 10_000).\(number % 10_000)"
    }

    /// The parameters that the installed libpq knows, and `ssl`, which it accepts in URIs.
    private static var known: Set<String> {
        var names: Set<String> = ["ssl"]
        let options = unsafe PQconndefaults()
        defer { unsafe PQconninfoFree(options) }
        var next = unsafe options
        while let option = unsafe next, let keyword = unsafe option.pointee.keyword {
            names.insert(unsafe String(cString: keyword))
            unsafe next = option.advanced(by: 1)
        }
        return names
    }

    private static func names(inQuery query: Substring) -> [String] {
        query.split(separator: "&").map { String($0.prefix { $0 != "=" }) }
    }

    /// Parses as libpq does: blanks around `=`, values in single quotes or up to a blank, backslashes before any
    /// character.
    private static func names(inWords words: Substring) -> [String] {
        var names: [String] = []
        var rest = words.drop(while: \.isWhitespace)
        while !rest.isEmpty {
            names.append(String(rest.prefix { $0 != "=" && !$0.isWhitespace }))
            rest = rest.drop { $0 != "=" && !$0.isWhitespace }.drop(while: \.isWhitespace)
            // For a word without a value libpq reports an error and stops.
            guard rest.first == "=" else { return Array(names.dropLast()) }
            rest = rest.dropFirst().drop(while: \.isWhitespace)
            let isQuoted = rest.first == "'"
            if isQuoted { rest.removeFirst() }
            while let character = rest.first, isQuoted ? character != "'" : !character.isWhitespace {
                rest = rest.dropFirst(character == "\\" ? 2 : 1)
            }
            rest = rest.dropFirst().drop(while: \.isWhitespace)
        }
        return names
    }
}
