package import FanfareConfiguration
internal import HTTP2Client
package import Logging
package import PushTransport

/// The parts that providers make their pools from.
package struct SenderParts: Sendable {
    /// Reads the files of credentials.
    package let files: CredentialFiles
    /// Logs credentials that cannot be renewed.
    package let logger: Logger
    /// SHA-256 of each readable file that the app's configuration names, by path.
    package let digests: [String: [UInt8]]
    private let send: Configuration.Send

    /// Makes the parts that all pools share.
    package init(
        files: CredentialFiles,
        send: Configuration.Send,
        logger: Logger,
        digests: [String: [UInt8]]
    ) {
        (self.files, self.send, self.logger, self.digests) = (files, send, logger, digests)
    }

    /// The proxy for all connections to providers with one endpoint.
    package var proxy: HTTPProxy? { send.proxy }

    /// Returns the options of one thread's transport.
    ///
    /// - Parameter caFile: CAs to trust in addition to the system's.
    /// - Returns: options with the configured connections and streams.
    package func options(caFile: String?) -> TransportOptions {
        var options = TransportOptions()
        options.connections = max(1, send.connections / min(send.threads, send.connections))
        options.streams = send.streams
        options.caFile = caFile
        return options
    }

    /// Returns the factory for the transports of a pool with one endpoint, after checking that their files can be used.
    ///
    /// - Parameters:
    ///   - endpoint: the endpoint.
    ///   - options: the options.
    ///   - key: the configuration key of the CA file.
    /// - Returns: makes a transport, on the thread that will own it.
    /// - Throws: ``DaemonError`` for a CA file or a certificate that cannot be used.
    package func transports(
        to endpoint: Endpoint,
        _ options: TransportOptions,
        key: String
    ) throws(DaemonError) -> @Sendable () throws -> any PushTransport {
        let transports = ProviderTransports(send)
        try Self.check(key) { () throws(TransportError) in _ = try transports.make(endpoint, options) }
        return { try transports.make(endpoint, options) }
    }

    /// Returns the factory for the transports of a pool whose recipients have hosts of their own: over libcurl, never
    /// through a proxy.
    ///
    /// - Parameters:
    ///   - hosts: patterns of host names that may be sent to.
    ///   - networks: networks with addresses that are not public and may still be connected to.
    ///   - options: the options.
    ///   - section: the configuration's block, such as `apps.shop.webpush`.
    /// - Returns: makes a transport, on the thread that will own it.
    /// - Throws: ``DaemonError`` for a CA file or a host pattern that cannot be used.
    package func transports(
        toHosts hosts: [String],
        networks: [String],
        _ options: MultiOriginTraits,
        section: String
    ) throws(DaemonError) -> @Sendable () throws -> any PushTransport {
        var all: MultiOriginOptions
        do throws(DestinationPolicyError) {
            all = MultiOriginOptions(destinations: try DestinationPolicy(hosts: hosts, networks: networks))
        } catch {
            let hint = "Look at allowed_hosts and allowed_networks."
            throw DaemonError(.configuration, "\(section): \(error)", hint: hint)
        }
        all.transport = self.options(caFile: options.caFile)
        all.transport.answerHeaders = options.answerHeaders
        let settled = all
        try Self.check("\(section).ca_file") { () throws(TransportError) in
            _ = try MultiOriginClient(options: settled)
        }
        return { try MultiOriginClient(options: settled) }
    }

    private static func check(_ key: String, _ make: () throws(TransportError) -> Void) throws(DaemonError) {
        do throws(TransportError) {
            try make()
        } catch {
            let hint = "It holds the certificates to trust, as PEM."
            throw DaemonError(.configuration, "\(key): \(error)", hint: hint)
        }
    }
}

/// The requirements of a provider for a transport to many hosts.
package struct MultiOriginTraits: Sendable {
    /// CAs to trust in addition to the system's.
    package let caFile: String?
    /// The header fields that verdicts use, in lower case.
    package let answerHeaders: [String]
}
