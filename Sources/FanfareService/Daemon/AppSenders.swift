internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareProviders
internal import FanfareStore
internal import Foundation
internal import Logging
internal import PushCrypto

/// What an app's credentials become: pools for each provider and environment.
///
/// Compared by identity: the same object means that nothing about the app has changed.
final class AppSenders: Sendable {
    let identity: AppIdentity
    let pools: [PoolSettings]
    private let material: Material
    private let providers: [PushProvider: ProviderSenders]

    /// All that an app's senders are made of: the same again makes the same senders.
    private struct Material: Equatable {
        let app: Configuration.App
        /// SHA-256 of each file that the configuration names, by path.
        let files: [String: [UInt8]]

        init(_ app: Configuration.App) {
            var app = app
            // What phones come with is nothing to who sends.
            app.phones = .init()
            self.app = app
            var files: [String: [UInt8]] = [:]
            for path in app.providers.values.flatMap(\.files) {
                files[path] = FileManager.default.contents(atPath: path).map { sha256(Array($0)) }
            }
            self.files = files
        }
    }

    private init(
        _ name: String,
        material: Material,
        before: AppSenders?,
        send: Configuration.Send,
        files: CredentialFiles,
        logger: Logger
    ) throws(DaemonError) {
        self.material = material
        let parts = SenderParts(files: files, send: send, logger: logger, digests: material.files)
        var all: [PushProvider: ProviderSenders] = [:]
        var pools: [PoolSettings] = []
        for provider in Providers.all {
            let kept = before?.providers[provider.name]
            guard let senders = try provider.senders(of: material.app, named: name, parts: parts, before: kept)
            else { continue }
            all[provider.name] = senders
            pools += senders.pools.map { pool in
                let provider = provider.name.rawValue
                let target = Target(id: 0, app: name, provider: provider, environment: pool.environment)
                return PoolSettings(target: target, pool: pool, threads: min(send.threads, send.connections))
            }
        }
        providers = all
        self.pools = pools
        identity = all.mapValues(\.identity)
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
        let files = CredentialFiles(environment: environment)
        var all: [String: AppSenders] = [:]
        for (name, app) in apps.sorted(by: { $0.key < $1.key }) {
            let material = Material(app)
            let fresh = try AppSenders(
                name,
                material: material,
                before: before[name],
                send: send,
                files: files,
                logger: logger
            )
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
