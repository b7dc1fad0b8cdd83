internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareStore
internal import HTTP2Client
internal import Logging
internal import PushCrypto
internal import PushTransport

/// Makes pools of credentials.
struct SenderParts {
    let files: CredentialFiles
    let send: Configuration.Send
    let logger: Logger

    private var transports: ProviderTransports { ProviderTransports(send) }
    private var threads: Int { min(send.threads, send.connections) }

    private func options(caFile: String?) -> TransportOptions {
        var options = TransportOptions()
        options.connections = max(1, send.connections / threads)
        options.streams = send.streams
        options.caFile = caFile
        return options
    }

    /// APNs: production first, then the sandbox environment.
    ///
    /// - Parameters:
    ///   - apns: the app's credentials.
    ///   - app: its name.
    ///   - tokens: of its signing key; nil if it shows a certificate.
    /// - Returns: two pools with one credential.
    /// - Throws: ``DaemonError`` for a file that cannot be used.
    func apnsPools(
        _ apns: Configuration.APNS,
        app: String,
        tokens: ProviderTokens?
    ) throws(DaemonError) -> [PoolSettings] {
        var options = options(caFile: apns.caFile)
        options.clientCertificate = try files.clientCertificate(apns, app: app)
        try check(options, apns.endpoint, key: "apps.\(app).apns.ca_file")
        let access = APNSAccess(tokens: tokens)
        return [("production", apns.endpoint), ("sandbox", apns.sandboxEndpoint)].map { name, endpoint in
            PoolSettings(
                target: Target(id: 0, app: app, platform: PushProvider.apns.rawValue, environment: name),
                access: access,
                threads: threads,
                makeTransport: { [options, transports] in try transports.make(endpoint, options) }
            )
        }
    }

    /// FCM.
    ///
    /// - Parameters:
    ///   - fcm: the app's credentials.
    ///   - app: its name.
    /// - Returns: a pool, and the path of its requests.
    /// - Throws: ``DaemonError`` for a file that cannot be used.
    func fcmPool(_ fcm: Configuration.FCM, app: String) throws(DaemonError) -> (PoolSettings, path: [UInt8]) {
        let account = try files.serviceAccount(fcm, app: app)
        let url: HTTPSURL
        do throws(EndpointError) {
            url = try HTTPSURL(account.tokenURI)
        } catch {
            throw DaemonError(
                .configuration,
                "apps.\(app).fcm.service_account_file: token_uri: \(error)",
                hint: "Use the file as the Firebase console made it."
            )
        }
        let options = options(caFile: fcm.caFile)
        try check(options, fcm.endpoint, key: "apps.\(app).fcm.ca_file")
        let tokens = OAuthTokens(
            account: account,
            url: url,
            caFile: fcm.caFile,
            proxy: send.proxy,
            logger: logger
        )
        let pool = PoolSettings(
            target: Target(id: 0, app: app, platform: PushProvider.fcm.rawValue, environment: "production"),
            access: FCMAccess(tokens: tokens),
            threads: threads,
            makeTransport: { [transports] in try transports.make(fcm.endpoint, options) }
        )
        return (pool, Array(FCMRequest.path(project: account.projectID).utf8))
    }

    /// Web Push.
    ///
    /// - Parameters:
    ///   - webPush: the app's credentials.
    ///   - app: its name.
    /// - Returns: a pool for all services.
    /// - Throws: ``DaemonError`` for a file or a rule about hosts that cannot be used.
    func webPushPool(_ webPush: Configuration.WebPush, app: String) throws(DaemonError) -> PoolSettings {
        let key = try files.vapidKey(webPush, app: app)
        var options: MultiOriginOptions
        do throws(DestinationPolicyError) {
            let policy = try DestinationPolicy(hosts: webPush.allowedHosts, networks: webPush.allowedNetworks)
            options = MultiOriginOptions(destinations: policy)
        } catch {
            let hint = "Look at allowed_hosts and allowed_networks."
            throw DaemonError(.configuration, "apps.\(app).webpush: \(error)", hint: hint)
        }
        options.transport = self.options(caFile: webPush.caFile)
        options.transport.answerHeaders = WebPushAnswer.headers
        do throws(TransportError) {
            _ = try MultiOriginClient(options: options)
        } catch {
            throw DaemonError(.configuration, "apps.\(app).webpush.ca_file: \(error)", hint: Self.caHint)
        }
        return PoolSettings(
            target: Target(id: 0, app: app, platform: PushProvider.webpush.rawValue, environment: "production"),
            access: WebPushAccess(tokens: VAPIDTokens(key: key, subject: webPush.subject, logger: logger)),
            hasManyOrigins: true,
            threads: threads,
            makeTransport: { [options] in try MultiOriginClient(options: options) }
        )
    }

    private static let caHint = "It holds the certificates to trust, as PEM."

    /// Proves that the transport's files are of use.
    private func check(_ options: TransportOptions, _ endpoint: Endpoint, key: String) throws(DaemonError) {
        do throws(TransportError) {
            _ = try transports.make(endpoint, options)
        } catch {
            throw DaemonError(.configuration, "\(key): \(error)", hint: Self.caHint)
        }
    }
}
