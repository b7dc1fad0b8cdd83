public import Logging
public import PushTransport

/// Everything that can be configured, checked, with all defaults filled in.
///
/// Holds no secret but, where somebody put it there, a password inside `database.url`, which no description shows.
/// What each key means stands once, in the table of keys (``reference``).
public struct Configuration: Equatable, Sendable {
    /// The name of this installation; nil while none is set.
    public var installation: String?
    /// The database that is queue and coordinator.
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
    /// Whom outcomes are told to, by the name of the hook.
    public var feedback: [String: Feedback] = [:]
    /// Where and how the program answers by HTTP.
    public var api = API()
    /// What is logged and how.
    public var log = Log()
    /// The file that was read, as it was named; nil if there was none.
    public internal(set) var file: String?
    /// Where `database.url` was set.
    public internal(set) var databaseOrigin = ConfigurationOrigin.absent

    init() {}

    /// The database for messages: without a password, and who named it.
    public var databasePlace: String {
        [database.url.description, databaseOrigin.description].filter { !$0.isEmpty }.joined(separator: ", from ")
    }

    /// Where the database is and how it is used.
    public struct Database: Equatable, Sendable {
        /// What libpq connects to.
        public var url = DatabaseURL("")
        /// Absolute path of a file with the password, read whenever a connection is opened; nil if there is none.
        public var passwordFile: String?
        /// Connections for work; control and foreign channels come on top.
        public var connections = WorkSessions.least
    }

    /// How requests are sent.
    public struct Send: Equatable, Sendable {
        /// Sender threads at most, for each app, provider and environment.
        public var threads = 2
        /// Connections per credential, spread over the threads.
        public var connections = 2
        /// Streams per connection, at most what the server allows.
        public var streams = 100
        /// Deliveries claimed together.
        public var batch = 1000
        /// Cap on requests that are in flight, or answered and not yet recorded.
        public var unrecorded = 4096
        /// What carries requests to APNs and FCM.
        public var transport = Transport.engine
        /// What everything to APNs, FCM and Google's token endpoint is tunnelled through, over libcurl; nil for none.
        public var proxy: HTTPProxy?

        /// All defaults.
        public init() {}

        /// What carries requests to APNs and FCM.
        public enum Transport: String, CaseIterable, Sendable {
            /// nghttp2 over OpenSSL: a sixth of the CPU, and the exact fate of each request.
            case engine
            /// libcurl, which Web Push and OAuth always go through.
            case curl
        }
    }

    /// How often a delivery is tried.
    public struct Retry: Equatable, Sendable {
        /// Attempts per delivery, the first one included.
        public var attempts = 10

        /// All defaults.
        public init() {}
    }

    /// How long history is kept.
    public struct Retention: Equatable, Sendable {
        /// How long an event's key stops a second event of the same type and key.
        public var keys = Duration.seconds(7 * 86_400)
        /// How long the logs of events and batches are kept; whole days.
        public var log = Duration.seconds(30 * 86_400)

        /// All defaults.
        public init() {}
    }

    /// Where and how the program answers by HTTP.
    public struct API: Equatable, Sendable {
        /// Where it listens; nil for not at all.
        public var listen: ListenAddress?
        /// Where it answers health and metrics besides; nil for nowhere else.
        public var healthListen: ListenAddress?
        /// Connections there at once.
        public static let healthConnections = 64
        /// Absolute path of its certificate and those above it, as PEM; nil for no TLS.
        public var certificateFile: String?
        /// Absolute path of the certificate's private key, as PEM.
        public var keyFile: String?
        /// Connections from clients at once.
        public var connections = 1000
        /// Sessions of the database for what is asked.
        public var sessions = 4
        /// Requests a second of one token that has no limit of its own.
        public var rate = 100
        /// What phones may subscribe to: names, and with `*` at the end all that begin so.
        public var phoneTopics: [String] = []
        /// The path below which a proxy serves it: begins with a slash and ends without one; empty for the root.
        public var basePath = ""
        /// What its console is there for; there is none without ``ConsoleUse/read``.
        public var console = ConsoleUse.allCases

        /// All defaults: off.
        public init() {}
    }

    /// What is logged and how.
    public struct Log: Equatable, Sendable {
        /// The least severe level that is written.
        public var level = Logger.Level.info
        /// The form of a line.
        public var format = Format.json
        /// Which outcomes of single deliveries get a line.
        public var deliveries = Deliveries.failures

        /// All defaults.
        public init() {}

        /// The form of a log line.
        public enum Format: String, CaseIterable, Sendable {
            /// One JSON object per line, for machines.
            case json
            /// Aligned text, for terminals.
            case text
        }

        /// Which outcomes of single deliveries get a line.
        public enum Deliveries: String, CaseIterable, Sendable {
            /// Every outcome: what was accepted too, and what Fanfare decides by itself.
            case all
            /// What was tried and not accepted.
            case failures
            /// No line per delivery.
            case none
        }
    }
}

extension Configuration {
    /// What works but should be mended; each says how.
    ///
    /// - Parameter schema: the keys it was read by.
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
