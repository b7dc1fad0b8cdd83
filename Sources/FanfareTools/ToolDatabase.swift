public import FanfareConfiguration
internal import FanfareCore
internal import FanfareProviders
internal import FanfareService
internal import PostgresClient

/// The database as the commands use it: one session per task, opened for it and closed after it.
///
/// What can be done stands in extensions, one file for each command. Blocks the calling thread.
public struct ToolDatabase: Sendable {
    let options: PostgresOptions
    /// What errors call the database; holds no password.
    let place: String
    /// The apps that the configuration has.
    let configuredApps: Set<String>
    /// Told what the server has to say of what it did, a line each; nil for nobody.
    public var notes: (@Sendable (String) -> Void)?

    /// Takes the place from a configuration; nothing is connected yet.
    ///
    /// - Parameters:
    ///   - configuration: checked values.
    ///   - environment: variables of the process, for `CREDENTIALS_DIRECTORY`.
    /// - Throws: ``ToolError`` for a password file that cannot be read.
    public init(_ configuration: Configuration, environment: [String: String]) throws(ToolError) {
        do throws(DaemonError) {
            options = try configuration.postgresOptions(environment: environment)
        } catch {
            throw ToolError(error)
        }
        place = configuration.databasePlace
        configuredApps = Set(configuration.apps.keys)
    }

    private var sessionOptions: PostgresOptions {
        var options = options
        if notes != nil { options.session = options.session.setting("client_min_messages", to: "notice") }
        return options
    }

    /// Opens a session, works, and closes it.
    ///
    /// - Parameters:
    ///   - since: a time that somebody typed and the work binds, if any.
    ///   - work: what to do.
    /// - Returns: what `work` returned.
    /// - Throws: ``ToolError`` for what the database says; of kind `usage` if it is that `since` is no time.
    func run<Result>(
        since: Since? = nil,
        _ work: (PostgresConnection) throws(PostgresError) -> Result
    ) throws(ToolError) -> Result {
        do throws(PostgresError) {
            let connection = try PostgresConnection.open(sessionOptions)
            defer { connection.close() }
            if let notes {
                connection.noticeHandler = { notice in
                    notes([notice.message, notice.hint].compactMap(\.self).joined(separator: "; "))
                }
            }
            return try work(connection)
        } catch {
            throw since?.mistake(in: error) ?? ToolError(error, at: place)
        }
    }
}
