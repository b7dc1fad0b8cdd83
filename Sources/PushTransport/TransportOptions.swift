/// How a transport behaves; every default is the documented one.
public struct TransportOptions: Sendable {
    /// Connections kept open while there is work for them.
    public var connections = 2

    /// Requests at once on one connection, at most; the peer's own limit counts too.
    public var streams = 100

    /// How long resolving, connecting and the TLS handshake may take together.
    ///
    /// A request that waits for a connection, while no other is answered, longer than this is given back as not sent.
    public var connectTimeout = Duration.seconds(10)

    /// A PEM file whose certificates are trusted in addition to the system's.
    ///
    /// Nothing turns verification off.
    public var caFile: String?

    /// What the client shows in the TLS handshake; nil for providers that take tokens.
    public var clientCertificate: ClientCertificate?

    /// What connections are tunnelled through; nil to connect directly, whatever the environment says.
    ///
    /// For transports to one configured endpoint that know proxies: libcurl's does, nghttp2's does not. A transport to
    /// origins that strangers name connects directly, because it judges the address that it connects to.
    public var proxy: HTTPProxy?

    /// After this a connection is drained while a new one opens.
    public var maxConnectionAge = Duration.seconds(60 * 60)

    /// How many connections may be opened at once before pacing begins.
    public var connectBurst = 8

    /// One further connection may be opened per this; APNs takes quick reconnects for an attack.
    public var connectInterval = Duration.seconds(1)

    /// How long sent data may stay unacknowledged before the kernel gives the connection up.
    public var tcpUserTimeout = Duration.seconds(15)

    /// Bytes kept of an answer's body; what exceeds it is cut off.
    public var answerLimit = 16 * 1024

    /// Names of the answer's fields to keep, in lower case; see ``PushAnswer/headers``.
    public var answerHeaders = ["retry-after", "apns-id", "apns-unique-id"]

    /// Makes the default options.
    public init() {}
}

extension TransportOptions {
    /// Bytes read of an answer's header and of its body, each; an answer that exceeds them is given up.
    ///
    /// Headers and bodies of 64 KiB are read however little of them is kept.
    ///
    /// - Parameter limit: bytes kept of a body.
    /// - Returns: bytes read.
    public static func readLimit(keeping limit: Int) -> Int { max(limit, 64 * 1024) }

    /// ``tcpUserTimeout`` as the kernel takes it.
    public var tcpUserTimeoutMilliseconds: UInt32 {
        UInt32(min(tcpUserTimeout.nanoseconds / 1_000_000, Int64(Int32.max)))
    }
}
