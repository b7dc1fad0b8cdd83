/// Where and how to connect.
public struct PostgresOptions: Sendable {
    /// The connection string, as libpq accepts it: `postgres://user@host:port/database?option=value`, or `key=value`
    /// words.
    ///
    /// May contain a password; it appears in no error.
    public var url: String
    /// Called at each connect for the password, which takes precedence over the URL, `PGPASSWORD` and libpq's password
    /// file.
    ///
    /// If it throws, the connect fails with its error.
    public var password: (@Sendable () throws(PostgresError) -> String)?
    /// The name in `pg_stat_activity`, unless the URL sets another.
    public var applicationName: String
    /// The time limit for all addresses together, from name to authenticated; it does not interrupt a host name lookup.
    public var connectTimeout: Duration
    /// How long one address may take to accept the connection before the next one is tried, of the same name or of the
    /// next host in the URL.
    ///
    /// A server that accepts and then sends nothing has all of `connectTimeout`: no other is tried after it.
    public var addressTimeout: Duration
    /// Whether TCP keepalives are sent: after 10 s of silence, three probes 3 s apart.
    ///
    /// Without them a dead link is never noticed.
    public var keepalives: Bool
    /// How long sent data may stay unacknowledged before the link counts as dead; nil for the kernel's default.
    public var tcpUserTimeout: Duration?
    /// How long a statement may run without an answer before the connection counts as lost; nil for no limit.
    ///
    /// The connection is then closed; the server may still finish the statement. Nothing else detects a silent peer
    /// whose kernel, or a proxy before it, still acknowledges. Must exceed every `statement_timeout`, or a slow
    /// statement is mistaken for a dead server.
    public var responseTimeout: Duration?
    /// The settings that each session applies after connecting.
    public var session: SessionSettings
    /// Keeps sessions from an old primary; shared by the options of all sessions of a program.
    ///
    /// If there are several servers, those beside the first that accepts writes are checked too, one after the other,
    /// with 0.5 s for a server that does not accept and 2 s for one that sends nothing. The finding that no other
    /// server accepts writes is reused for 10 s. Nil: libpq's choice stands.
    public var timelines: PostgresTimelines?
    /// The one server of the URL to connect to.
    private var server: PostgresServer?

    /// Creates options with defaults for the daemon.
    ///
    /// - Parameters:
    ///   - url: a connection string for libpq.
    ///   - password: called at each connect for a password to use instead of the URL's.
    ///   - applicationName: for `pg_stat_activity`.
    ///   - connectTimeout: the limit for the whole connect.
    ///   - addressTimeout: the limit for one address to accept it; the default leaves room for three.
    ///   - keepalives: whether TCP keepalives are sent.
    ///   - tcpUserTimeout: the limit for unacknowledged data.
    ///   - responseTimeout: the limit for an answer; nil for none.
    ///   - session: the settings to apply.
    ///   - timelines: keeps sessions from an old primary.
    public init(
        url: String,
        password: (@Sendable () throws(PostgresError) -> String)? = nil,
        applicationName: String = "fanfare",
        connectTimeout: Duration = .seconds(10),
        addressTimeout: Duration = .seconds(4),
        keepalives: Bool = true,
        tcpUserTimeout: Duration? = .seconds(10),
        responseTimeout: Duration? = nil,
        session: SessionSettings = .plain,
        timelines: PostgresTimelines? = nil
    ) {
        self.url = url
        self.password = password
        self.applicationName = applicationName
        self.connectTimeout = connectTimeout
        self.addressTimeout = addressTimeout
        self.keepalives = keepalives
        self.tcpUserTimeout = tcpUserTimeout
        self.responseTimeout = responseTimeout
        self.session = session
        self.timelines = timelines
    }

    /// Returns libpq's keywords in rising precedence: those after the URL override it.
    ///
    /// - Returns: names and values, for one connect.
    /// - Throws: the error of `password`.
    func keywords() throws(PostgresError) -> [(String, String)] {
        var pairs = [("fallback_application_name", applicationName)]
        if keepalives {
            pairs += [("keepalives", "1"), ("keepalives_idle", "10"), ("keepalives_interval", "3")]
            pairs += [("keepalives_count", "3")]
        }
        if let tcpUserTimeout {
            pairs.append(("tcp_user_timeout", String(tcpUserTimeout.milliseconds)))
        }
        pairs += [("dbname", url), ("client_encoding", "UTF8")]
        if let server {
            pairs += [("host", server.host), ("hostaddr", server.address), ("port", server.port)]
        }
        if let password { try pairs.append(("password", password())) }
        return pairs
    }

    /// Returns options for a check of one of the URL's servers, which may be down.
    func looking(at server: PostgresServer) -> PostgresOptions {
        var copy = self
        copy.server = server
        copy.connectTimeout = min(connectTimeout, .seconds(2))
        copy.addressTimeout = min(addressTimeout, .milliseconds(500))
        return copy
    }
}

extension Duration {
    var milliseconds: Int64 {
        components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
    }
}
