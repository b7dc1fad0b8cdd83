/// Where and how to connect.
public struct PostgresOptions: Sendable {
    /// What libpq takes: `postgres://user@host:port/database?option=value`, or `key=value` words.
    ///
    /// May hold a password; it appears in no error.
    public var url: String
    /// Asked at each connect for the password, which is used instead of one in the URL, `PGPASSWORD` or libpq's own file.
    ///
    /// What it throws is why the connect failed.
    public var password: (@Sendable () throws(PostgresError) -> String)?
    /// Shown in `pg_stat_activity`, unless the URL sets another.
    public var applicationName: String
    /// For all addresses together, from name to authenticated; looking up a host name is not interrupted by it.
    public var connectTimeout: Duration
    /// How long one address may take to accept the connection; then the next one is tried, of the same name or of the next
    /// host in the URL.
    ///
    /// A server that accepts and then says nothing has all of `connectTimeout`: no other is tried after it.
    public var addressTimeout: Duration
    /// TCP keepalives at 10 s of silence, three probes 3 s apart; without them a cut link stays unnoticed for ever.
    public var keepalives: Bool
    /// How long sent data may stay unacknowledged before the link counts as cut; nil leaves it to the kernel.
    public var tcpUserTimeout: Duration?
    /// How long a statement's answer may take before the connection counts as lost.
    ///
    /// The connection is then closed; the server may still finish the statement.
    /// The only way to find a silent peer whose kernel, or a proxy before it, still acknowledges. Above every
    /// `statement_timeout`, or what is only slow is taken for dead. Nil: no limit.
    public var responseTimeout: Duration?
    /// Settings pinned after connecting.
    public var session: SessionSettings
    /// Keeps sessions from an old primary; shared by the options of all sessions of a program.
    ///
    /// Of several servers those beside the first that takes writes are looked at too, one after the other: 0.5 s for one that
    /// does not accept, 2 s for one that says nothing. That no other takes writes holds for 10 s. Nil: libpq's choice holds.
    public var timelines: PostgresTimelines?
    /// The one server to connect to, of those that the URL names.
    private var server: PostgresServer?

    /// Makes options with defaults that suit the daemon.
    ///
    /// - Parameters:
    ///   - url: as libpq takes it.
    ///   - password: asked at each connect for one to use instead of one in the URL.
    ///   - applicationName: for `pg_stat_activity`.
    ///   - connectTimeout: limit of the whole connect.
    ///   - addressTimeout: limit for one address to accept it; the default leaves room for three.
    ///   - keepalives: whether TCP keepalives are sent.
    ///   - tcpUserTimeout: limit for unacknowledged data.
    ///   - responseTimeout: limit for an answer; nil for none.
    ///   - session: settings to pin.
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

    /// libpq's keywords in rising precedence: what comes after the URL overrides it.
    ///
    /// - Returns: names and values, for one connect.
    /// - Throws: why there is no password.
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

    /// For a look at one of the URL's servers, which may be down.
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
