internal import CPostgres

/// A parameter of a connection URL that libpq does not know.
///
/// Poolers, ORMs, hosting providers and newer versions of libpq add parameters. Errors show only the name, because the
/// value may be secret.
struct UnknownParameter: Equatable {
    let name: String

    /// Parses libpq's message about a URL; nil if the message is another one, or if the name may be part of a password.
    ///
    /// - Parameters:
    ///   - message: libpq's message, untranslated.
    ///   - url: the URL that libpq parsed: `postgres://…?name=value`, or `name=value` words.
    init?(in message: String, about url: String) {
        let words = /invalid (URI query parameter: |connection option )"([A-Za-z_]{1,63})"\s*/
        guard let name = message.wholeMatch(of: words)?.2 else { return nil }
        let isURI = url.starts(with: /postgres(ql)?:\/\//)
        let parameters = isURI ? url.drop { $0 != "?" } : url[...]
        // The rest of an unencoded or unquoted password may look like a parameter. If an unencoded password contains
        // `?`, the parameters seem to begin there, and an `@` follows.
        guard !parameters.contains("password"), !isURI || !parameters.contains("@") else { return nil }
        self.name = String(name)
    }

    /// The error that names the parameter and the fix.
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
}
