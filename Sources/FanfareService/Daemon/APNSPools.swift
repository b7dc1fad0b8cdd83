internal import FanfareCore
internal import HTTP2Client
internal import PushCrypto
internal import PushTransport

/// What an app's APNs credentials become: a pool for each environment, one token for both.
enum APNSPools {
    /// Reads the key and describes the pools.
    ///
    /// - Parameters:
    ///   - app: its name.
    ///   - credentials: from the configuration.
    ///   - send: threads, connections and streams.
    ///   - environment: variables of the process.
    /// - Returns: production first, then the sandbox environment.
    /// - Throws: ``DaemonError`` for a key that cannot be used.
    static func settings(
        app: String,
        _ credentials: Configuration.APNS,
        send: Configuration.Send,
        environment: [String: String]
    ) throws(DaemonError) -> [PoolSettings] {
        let tokens = ProviderTokens(
            key: try key(of: credentials, app: app, environment: environment),
            keyID: credentials.keyID,
            teamID: credentials.teamID
        )
        let threads = min(send.threads, send.connections)
        return [("production", credentials.endpoint), ("sandbox", credentials.sandboxEndpoint)].map {
            name,
            endpoint in
            var options = TransportOptions()
            options.connections = max(1, send.connections / threads)
            options.streams = send.streams
            options.caFile = credentials.caFile
            return PoolSettings(
                target: Target(id: 0, app: app, platform: "apns", environment: name),
                tokens: tokens,
                threads: threads,
                makeTransport: { [options] in try HTTP2Client(endpoint: endpoint, options: options) }
            )
        }
    }

    /// Reads an app's signing key.
    static func key(
        of credentials: Configuration.APNS,
        app: String,
        environment: [String: String]
    ) throws(DaemonError) -> SigningKey {
        let guarded = ["/run/secrets"] + [environment["CREDENTIALS_DIRECTORY"]].compactMap { $0 }
        do throws(KeyError) {
            return try SigningKey.load(pemFile: credentials.keyFile, expecting: .es256, guardedFolders: guarded)
        } catch {
            throw DaemonError(
                .configuration,
                "apps.\(app).apns.key_file: \(error)",
                hint: "Apple's developer site makes the .p8 file."
            )
        }
    }
}
