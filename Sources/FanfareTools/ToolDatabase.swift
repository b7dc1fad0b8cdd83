public import FanfareConfiguration
internal import FanfareCore
internal import FanfareProviders
internal import FanfareService
internal import FanfareStore
package import PostgresClient

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
    /// On whose behalf it is used; nil for whoever runs the program.
    private(set) var caller: ToolCaller?
    /// Told what the server has to say of what it did; nil for nobody.
    private var notes: (@Sendable (String) -> Void)?

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
        // One, and whoever typed the command waits for it as long as he likes.
        let limits = PostgresPoolOptions(connections: 1, acquireTimeout: nil)
        let settings = notes == nil ? [] : [Self.talkative]
        try self.init(configuration, environment: environment, limits: limits, settings: settings)
        self.notes = notes
    }

    /// Takes the place from a configuration, for many callers at once; nothing is connected yet.
    ///
    /// - Parameters:
    ///   - configuration: checked values.
    ///   - environment: variables of the process, for `CREDENTIALS_DIRECTORY`.
    ///   - limits: how many sessions there are, and how long callers wait.
    ///   - settings: what the sessions pin beside the usual, names and values.
    ///   - timelines: where other sessions of the process have been, if there are others.
    ///   - responseTimeout: after which time a session whose server says nothing is given up; nil for never.
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

    /// What sessions pin that tell what they have to say, and not only what is wrong.
    package static let talkative = (name: "client_min_messages", value: "notice")

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

    /// The same database, on somebody's behalf: what is done is done as the role of his scope, and each change is noted.
    ///
    /// - Parameter caller: on whose.
    /// - Returns: a database with the same sessions.
    public func acting(for caller: ToolCaller) -> ToolDatabase {
        var copy = self
        copy.caller = caller
        return copy
    }

    /// The same database, whose server is listened to.
    ///
    /// - Parameter notes: told what the server has to say of what is done with it, a line each, from any thread; only what is wrong
    ///   unless its sessions are ``talkative``.
    /// - Returns: a database with the same sessions.
    package func telling(_ notes: @escaping @Sendable (String) -> Void) -> ToolDatabase {
        var copy = self
        copy.notes = notes
        return copy
    }

    /// For `check`: servers that take writes side by side, once a session was opened.
    var serverItems: [CheckItem] {
        options.timelines?.split.map { [CheckItem(.fail, "servers", "\($0)", advice: $0.advice)] } ?? []
    }

    /// Goes back to whoever runs the program.
    mutating func forgetCaller() { caller = nil }

    /// The same database, used with the rights of the program.
    var asProgram: ToolDatabase {
        var copy = self
        copy.forgetCaller()
        return copy
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

    /// Changes something in one transaction, in which it is noted who did if it is done on somebody's behalf.
    ///
    /// - Parameters:
    ///   - since: a time that somebody typed and the work binds, if any.
    ///   - beforehand: comes first, with the rights of the program; what it returns, if not nil, is all there is to do.
    ///   - work: what to do; must not begin or end a transaction itself.
    ///   - afterwards: comes last, with the rights of the program.
    ///   - action: what was done; nil for nothing.
    /// - Returns: what `work` returned.
    /// - Throws: ``ToolError`` for what the database says; nothing has changed then.
    func change<Result: Sendable>(
        since: Since? = nil,
        beforehand: @escaping @Sendable (PostgresConnection) throws(PostgresError) -> Result? = { _ in nil },
        _ work: @escaping @Sendable (PostgresConnection) throws(PostgresError) -> Result,
        afterwards: @escaping @Sendable (PostgresConnection, Result) throws(PostgresError) -> Void = { _, _ in },
        action: @escaping @Sendable (Result) -> ToolAction?
    ) async throws(ToolError) -> Result {
        let (caller, notes) = (caller, notes)
        do throws(PostgresError) {
            return try await pool.run { connection throws(PostgresError) in
                connection.tell(notes)
                return try connection.transaction(as: caller?.scope.role, beforehand: beforehand, work) {
                    (connection, result) throws(PostgresError) in
                    try afterwards(connection, result)
                    guard let note = caller.flatMap({ caller in action(result).map(caller.note) }) else { return }
                    _ = try connection.runReturningCount(note)
                }
            }
        } catch {
            throw since?.mistake(in: error) ?? ToolError(error, at: place)
        }
    }
}

extension PostgresConnection {
    /// Has somebody told what the server says, until the pool has the session back.
    fileprivate func tell(_ notes: (@Sendable (String) -> Void)?) {
        guard let notes else { return }
        noticeHandler = { notes([$0.message, $0.hint].compactMap(\.self).joined(separator: "; ")) }
    }
}
