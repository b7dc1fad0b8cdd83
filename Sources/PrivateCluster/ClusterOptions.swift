/// How a private cluster is to behave.
public struct ClusterOptions: Sendable {
    /// Whether commits survive a crash of the machine.
    ///
    /// Without, fsync is off: several times faster, and a crash of the machine (not of the server) may ruin the data.
    public var durable: Bool
    /// Whether the cluster is deleted when it ends, however the process that started it dies.
    public var ephemeral: Bool
    /// Whether it also listens on 127.0.0.1, on a free port; it then trusts every local user.
    public var loopback: Bool
    /// More settings, as in `postgresql.conf`; they win over those chosen here.
    public var settings: [String: String]

    /// Makes options.
    ///
    /// - Parameters:
    ///   - durable: whether to fsync.
    ///   - ephemeral: whether to delete everything at the end.
    ///   - loopback: whether to listen on TCP too.
    ///   - settings: more server settings.
    public init(
        durable: Bool = true,
        ephemeral: Bool = false,
        loopback: Bool = false,
        settings: [String: String] = [:]
    ) {
        self.durable = durable
        self.ephemeral = ephemeral
        self.loopback = loopback
        self.settings = settings
    }

    /// For development: survives crashes, kept between runs.
    public static let development = ClusterOptions()
    /// For tests: fast, gone afterwards, and with prepared transactions for those that test them.
    public static let tests = ClusterOptions(
        durable: false,
        ephemeral: true,
        settings: ["max_prepared_transactions": "20", "max_connections": "500"]
    )

    /// The whole `postgresql.conf`.
    func configuration(socketDirectory: String, port: Int) -> String {
        var all = [
            "listen_addresses": loopback ? "127.0.0.1" : "",
            "port": String(port),
            // A list, in which quotes keep a comma in a path from parting it.
            "unix_socket_directories": "\"\(socketDirectory)\"",
            "unix_socket_permissions": "0700",
            "timezone": "UTC",
            "log_timezone": "UTC",
            "lc_messages": "C",
            "log_line_prefix": "%m [%p] %a ",
        ]
        if !durable {
            all["fsync"] = "off"
            all["synchronous_commit"] = "off"
            all["full_page_writes"] = "off"
        }
        all.merge(settings) { $1 }
        let lines = all.sorted { $0.key < $1.key }.map { "\($0.key) = '\(Self.escaped($0.value))'" }
        return "# Written anew at each start.\n" + lines.joined(separator: "\n") + "\n"
    }

    /// As the server reads a value between single quotes: both `'` and `\` are doubled.
    private static func escaped(_ value: String) -> String {
        value.replacing("\\", with: "\\\\").replacing("'", with: "''")
    }
}
