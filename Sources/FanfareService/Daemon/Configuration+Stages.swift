internal import Foundation
internal import PostgresClient

extension Configuration {
    /// How to connect, with the password file read.
    func postgresOptions(environment: [String: String]) throws(DaemonError) -> PostgresOptions {
        var password: String?
        if let file = database.passwordFile {
            do throws(ConfigurationError) {
                password = try SecretFile(environment: environment).password(at: file, for: "database.password_file")
            } catch {
                throw DaemonError(.configuration, "\(error)", hint: "")
            }
        }
        return PostgresOptions(url: database.url.connectionString, password: password)
    }
}

extension StageSettings {
    /// Takes over what the stages need.
    init(_ configuration: Configuration, version: String) {
        batchSize = configuration.send.batch
        sessions = WorkSessions(connections: configuration.database.connections)
        unrecorded = configuration.send.unrecorded
        maximumAttempts = UInt8(clamping: configuration.retry.attempts)
        keyRetentionSeconds = configuration.retention.keys.components.seconds
        logRetentionDays = Int(configuration.retention.log.components.seconds / 86_400)
        listen = configuration.listen
        daemonName = configuration.installation ?? "fanfare"
        self.version = version
        deliveryLogging = configuration.log.deliveries
    }
}
