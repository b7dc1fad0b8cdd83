/// The options of a transport; every default is the documented one.
public struct TransportOptions: Sendable {
    /// The number of connections kept open while there are requests for them.
    public var connections = 2

    /// The maximum number of concurrent requests on one connection; the peer's limit applies too.
    public var streams = 100

    /// The time limit for resolving, connecting and the TLS handshake together.
    ///
    /// A request that waits longer than this for a connection, while no other request is answered, is returned as not
    /// sent.
    public var connectTimeout = Duration.seconds(10)

    /// A PEM file whose certificates are trusted in addition to the system's.
    ///
    /// Verification cannot be disabled.
    public var caFile: String?

    /// The client certificate for the TLS handshake; nil for providers that use tokens.
    public var clientCertificate: ClientCertificate?

    /// The proxy through which connections are tunnelled; nil to connect directly, even if the environment names a
    /// proxy.
    ///
    /// A transport to registered origins always connects directly, because it checks the address that it connects to.
    public var proxy: HTTPProxy?

    /// The age after which a connection is drained while a new one is opened.
    public var maxConnectionAge = Duration.seconds(60 * 60)

    /// The number of connections that may be opened at once before pacing begins.
    public var connectBurst = 8

    /// The interval at which one further connection may be opened; APNs treats rapid reconnects as an attack.
    public var connectInterval = Duration.seconds(1)

    /// The time that sent data may stay unacknowledged before the kernel closes the connection.
    public var tcpUserTimeout = Duration.seconds(15)

    /// The number of bytes of an answer's body that are kept; the rest is discarded.
    public var answerLimit = 16 * 1024

    /// The names of the answer's header fields to keep, in lower case; see ``PushAnswer/headers``.
    public var answerHeaders = ["retry-after", "apns-id", "apns-unique-id"]

    /// Creates the default options.
    public init() {}
}

extension TransportOptions {
    /// Returns the limit for an answer's header and for its body; an answer that exceeds it is given up.
    ///
    /// It is at least 64 KiB, even if less of the body is kept.
    ///
    /// - Parameter limit: the number of bytes of a body that are kept.
    /// - Returns: the limit in bytes, for the header and the body each.
    public static func readLimit(keeping limit: Int) -> Int { max(limit, 64 * 1024) }

    /// ``tcpUserTimeout`` in milliseconds, as the kernel takes it.
    public var tcpUserTimeoutMilliseconds: UInt32 {
        UInt32(min(tcpUserTimeout.nanoseconds / 1_000_000, Int64(Int32.max)))
    }
}
