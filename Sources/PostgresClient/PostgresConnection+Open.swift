internal import CPostgres
internal import Glibc
public import Threading

extension PostgresConnection {
    /// Connects, authenticates and sets the session's settings.
    ///
    /// Of several servers it uses the first one that matches the URL's `target_session_attrs`; with
    /// ``PostgresOptions/timelines``, the one on the highest timeline.
    ///
    /// - Parameters:
    ///   - options: where and how to connect.
    ///   - stop: ends the attempt when raised, and is lowered.
    /// - Returns: a session for the calling thread.
    /// - Throws: `invalidOptions` for a URL that cannot be parsed or used, or that lacks the password the server wants;
    ///   `connectionFailed`, with the server's SQLSTATE if it answered; `cancelled` when stopped; `server` if it
    ///   rejects one of the settings; `wrongDatabase` if ``PostgresOptions/timelines`` requires it; the error of the
    ///   options' `password`.
    public static func open(
        _ options: PostgresOptions,
        stop: WakeSignal? = nil
    ) throws(PostgresError) -> PostgresConnection {
        guard let timelines = options.timelines else { return try connect(options, stop: stop) }
        return try openNewest(options, timelines, stop: stop)
    }

    /// Opens a session with the first server that libpq accepts.
    static func connect(_ options: PostgresOptions, stop: WakeSignal?) throws(PostgresError) -> PostgresConnection {
        try checkSyntax(of: options.url)
        let pairs = try options.keywords()
        // A null entry ends both lists.
        let keywords = pairs.map { Optional($0.0) } + [nil]
        let values = pairs.map { Optional($0.1) } + [nil]
        let started = unsafe withCStrings(keywords) { keywords in
            unsafe withCStrings(values) { values in unsafe PQconnectStartParams(keywords, values, 1) }
        }
        guard let started = unsafe started else {
            throw PostgresError(.connectionFailed, message: "libpq is out of memory")
        }
        let connection = unsafe PostgresConnection(owning: started, options: options)
        guard connection.abandonment.descriptor >= 0 else {
            throw PostgresError(
                .connectionFailed,
                message: "no file descriptor is left for a connection",
                hint: "Raise the limit of open files (LimitNOFILE, ulimit -n)."
            )
        }
        try connection.finishConnecting(stop: stop)
        try connection.established()
        try connection.pinSettings()
        return connection
    }

    /// Drives libpq's non-blocking connect to its end.
    private func finishConnecting(stop: WakeSignal?) throws(PostgresError) {
        let handle = try unsafe requireHandle()
        // libpq reports the SQLSTATE of a refused connect only in its most verbose message.
        _ = unsafe PQsetErrorVerbosity(handle, PQERRORS_VERBOSE)
        defer { _ = unsafe PQsetErrorVerbosity(handle, PQERRORS_DEFAULT) }
        guard unsafe PQstatus(handle) != CONNECTION_BAD else { throw unsafe connectFailure(handle) }
        let deadline = ContinuousClock.now + options.connectTimeout
        var silent: [String] = []
        // The protocol of PQconnectPoll: before the first call, act as if it had asked to write.
        var progress = PGRES_POLLING_WRITING
        while progress != PGRES_POLLING_OK {
            // Each address gets one wait: after it, the connect either leaves this state or moves to the next address.
            let isOpening = unsafe PQstatus(handle) == CONNECTION_STARTED
            let wait = SocketWait(
                socket: unsafe PQsocket(handle),
                abandon: abandonment,
                wake: stop,
                deadline: isOpening ? min(deadline, ContinuousClock.now + options.addressTimeout) : deadline
            )
            let writing = progress == PGRES_POLLING_WRITING
            switch wait(writing: writing, reading: !writing) {
            case .ready: break
            case .woken, .abandoned:
                throw PostgresError(.cancelled, message: "connecting was stopped")
            case .timedOut where isOpening && ContinuousClock.now < deadline:
                silent.append(unsafe place(handle))
                // libpq moves to the next address only after an error: the shutdown makes the pending connect fail now.
                unsafe shutdown(PQsocket(handle), Int32(SHUT_RDWR))
            case .timedOut:
                throw unsafe silence(handle)
            }
            progress = unsafe PQconnectPoll(handle)
            guard progress != PGRES_POLLING_FAILED else { throw unsafe connectFailure(handle, silent: silent) }
        }
    }

    private func silence(_ handle: OpaquePointer) -> PostgresError {
        PostgresError(
            .connectionFailed,
            message: "no connection to \(unsafe place(handle)) within \(options.connectTimeout)",
            hint: "Check host and port of the database URL, and that the server accepts connections there."
        )
    }

    /// Applies all settings in one round trip and reads which server process answers.
    private func pinSettings() throws(PostgresError) {
        let pairs = options.session.pairs + options.session.newerPairs
        let calls = pairs.indices.map { index in
            let (name, value) = ("$\(index * 2 + 1)", "$\(index * 2 + 2)")
            let call = "pg_catalog.set_config(\(name), \(value), false)"
            guard index >= options.session.pairs.count else { return call }
            return "CASE WHEN pg_catalog.current_setting(\(name), true) IS NOT NULL THEN \(call) END"
        }
        let columns = ["pg_catalog.pg_backend_pid()"] + calls
        let row = try askTimeline(columns, binds: pairs.flatMap { [$0.name, $0.value] })
        let handle = try unsafe requireHandle()
        let greeter = unsafe PQbackendPID(handle)
        backendPID = row.first?.flatMap { Int32($0) } ?? greeter
        isPooled = backendPID != greeter
        let told = PostgresTimeline(place: unsafe place(handle), columns: row.dropFirst(columns.count))
        timeline = isPooled ? nil : told
        settled()
    }

    /// Queries the columns and, in the same round trip, the timeline if the options ask for it.
    private func askTimeline(_ columns: [String], binds: [String]) throws(PostgresError) -> [String?] {
        let plain = "SELECT " + columns.joined(separator: ", ")
        if let timelines = options.timelines, !timelines.isRefused {
            do throws(PostgresError) {
                let sql = ([plain] + PostgresTimeline.columns).joined(separator: ", ")
                return try query(sql, binds: binds).rows.first ?? []
            } catch {
                // The privilege is revoked, or the function does not exist, as with some managed services.
                guard ["42501", "42883", "0A000", "55000"].contains(error.sqlState) else { throw error }
                timelines.refused()
            }
        }
        return try query(plain, binds: binds).rows.first ?? []
    }

    /// Rejects a malformed URL without quoting it, because libpq's message would include the password.
    private static func checkSyntax(of url: String) throws(PostgresError) {
        var message: UnsafeMutablePointer<CChar>?
        let parsed = unsafe PQconninfoParse(url, &message)
        let fault = unsafe message.map { unsafe String(cString: $0) }
        unsafe PQfreemem(message)
        unsafe PQconninfoFree(parsed)
        guard unsafe parsed != nil, !hasBarePassword(url) else {
            if let fault, let unknown = UnknownParameter(in: fault, about: url) { throw unknown.error }
            throw PostgresError(
                .invalidOptions,
                message: "the database URL cannot be read",
                hint: "Write postgres://user@host:port/database with special characters percent-encoded, or key=value."
            )
        }
    }

    /// Whether a URI's password contains an unescaped `@` or `/`: libpq then parses the rest as a host and would print
    /// it.
    private static func hasBarePassword(_ url: String) -> Bool {
        guard let scheme = url.firstMatch(of: /^postgres(ql)?:\/\//) else { return false }
        let location = url[scheme.range.upperBound...].prefix { $0 != "?" }
        guard let last = location.lastIndex(of: "@") else { return false }
        return location[..<last].contains { $0 == "@" || $0 == "/" }
    }

    /// Whether libpq rejects the options, so that every attempt would fail; only the message's text tells.
    private static func isMistake(_ message: String) -> Bool {
        let options = /invalid (integer value|port number|\w+ value:)|could not (match \d+|parse network address)/
        let others = /no password supplied|definition of service|root certificate file/
        // One of several hosts may be down and come back.
        let mayPass = /refused|timeout|unreachable|could not translate/
        return !message.contains(mayPass) && (message.contains(options) || message.contains(others))
    }

    private func place(_ handle: OpaquePointer) -> String {
        let host = unsafe PQhost(handle).map { unsafe String(cString: $0) } ?? ""
        let port = unsafe PQport(handle).map { unsafe String(cString: $0) } ?? ""
        return "\(host), port \(port)"
    }

    /// Returns the error of a failed connect, from libpq's verbose message: `…failed: FATAL:  3D000: database …
    /// LOCATION: …`.
    private func connectFailure(_ handle: OpaquePointer, silent: [String] = []) -> PostgresError {
        var message = unsafe String(cString: PQerrorMessage(handle))
        if let password = unsafe PQpass(handle).map({ unsafe String(cString: $0) }), !password.isEmpty {
            message = message.split(separator: password, omittingEmptySubsequences: false).joined(separator: "…")
        }
        let lines = message.split(whereSeparator: \.isNewline).filter { !$0.hasPrefix("LOCATION:") }
        message = lines.joined(separator: " ").singleLine
        var sqlState: String?
        if let match = message.firstMatch(of: #/: {2}([0-9A-Z]{5}):[ ]/#) {
            sqlState = String(match.1)
            message.replaceSubrange(match.range, with: ": ")
        }
        let places = silent.joined(separator: "; ")
        return PostgresError(
            sqlState == nil && Self.isMistake(message) ? .invalidOptions : .connectionFailed,
            sqlState: sqlState,
            message: message,
            hint: silent.isEmpty ? nil : "No answer within \(options.addressTimeout), and left therefore: \(places)."
        )
    }
}
