internal import CPostgres
internal import Threading

/// A PostgreSQL session, owned by one thread, which it blocks.
///
/// Not Sendable: it stays on the thread that opened it. Other threads reach it only through ``watch`` and a
/// ``WakeSignal``. It is closed by ``close()`` or with its last reference. After an error with `isConnectionLost`, open
/// another one.
@safe
public final class PostgresConnection {
    private var handle: OpaquePointer?
    private let notices = NoticeSink()
    /// Raised by the watch and checked by every wait.
    let abandonment = WakeSignal()
    let options: PostgresOptions
    /// The response timeout: the connect timeout during session setup, then ``PostgresOptions/responseTimeout``.
    private(set) var answerLimit: Duration?
    var prepared = PreparedStatements()
    /// The parameter buffer, reused between statements.
    var binds = PostgresBinds()

    /// Watches this connection, and can abandon it, from other threads.
    public let watch: PostgresWatch
    /// The process id of the server's backend, as in `pg_stat_activity`.
    public internal(set) var backendPID: Int32 = 0
    /// Whether a pooler such as PgBouncer is in between: the answering backend is not the one of the connect.
    ///
    /// LISTEN, session locks and session settings do not work through a transaction pool.
    public internal(set) var isPooled = false
    /// The server and timeline to which writes go; nil for a standby, behind a pooler, if the server does not report
    /// it, and without ``PostgresOptions/timelines``.
    var timeline: PostgresTimeline?

    /// Takes ownership of a connection in progress.
    init(owning handle: OpaquePointer, options: PostgresOptions) {
        unsafe self.handle = unsafe handle
        self.options = options
        answerLimit = options.connectTimeout
        watch = PostgresWatch(abandonment: abandonment)
        // The sink lives as long as this object, and PQfinish runs before its release. libpq's default receiver prints.
        _ = unsafe PQsetNoticeReceiver(handle, receiveNotice, Unmanaged.passUnretained(notices).toOpaque())
    }

    deinit {
        close()
    }

    /// Ends the session; later statements throw `connectionLost`.
    public func close() {
        guard let open = unsafe handle else { return }
        unsafe PQfinish(open)
        unsafe handle = nil
    }

    /// The handler of messages that are not errors; nil drops them.
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

    /// Returns the handle for one C call.
    ///
    /// - Throws: `connectionLost` after `close()`.
    func requireHandle() throws(PostgresError) -> OpaquePointer {
        guard let handle = unsafe handle else {
            throw PostgresError(.connectionLost, message: "the connection is closed")
        }
        return unsafe handle
    }

    /// Prepares the connection for use after authentication.
    func established() throws(PostgresError) {
        let handle = try unsafe requireHandle()
        // `SocketWait` does all waiting, because it also watches signals and deadlines.
        guard unsafe PQsetnonblocking(handle, 1) == 0 else { throw unsafe lost(handle) }
    }

    /// Marks the end of session setup: from now on statements have their own timeout.
    func settled() {
        answerLimit = options.responseTimeout
    }

    /// Raises the response timeout of later statements, if there is one.
    ///
    /// - Parameter limit: the new timeout; one below the current timeout changes nothing.
    public func allowAnswers(within limit: Duration) {
        answerLimit = answerLimit.map { max($0, limit) }
    }

    /// Returns the error for a connection that libpq reports as broken.
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
    /// The text on one line: libpq's messages span lines, errors and logs do not.
    var singleLine: String {
        split(whereSeparator: { $0.isNewline || $0 == "\t" }).joined(separator: " ")
    }
}
