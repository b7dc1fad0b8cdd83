public import FanfareConfiguration
package import FanfareCore
internal import FanfareProviders
internal import FanfareRecords
internal import FanfareService
package import PostgresClient

/// The database as the commands use it: one session, opened on first use and kept for later calls.
///
/// The operations are in extensions, one file per command. Calls suspend and never block the thread; concurrent calls
/// wait for each other. Close it when done.
public struct ToolDatabase: Sendable {
    let options: PostgresOptions
    /// The database's name in errors; holds no password.
    let place: String
    /// The apps of the configuration.
    let configuredApps: Set<String>
    private let pool: PostgresPool
    /// The client that sent the request; nil if the command line uses the database.
    private(set) var caller: ToolCaller?
    /// Receives the server's notices; nil to drop them.
    private var notes: (@Sendable (String) -> Void)?

    /// Reads the connection parameters from a configuration; connects to nothing yet.
    ///
    /// - Parameters:
    ///   - configuration: checked values.
    ///   - environment: variables of the process, for `CREDENTIALS_DIRECTORY`.
    ///   - notes: receives the server's notices, a line each, on any thread; nil to drop them.
    /// - Throws: ``ToolError`` for a password file that cannot be read.
    public init(
        _ configuration: Configuration,
        environment: [String: String],
        notes: (@Sendable (String) -> Void)? = nil
    ) throws(ToolError) {
        // One session, and no limit on the wait for it: a command waits until its user interrupts it.
        let limits = PostgresPoolOptions(connections: 1, acquireTimeout: nil)
        let settings = notes == nil ? [] : [Self.talkative]
        try self.init(configuration, environment: environment, limits: limits, settings: settings)
        self.notes = notes
    }

    /// Reads the connection parameters for many concurrent callers; connects to nothing yet.
    ///
    /// - Parameters:
    ///   - configuration: checked values.
    ///   - environment: variables of the process, for `CREDENTIALS_DIRECTORY`.
    ///   - limits: the number of sessions, and how long callers wait for one.
    ///   - settings: additional session settings, names and values.
    ///   - timelines: the timelines of the process's other sessions, if there are others.
    ///   - responseTimeout: the time without an answer after which a session is closed; nil for no limit.
    /// - Throws: ``ToolError`` for a password file that cannot be read.
    package init(
        _ configuration: Configuration,
        environment: [String: String],
        limits: PostgresPoolOptions,
        settings: [(name: String, value: String)],
        timelines: PostgresTimelines? = nil,
        responseTimeout: Duration? = nil
    ) throws(ToolError) {
        do throws(DaemonError) {
            let timelines = timelines ?? PostgresTimelines()
            var options = try configuration.postgresOptions(environment: environment, timelines: timelines)
            options.session = settings.reduce(options.session) { $0.setting($1.name, to: $1.value) }
            options.responseTimeout = responseTimeout
            self.options = options
        } catch {
            throw ToolError(error)
        }
        place = configuration.databasePlace
        configuredApps = Set(configuration.apps.keys)
        pool = PostgresPool(options, limits: limits)
    }

    /// The session setting that makes the server send notices, and not only warnings.
    package static let talkative = (name: "client_min_messages", value: "notice")

    /// Runs a closure with the database, and closes its session before returning.
    ///
    /// A process must not exit while a thread says goodbye to the server, because exit handlers tear down TLS under it.
    ///
    /// - Parameter work: receives this database, which cannot be used afterwards.
    /// - Returns: what `work` returns.
    /// - Throws: errors of `work`.
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

    /// Returns the same database for use on a client's behalf: statements run as the role of its scope, and each change
    /// is audited.
    ///
    /// - Parameter caller: the client.
    /// - Returns: a database with the same sessions.
    public func acting(for caller: ToolCaller) -> ToolDatabase {
        var copy = self
        copy.caller = caller
        return copy
    }

    /// Returns the same database with a receiver of the server's notices.
    ///
    /// - Parameter notes: receives the server's messages, a line each, on any thread; only warnings unless its sessions
    ///   are ``talkative``.
    /// - Returns: a database with the same sessions.
    package func telling(_ notes: @escaping @Sendable (String) -> Void) -> ToolDatabase {
        var copy = self
        copy.notes = notes
        return copy
    }

    /// The items for `check` about servers that accept writes at the same time; known after a session was opened.
    var serverItems: [CheckItem] {
        options.timelines?.split.map { [CheckItem(.fail, "servers", "\($0)", advice: $0.advice)] } ?? []
    }

    /// The same database, with the rights of the program.
    package var asProgram: ToolDatabase {
        var copy = self
        copy.caller = nil
        return copy
    }

    /// Closes the session; later calls throw.
    public func close() async {
        await pool.close()
    }

    /// Runs a closure on the session.
    ///
    /// - Parameters:
    ///   - since: a typed time that the closure binds, if any.
    ///   - work: the closure; runs on the session's thread, and leaves the session as it found it, or closes it.
    /// - Returns: the result of `work`.
    /// - Throws: ``ToolError`` for database errors; of kind `usage` if `since` is not a valid time.
    package func run<Result: Sendable>(
        since: Since? = nil,
        _ work: @escaping @Sendable (PostgresConnection) throws(PostgresError) -> Result
    ) async throws(ToolError) -> Result {
        do throws(PostgresError) {
            let (role, notes) = (caller?.scope.role, notes)
            return try await pool.run { connection throws(PostgresError) in
                connection.tell(notes)
                guard let role else { return try work(connection) }
                return try connection.run(as: role, work)
            }
        } catch {
            throw since?.mistake(in: error) ?? ToolError(error, at: place)
        }
    }

    /// Runs one statement on the session.
    ///
    /// - Parameter statement: the statement with its values.
    /// - Returns: its rows.
    /// - Throws: ``ToolError`` for database errors.
    package func rows<Statement: BoundStatement>(
        of statement: Statement
    ) async throws(ToolError) -> [Statement.Row] where Statement.Row: Sendable {
        try await run { connection throws(PostgresError) in try connection.run(statement) }
    }
}

extension PostgresConnection {
    /// Forwards the server's notices to a receiver, until the session returns to the pool.
    fileprivate func tell(_ notes: (@Sendable (String) -> Void)?) {
        guard let notes else { return }
        noticeHandler = { notes([$0.message, $0.hint].compactMap(\.self).joined(separator: "; ")) }
    }
}
