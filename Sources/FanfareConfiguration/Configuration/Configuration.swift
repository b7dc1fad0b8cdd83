public import Logging
public import PushTransport

/// The checked configuration, with all defaults filled in.
///
/// Holds no secret, except a password in `database.url` if the user put it there; descriptions never show it. The table
/// of keys documents each key (``reference``).
public struct Configuration: Equatable, Sendable {
    /// The name of this installation; nil if none is set.
    public var installation: String?
    /// The database, which is both queue and coordinator.
    public var database = Database()
    /// Foreign NOTIFY channels whose payloads become events.
    public var listen: [String] = []
    /// Credentials by app name.
    public var apps: [String: App] = [:]
    /// How requests are sent.
    public var send = Send()
    /// How often a delivery is tried.
    public var retry = Retry()
    /// How long history is kept.
    public var retention = Retention()
    /// The feedback hooks, by name.
    public var feedback: [String: Feedback] = [:]
    /// Where and how the program serves HTTP.
    public var api = API()
    /// What is logged, and in which format.
    public var log = Log()
    /// The path of the file that was read, as given; nil if there was none.
    public internal(set) var file: String?
    /// The source of `database.url`.
    public internal(set) var databaseOrigin = ConfigurationOrigin.absent

    init() {}

    /// The database for messages: without its password, with the source of the setting.
    public var databasePlace: String {
        [database.url.description, databaseOrigin.description].filter { !$0.isEmpty }.joined(separator: ", from ")
    }

    /// The address of the database and how it is used.
    public struct Database: Equatable, Sendable {
        /// The connection string for libpq.
        public var url = DatabaseURL("")
        /// Absolute path of the password file, read for each new connection; nil if there is none.
        public var passwordFile: String?
        /// Connections for work; control and foreign channels need additional ones.
        public var connections = WorkSessions.least
    }

    /// How requests are sent.
    public struct Send: Equatable, Sendable {
        /// The maximum number of sender threads for each app, provider and environment.
        public var threads = 2
        /// Connections per credential, spread over the threads.
        public var connections = 2
        /// Streams per connection; the server may allow fewer.
        public var streams = 100
        /// Deliveries in a batch.
        public var batch = 1000
        /// The in-flight budget: the limit of requests in flight, or answered and not yet recorded.
        public var unrecorded = 4096
        /// The proxy for all connections to APNs, FCM and Google's token endpoint; nil for none.
        public var proxy: HTTPProxy?
        /// The file with the password of the proxy's user; ``proxy`` reads it.
        var proxyPasswordFile: String?

        /// Makes the defaults.
        public init() {}
    }

    /// How often a delivery is tried.
    public struct Retry: Equatable, Sendable {
        /// Attempts per delivery, including the first one.
        public var attempts = 10

        /// Makes the defaults.
        public init() {}
    }

    /// How long history is kept.
    public struct Retention: Equatable, Sendable {
        /// How long an event's key blocks a second event of the same type and key.
        public var keys = Duration.seconds(7 * 86_400)
        /// How long the logs of events and batches are kept; whole days.
        public var log = Duration.seconds(30 * 86_400)
        /// How long users' actions and texts are kept; whole days.
        public var reports = Duration.seconds(30 * 86_400)

        /// Makes the defaults.
        public init() {}
    }

    /// Where and how the program serves HTTP.
    public struct API: Equatable, Sendable {
        /// The address of the API; nil to serve none.
        public var listen: ListenAddress?
        /// An additional address for health and metrics; nil for none.
        public var healthListen: ListenAddress?
        /// The connection limit of that address.
        public static let healthConnections = 64
        /// Absolute path of the certificate chain, as PEM; nil for no TLS.
        public var certificateFile: String?
        /// Absolute path of the certificate's private key, as PEM.
        public var keyFile: String?
        /// The limit of client connections.
        public var connections = 1000
        /// Database sessions for requests.
        public var sessions = 4
        /// The rate limit in requests a second of a token that has no limit of its own.
        public var rate = 100
        /// The topics that phones may subscribe to: names, or prefixes with `*` at the end.
        public var phoneTopics: [String] = []
        /// The origins whose pages may send the requests of phones: exactly as browsers send them.
        public var origins: [String] = []
        /// The path under which a proxy serves the program: begins with a slash and ends without one; empty for the
        /// root.
        public var basePath = ""
        /// The permitted uses of the console; without ``ConsoleUse/read`` there is no console.
        public var console = ConsoleUse.allCases

        /// Makes the defaults: HTTP off.
        public init() {}
    }

    /// What is logged, and in which format.
    public struct Log: Equatable, Sendable {
        /// The minimum level of lines that are written.
        public var level = Logger.Level.info
        /// The format of a line.
        public var format = Format.json
        /// The outcomes of single deliveries that are logged.
        public var deliveries = Deliveries.failures

        /// Makes the defaults.
        public init() {}

        /// The format of a log line.
        public enum Format: String, CaseIterable, Sendable {
            /// One JSON object per line, for machines.
            case json
            /// Aligned text, for terminals.
            case text
        }

        /// The outcomes of single deliveries that are logged.
        public enum Deliveries: String, CaseIterable, Sendable {
            /// Every outcome, including acceptances and outcomes that Fanfare decides by itself.
            case all
            /// Failed attempts.
            case failures
            /// No line per delivery.
            case none
        }
    }
}

extension Configuration {
    /// Returns the warnings: settings that work but should be changed, each with advice.
    ///
    /// - Parameter schema: the schema that the configuration was read with.
    /// - Returns: a line each.
    package func warnings(_ schema: ConfigurationSchema) -> [String] {
        var warnings: [String] = []
        if database.url.hasPassword {
            warnings.append(
                "database.url: holds a password, which others can see in files and process lists; "
                    + "put it into a file and name that in database.password_file"
            )
            if database.passwordFile != nil {
                warnings.append("database.password_file: is not used, because database.url holds a password")
            }
        }
        if let listen = api.listen, !listen.isLocal, api.certificateFile == nil {
            warnings.append(
                "api.listen: \(listen) can be reached from other hosts, and without TLS tokens pass there in clear; set "
                    + "api.certificate_file and api.key_file, or listen on 127.0.0.1 behind a proxy that has TLS"
            )
        }
        guard let proxy = send.proxy else { return warnings }
        for block in schema.blocks
        where block.connectsDirectly && apps.values.contains(where: { $0.providers[block.name] != nil }) {
            warnings.append(
                "send.proxy: \(block.title) connects directly and not through \(proxy), because it may connect to public "
                    + "addresses only and has to see them; let this host reach its servers"
            )
        }
        return warnings
    }
}
