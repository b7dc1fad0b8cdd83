internal import FanfareCore
internal import Foundation
internal import HTTP2Client
internal import PushCrypto
internal import PushTransport

/// What an app's APNs credentials become: a pool for each environment, one token for both.
///
/// Compared by identity: the same object means that nothing about the app has changed.
final class AppSenders: Sendable {
    let credentials: Configuration.APNS
    /// Production first, then the sandbox environment.
    let pools: [PoolSettings]
    private let key: SigningKey
    private let caDigest: [UInt8]?
    private let tokens: ProviderTokens

    private init(
        app: String,
        _ credentials: Configuration.APNS,
        key: SigningKey,
        caDigest: [UInt8]?,
        tokens: ProviderTokens,
        send: Configuration.Send
    ) {
        self.credentials = credentials
        self.key = key
        self.caDigest = caDigest
        self.tokens = tokens
        let threads = min(send.threads, send.connections)
        pools = [("production", credentials.endpoint), ("sandbox", credentials.sandboxEndpoint)].map {
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

    /// Reads all apps' key and CA files and describes their pools.
    ///
    /// - Parameters:
    ///   - apps: from the configuration.
    ///   - before: what is in force. An app that is as it was, files included, stays the same object.
    ///   - send: threads, connections and streams.
    ///   - environment: variables of the process.
    /// - Returns: by app; those without credentials are missing.
    /// - Throws: ``DaemonError`` for a file that cannot be used; nothing has happened then.
    static func read(
        _ apps: [String: Configuration.App],
        before: [String: AppSenders] = [:],
        send: Configuration.Send,
        environment: [String: String]
    ) throws(DaemonError) -> [String: AppSenders] {
        var all: [String: AppSenders] = [:]
        for (name, app) in apps.sorted(by: { $0.key < $1.key }) {
            guard let credentials = app.apns else { continue }
            let key = try key(of: credentials, app: name, environment: environment)
            let caDigest = try digestOfCA(of: credentials, app: name)
            let old = before[name]
            let isSameKey = old.map { $0.key.isSameKey(as: key) } ?? false
            if let old, isSameKey, old.credentials == credentials, old.caDigest == caDigest {
                all[name] = old
                continue
            }
            // APNs refuses a key's token that changes within twenty minutes, whatever else about the app has changed.
            let isSameIssuer =
                isSameKey && old?.credentials.keyID == credentials.keyID
                && old?.credentials.teamID == credentials.teamID
            let kept = isSameIssuer ? old?.tokens : nil
            all[name] = AppSenders(
                app: name,
                credentials,
                key: key,
                caDigest: caDigest,
                tokens: kept ?? ProviderTokens(key: key, keyID: credentials.keyID, teamID: credentials.teamID),
                send: send
            )
        }
        return all
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

    /// Proves that the CA file is of use, and remembers what is in it.
    private static func digestOfCA(
        of credentials: Configuration.APNS,
        app: String
    ) throws(DaemonError) -> [UInt8]? {
        guard let file = credentials.caFile else { return nil }
        var options = TransportOptions()
        options.caFile = file
        do throws(TransportError) {
            _ = try HTTP2Client(endpoint: credentials.endpoint, options: options)
        } catch {
            throw DaemonError(
                .configuration,
                "apps.\(app).apns.ca_file: \(error)",
                hint: "It holds the certificates to trust, as PEM."
            )
        }
        return FileManager.default.contents(atPath: file).map { sha256(Array($0)) }
    }
}
