internal import CPostgres
internal import Threading

/// A session of PostgreSQL, owned by one thread, which it blocks.
///
/// Not Sendable: whoever opens it keeps it. Other threads reach it through ``watch`` and a ``WakeSignal`` only.
/// Closed by ``close()`` or with its last reference. Once an error says `isConnectionLost`, open another one.
@safe
public final class PostgresConnection {
    private var handle: OpaquePointer?
    private let notices = NoticeSink()
    /// Raised by the watch, looked at by every wait.
    let abandonment = WakeSignal()
    let options: PostgresOptions
    /// How long an answer may take: while the session is set up the connect's limit, then that of the options.
    private(set) var answerLimit: Duration?
    var prepared = PreparedStatements()
    /// Memory for parameters, kept between statements.
    var binds = PostgresBinds()

    /// Watches this connection, and gives it up, from other threads.
    public let watch: PostgresWatch
    /// Process id of the server's side of the session, as `pg_stat_activity` shows it.
    public internal(set) var backendPID: Int32 = 0
    /// Whether a pooler such as PgBouncer stands in between: the process that answers is not the one that greeted.
    ///
    /// LISTEN, session locks and pinned settings do not work through a transaction pool.
    public internal(set) var isPooled = false
    /// Where writes go; nil for a standby, behind a pool, where the server does not tell, and without
    /// ``PostgresOptions/timelines``.
    var timeline: PostgresTimeline?

    /// Takes over a connection that is being made.
    init(owning handle: OpaquePointer, options: PostgresOptions) {
        unsafe self.handle = unsafe handle
        self.options = options
        answerLimit = options.connectTimeout
        watch = PostgresWatch(abandonment: abandonment)
        // The sink lives as long as this object, and PQfinish runs before it goes. libpq's own receiver prints.
        _ = unsafe PQsetNoticeReceiver(handle, receiveNotice, Unmanaged.passUnretained(notices).toOpaque())
    }

    deinit {
        close()
    }

    /// Ends the session; statements afterwards throw `connectionLost`.
    public func close() {
        guard let open = unsafe handle else { return }
        unsafe PQfinish(open)
        unsafe handle = nil
    }

    /// Gets the messages that are no errors; nil drops them.
    ///
    /// Called on this connection's thread, in the middle of a call: it must not use the connection.
    public var noticeHandler: ((PostgresNotice) -> Void)? {
        get { notices.handler }
        set { notices.handler = newValue }
    }

    /// The server's version, such as 150004 for 15.4; 0 after `close()`.
    public var serverVersion: Int {
        guard let handle = unsafe handle else { return 0 }
        return Int(unsafe PQserverVersion(handle))
    }

    /// Whether `close()` was called or the connection was found broken.
    public var isClosed: Bool {
        guard let handle = unsafe handle else { return true }
        return unsafe PQstatus(handle) == CONNECTION_BAD
    }

    /// The handle for one C call.
    ///
    /// - Throws: `connectionLost` after `close()`.
    func requireHandle() throws(PostgresError) -> OpaquePointer {
        guard let handle = unsafe handle else {
            throw PostgresError(.connectionLost, message: "the connection is closed")
        }
        return unsafe handle
    }

    /// Makes the connection ready for use once it is authenticated.
    func established() throws(PostgresError) {
        let handle = try unsafe requireHandle()
        // All waiting is done by `SocketWait`, which also minds signals and deadlines.
        guard unsafe PQsetnonblocking(handle, 1) == 0 else { throw unsafe lost(handle) }
    }

    /// The session is set up: from now on statements have their own limit.
    func settled() {
        answerLimit = options.responseTimeout
    }

    /// Lets later statements take longer until the connection counts as lost, where there is a limit at all.
    ///
    /// - Parameter limit: for an answer; a lower one than before changes nothing.
    public func allowAnswers(within limit: Duration) {
        answerLimit = answerLimit.map { max($0, limit) }
    }

    /// The error for a connection that libpq reports broken.
    func lost(_ handle: OpaquePointer) -> PostgresError {
        let message = unsafe String(serverText: PQerrorMessage(handle)).singleLine
        return PostgresError(.connectionLost, message: message.isEmpty ? "the connection is broken" : message)
    }
}

private func receiveNotice(_ context: UnsafeMutableRawPointer?, _ result: OpaquePointer?) {
    guard let context = unsafe context, let result = unsafe result else { return }
    guard let handler = unsafe Unmanaged<NoticeSink>.fromOpaque(context).takeUnretainedValue().handler else { return }
    func field(_ field: DiagnosticField) -> String? {
        unsafe PQresultErrorField(result, Int32(field.rawValue)).map { unsafe String(serverText: $0) }
    }
    let message = unsafe field(.message) ?? String(serverText: PQresultErrorMessage(result)).singleLine
    handler(
        PostgresNotice(
            severity: field(.severity) ?? "NOTICE",
            sqlState: field(.sqlState),
            message: message,
            hint: field(.hint)
        )
    )
}

extension String {
    /// libpq's messages span lines; errors and logs want one.
    var singleLine: String {
        split(whereSeparator: { $0.isNewline || $0 == "\t" }).joined(separator: " ")
    }
}
