package import FanfareConfiguration
internal import HTTP2Client
package import Logging
package import PushTransport

/// What providers make their pools of.
package struct SenderParts: Sendable {
    /// Reads the files that credentials are in.
    package let files: CredentialFiles
    /// Told of credentials that cannot be renewed.
    package let logger: Logger
    /// SHA-256 of each file that the app's configuration names, by path; those that could be read.
    package let digests: [String: [UInt8]]
    private let send: Configuration.Send

    /// Takes what all pools share.
    package init(
        files: CredentialFiles,
        send: Configuration.Send,
        logger: Logger,
        digests: [String: [UInt8]]
    ) {
        (self.files, self.send, self.logger, self.digests) = (files, send, logger, digests)
    }

    /// What everything to providers with one endpoint is tunnelled through.
    package var proxy: HTTPProxy? { send.proxy }

    /// What one thread's transport is like.
    ///
    /// - Parameter caFile: CAs to trust beside the system's.
    /// - Returns: options with this configuration's connections and streams.
    package func options(caFile: String?) -> TransportOptions {
        var options = TransportOptions()
        options.connections = max(1, send.connections / min(send.threads, send.connections))
        options.streams = send.streams
        options.caFile = caFile
        return options
    }

    /// Makes what makes the transports of a pool with one endpoint; proves first that their files are of use.
    ///
    /// - Parameters:
    ///   - endpoint: where to send.
    ///   - options: how to behave.
    ///   - key: the configuration's key of the CA file.
    /// - Returns: makes one, on the thread that will own it.
    /// - Throws: ``DaemonError`` for a CA file or a certificate that is of no use.
    package func transports(
        to endpoint: Endpoint,
        _ options: TransportOptions,
        key: String
    ) throws(DaemonError) -> @Sendable () throws -> any PushTransport {
        let transports = ProviderTransports(send)
        try Self.check(key) { () throws(TransportError) in _ = try transports.make(endpoint, options) }
        return { try transports.make(endpoint, options) }
    }

    /// Makes what makes the transports of a pool whose recipients name their own hosts: over libcurl, never through a proxy.
    ///
    /// - Parameters:
    ///   - hosts: patterns of names that may be sent to.
    ///   - networks: blocks of addresses that may be connected to although they are not public.
    ///   - options: how to behave.
    ///   - section: the configuration's block, such as `apps.shop.webpush`.
    /// - Returns: makes one, on the thread that will own it.
    /// - Throws: ``DaemonError`` for a CA file or a rule about hosts that is of no use.
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

/// What a provider asks of a transport to many hosts.
package struct MultiOriginTraits: Sendable {
    /// CAs to trust beside the system's.
    package let caFile: String?
    /// The header fields that its answers are judged by, in lower case.
    package let answerHeaders: [String]
}
