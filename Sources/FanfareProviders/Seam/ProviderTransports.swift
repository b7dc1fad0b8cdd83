package import FanfareConfiguration
internal import HTTP2Client
internal import HTTP2Engine
package import PushTransport

/// Makes the transports of providers with one endpoint, as configured.
///
/// Those of providers with many hosts always go through libcurl, and never through a proxy.
package struct ProviderTransports: Equatable, Sendable {
    /// Which of both is meant.
    package let kind: Configuration.Send.Transport
    /// What everything to these providers is tunnelled through.
    package let proxy: HTTPProxy?

    package init(_ send: Configuration.Send) {
        proxy = send.proxy
        // The engine knows no proxies.
        kind = proxy == nil ? send.transport : .curl
    }

    /// Makes one, on the thread that will own it.
    ///
    /// - Parameters:
    ///   - endpoint: where to send.
    ///   - options: how to behave; the proxy is the configured one.
    /// - Returns: the transport, which has not connected yet.
    /// - Throws: ``TransportError`` for a CA file or a certificate that is of no use.
    package func make(_ endpoint: Endpoint, _ options: TransportOptions) throws(TransportError) -> any PushTransport {
        var options = options
        options.proxy = proxy
        return switch kind {
        case .engine: try HTTP2Engine(endpoint: endpoint, options: options)
        case .curl: try HTTP2Client(endpoint: endpoint, options: options)
        }
    }
}
