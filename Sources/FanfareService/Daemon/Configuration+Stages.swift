package import FanfareConfiguration
package import FanfareProviders
internal import FanfareStages
internal import Foundation
package import PostgresClient

extension Configuration {
    /// Returns the connection options; the password file is read at each connect, since passwords change while a daemon
    /// runs.
    ///
    /// - Parameters:
    ///   - environment: the environment variables of the process, for `CREDENTIALS_DIRECTORY`.
    ///   - timelines: the timelines that other sessions of the process have seen.
    /// - Returns: the options without session settings.
    /// - Throws: ``DaemonError`` if the password file cannot be read now.
    package func postgresOptions(
        environment: [String: String],
        timelines: PostgresTimelines = PostgresTimelines()
    ) throws(DaemonError) -> PostgresOptions {
        var options = PostgresOptions(url: database.url.connectionString, timelines: timelines)
        guard let file = database.passwordFile else { return options }
        let read = { @Sendable () throws(ConfigurationError) -> String in
            try PasswordFile(environment: environment).password(at: file, for: "database.password_file")
        }
        do throws(ConfigurationError) {
            _ = try read()
        } catch {
            throw DaemonError(.configuration, "\(error)", hint: error.mend)
        }
        options.password = { () throws(PostgresError) -> String in
            do throws(ConfigurationError) {
                return try read()
            } catch {
                throw PostgresError(.connectionFailed, message: "\(error)")
            }
        }
        return options
    }
}

extension StageSettings {
    /// Copies the values that the stages need.
    init(_ configuration: Configuration, version: String) {
        self.init()
        batchSize = configuration.send.batch
        sessions = WorkSessions(connections: configuration.database.connections)
        unrecorded = configuration.send.unrecorded
        maximumAttempts = UInt8(clamping: configuration.retry.attempts)
        keyRetentionSeconds = configuration.retention.keys.components.seconds
        logRetentionDays = Int(configuration.retention.log.components.seconds / 86_400)
        reportRetentionDays = Int(configuration.retention.reports.components.seconds / 86_400)
        listen = configuration.listen
        daemonName = configuration.installation ?? "fanfare"
        self.version = version
        deliveryLogging = configuration.log.deliveries
        events = configuration.apps.compactMapValues(\.events)
    }
}
