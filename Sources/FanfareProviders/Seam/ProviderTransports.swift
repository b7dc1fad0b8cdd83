package import FanfareConfiguration
internal import HTTP2Client
internal import HTTP2Engine
package import PushTransport

/// Makes the configured transports of providers with one endpoint.
///
/// Transports to many hosts always use libcurl, and never a proxy.
package struct ProviderTransports: Equatable, Sendable {
    /// The HTTP/2 implementation.
    package let kind: Configuration.Send.Transport
    /// The proxy for all connections to these providers.
    package let proxy: HTTPProxy?

    package init(_ send: Configuration.Send) {
        proxy = send.proxy
        // The engine does not support proxies.
        kind = proxy == nil ? send.transport : .curl
    }

    /// Makes a transport, on the thread that will own it.
    ///
    /// - Parameters:
    ///   - endpoint: the endpoint.
    ///   - options: the options; the proxy is the configured one.
    /// - Returns: the transport, not yet connected.
    /// - Throws: ``TransportError`` for a CA file or a certificate that cannot be used.
    package func make(_ endpoint: Endpoint, _ options: TransportOptions) throws(TransportError) -> any PushTransport {
        var options = options
        options.proxy = proxy
        return switch kind {
        case .engine: try HTTP2Engine(endpoint: endpoint, options: options)
        case .curl: try HTTP2Client(endpoint: endpoint, options: options)
        }
    }
}
