internal import FanfareConfiguration
internal import FanfareCore
internal import Foundation
internal import Logging
internal import PushCrypto
internal import PushTransport

/// What an app's credentials become: pools for each provider and environment.
///
/// Compared by identity: the same object means that nothing about the app has changed.
final class AppSenders: Sendable {
    let identity: AppIdentity
    let pools: [PoolSettings]
    private let material: Material
    /// Nil unless APNs pushes are signed.
    private let apnsTokens: ProviderTokens?

    /// All that an app's senders are made of: the same again makes the same senders.
    private struct Material: Equatable {
        let app: Configuration.App
        /// SHA-256 of each file that the configuration names, by path.
        let files: [String: [UInt8]]

        init(_ app: Configuration.App) {
            self.app = app
            let paths: [String?] = [
                app.apns?.keyFile, app.apns?.certificateFile, app.apns?.certificatePasswordFile, app.apns?.caFile,
                app.fcm?.serviceAccountFile, app.fcm?.caFile, app.webPush?.vapidKeyFile, app.webPush?.caFile,
            ]
            var files: [String: [UInt8]] = [:]
            for case let path? in paths {
                files[path] = FileManager.default.contents(atPath: path).map { sha256(Array($0)) }
            }
            self.files = files
        }

        /// Whether APNs takes the tokens of both for the same: it refuses a key's token that changes within twenty
        /// minutes, whatever else about the app has changed.
        func hasSameIssuer(as other: Material) -> Bool {
            guard let own = app.apns, let others = other.app.apns else { return false }
            return own.keyID == others.keyID && own.teamID == others.teamID
                && files[own.keyFile] == other.files[others.keyFile]
        }
    }

    private init(
        _ name: String,
        material: Material,
        before: AppSenders?,
        parts: SenderParts
    ) throws(DaemonError) {
        self.material = material
        var identity = AppIdentity()
        var pools: [PoolSettings] = []
        var tokens: ProviderTokens?
        if let apns = material.app.apns {
            identity.topic = apns.topic
            if apns.certificateFile == nil {
                let kept = before.flatMap { $0.material.hasSameIssuer(as: material) ? $0.apnsTokens : nil }
                tokens = if let kept { kept } else { try parts.files.providerTokens(apns, app: name) }
            }
            pools += try parts.apnsPools(apns, app: name, tokens: tokens)
        }
        if let fcm = material.app.fcm {
            let (pool, path) = try parts.fcmPool(fcm, app: name)
            pools.append(pool)
            identity.fcmPath = path
        }
        if let webPush = material.app.webPush {
            pools.append(try parts.webPushPool(webPush, app: name))
        }
        self.identity = identity
        self.pools = pools
        apnsTokens = tokens
    }

    /// Reads all apps' files and describes their pools.
    ///
    /// - Parameters:
    ///   - apps: from the configuration.
    ///   - before: what is in force. An app that is as it was, files included, stays the same object.
    ///   - send: threads, connections and streams.
    ///   - environment: variables of the process.
    ///   - logger: told of credentials that cannot be renewed.
    /// - Returns: by app; those without credentials are missing.
    /// - Throws: ``DaemonError`` for a file that cannot be used; nothing has happened then.
    static func read(
        _ apps: [String: Configuration.App],
        before: [String: AppSenders] = [:],
        send: Configuration.Send,
        environment: [String: String],
        logger: Logger
    ) throws(DaemonError) -> [String: AppSenders] {
        let parts = SenderParts(files: CredentialFiles(environment: environment), send: send, logger: logger)
        var all: [String: AppSenders] = [:]
        for (name, app) in apps.sorted(by: { $0.key < $1.key }) {
            let material = Material(app)
            let fresh = try AppSenders(name, material: material, before: before[name], parts: parts)
            guard !fresh.pools.isEmpty else { continue }
            if let old = before[name], old.material == material {
                all[name] = old
            } else {
                all[name] = fresh
            }
        }
        return all
    }
}
