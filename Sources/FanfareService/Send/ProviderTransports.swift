internal import HTTP2Client
internal import HTTP2Engine
internal import PushTransport

/// Makes the transports of providers with one endpoint (APNs, FCM), as configured.
///
/// Web Push's many hosts always go through libcurl.
struct ProviderTransports: Equatable, Sendable {
    let kind: Configuration.Send.Transport

    init(_ send: Configuration.Send) {
        kind = send.transport
    }

    /// Makes one, on the thread that will own it.
    ///
    /// - Parameters:
    ///   - endpoint: where to send.
    ///   - options: how to behave.
    /// - Returns: the transport, which has not connected yet.
    /// - Throws: ``TransportError`` for a CA file or a certificate that is of no use.
    func make(_ endpoint: Endpoint, _ options: TransportOptions) throws(TransportError) -> any PushTransport {
        switch kind {
        case .engine: try HTTP2Engine(endpoint: endpoint, options: options)
        case .curl: try HTTP2Client(endpoint: endpoint, options: options)
        }
    }
}
