package import FanfareConfiguration
internal import FanfareCore
package import FanfareProviders
internal import FanfareStore
internal import Foundation
package import Logging
internal import PushCrypto

/// The senders of one app: a pool for each provider and environment for which it has credentials.
///
/// Instances are compared by identity: the same object means that nothing about the app has changed.
package final class AppSenders: Sendable {
    package let identity: AppIdentity
    package let pools: [PoolSettings]
    private let material: Material
    private let providers: [PushProvider: ProviderSenders]

    /// Everything that an app's senders are built from; equal values build equal senders.
    private struct Material: Equatable {
        let app: Configuration.App
        /// SHA-256 of each file that the configuration names, by path.
        let files: [String: [UInt8]]

        init(_ app: Configuration.App) {
            var app = app
            // Senders do not use `phones`, so a change there does not replace them.
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

    /// Reads the credential files of all apps and describes their pools.
    ///
    /// - Parameters:
    ///   - apps: the apps of the configuration.
    ///   - before: the senders in use. An app that is unchanged, files included, keeps its object.
    ///   - send: the numbers of threads, connections and streams.
    ///   - environment: the environment variables of the process.
    ///   - logger: receives a line about each credential that cannot be renewed.
    /// - Returns: the senders by app, without apps that have no credentials.
    /// - Throws: ``DaemonError`` if a file cannot be used; nothing has changed then.
    package static func read(
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
