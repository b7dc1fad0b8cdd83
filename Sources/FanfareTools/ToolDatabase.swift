public import FanfareConfiguration
internal import FanfareCore
internal import FanfareProviders
internal import FanfareService
internal import PostgresClient

/// The database as the commands use it: one session, opened when it is first needed and kept for what comes after.
///
/// What can be done stands in extensions, one file for each command. Its calls suspend and never block the thread; several at
/// once wait for each other. Close it when done.
public struct ToolDatabase: Sendable {
    let options: PostgresOptions
    /// What errors call the database; holds no password.
    let place: String
    /// The apps that the configuration has.
    let configuredApps: Set<String>
    private let pool: PostgresPool

    /// Takes the place from a configuration; nothing is connected yet.
    ///
    /// - Parameters:
    ///   - configuration: checked values.
    ///   - environment: variables of the process, for `CREDENTIALS_DIRECTORY`.
    ///   - notes: told what the server has to say of what it did, a line each, from any thread; nil for nobody.
    /// - Throws: ``ToolError`` for a password file that cannot be read.
    public init(
        _ configuration: Configuration,
        environment: [String: String],
        notes: (@Sendable (String) -> Void)? = nil
    ) throws(ToolError) {
        do throws(DaemonError) {
            options = try configuration.postgresOptions(environment: environment)
        } catch {
            throw ToolError(error)
        }
        place = configuration.databasePlace
        configuredApps = Set(configuration.apps.keys)
        var sessionOptions = options
        var notices: (@Sendable (PostgresNotice) -> Void)?
        if let notes {
            sessionOptions.session = options.session.setting("client_min_messages", to: "notice")
            notices = { notice in notes([notice.message, notice.hint].compactMap(\.self).joined(separator: "; ")) }
        }
        // One, and whoever typed the command waits for it as long as he likes.
        let limits = PostgresPoolOptions(connections: 1, acquireTimeout: nil)
        pool = PostgresPool(sessionOptions, limits: limits, notices: notices)
    }

    /// Does something with the database, and has its session ended before it returns.
    ///
    /// A process must not end while a thread takes leave of the server: TLS is taken down under it.
    ///
    /// - Parameter work: gets this database, which is of no use afterwards.
    /// - Returns: what `work` returns.
    /// - Throws: what `work` throws.
    public func whileOpen<Value, Failure: Error>(
        _ work: (ToolDatabase) async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let outcome: Result<Value, Failure>
        do throws(Failure) {
            outcome = .success(try await work(self))
        } catch {
            outcome = .failure(error)
        }
        await close()
        return try outcome.get()
    }

    /// Ends the session; later calls throw.
    public func close() async {
        await pool.close()
    }

    /// Works on the session.
    ///
    /// - Parameters:
    ///   - since: a time that somebody typed and the work binds, if any.
    ///   - work: what to do; runs on the session's thread, and leaves the session as it found it, or closes it.
    /// - Returns: what `work` returned.
    /// - Throws: ``ToolError`` for what the database says; of kind `usage` if it is that `since` is no time.
    func run<Result: Sendable>(
        since: Since? = nil,
        _ work: @escaping @Sendable (PostgresConnection) throws(PostgresError) -> Result
    ) async throws(ToolError) -> Result {
        do throws(PostgresError) {
            return try await pool.run(work)
        } catch {
            throw since?.mistake(in: error) ?? ToolError(error, at: place)
        }
    }
}
