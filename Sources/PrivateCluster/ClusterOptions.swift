/// The options of a private cluster.
public struct ClusterOptions: Sendable {
    /// Whether commits survive a crash of the machine.
    ///
    /// If false, fsync is off: several times faster, but a crash of the machine (not of the server) may corrupt the
    /// data.
    public var durable: Bool
    /// Whether the cluster is deleted when it ends, even if the process that started it crashes.
    public var ephemeral: Bool
    /// Whether the server also listens on 127.0.0.1, on a free port; every local user is then trusted.
    public var loopback: Bool
    /// Further settings, as in `postgresql.conf`; they override those set here.
    public var settings: [String: String]

    /// Creates options.
    ///
    /// - Parameters:
    ///   - durable: whether to fsync.
    ///   - ephemeral: whether to delete all files at the end.
    ///   - loopback: whether to listen on TCP too.
    ///   - settings: further server settings.
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

    /// The options for development: survives crashes, kept between runs.
    public static let development = ClusterOptions()
    /// The options for tests: fast, deleted afterwards, and with prepared transactions enabled.
    public static let tests = ClusterOptions(
        durable: false,
        ephemeral: true,
        settings: ["max_prepared_transactions": "20", "max_connections": "500"]
    )

    /// Returns the content of `postgresql.conf`.
    func configuration(socketDirectory: String, port: Int) -> String {
        var all = [
            "listen_addresses": loopback ? "127.0.0.1" : "",
            "port": String(port),
            // The setting is a list; the quotes keep a comma in the path from splitting it.
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

    /// Escapes a value for single quotes: the server reads doubled `'` and `\`.
    private static func escaped(_ value: String) -> String {
        value.replacing("\\", with: "\\\\").replacing("'", with: "''")
    }
}
