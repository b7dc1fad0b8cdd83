package import FanfareConfiguration
internal import HTTP2Engine
package import PushTransport

/// Makes the transports of providers with one endpoint.
package struct ProviderTransports: Equatable, Sendable {
    /// The proxy for all connections to these providers.
    package let proxy: HTTPProxy?

    package init(_ send: Configuration.Send) { proxy = send.proxy }

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
        return try HTTP2Engine(endpoint: endpoint, options: options)
    }
}
