internal import FanfareConfiguration
internal import FanfareConsoleView
internal import FanfareCore
internal import FanfareDaemon
internal import FanfareHTTP
internal import FanfareRecords
internal import FanfareStore
internal import FanfareTools
internal import PostgresClient

/// One request for a page: the session and the address.
struct Visit: Sendable {
    /// The request; for an action, its form takes the place of the query.
    var call: Call
    let session: ConsoleSession
    /// The database with the rights of scope `reader`, in the viewer's name.
    let database: ToolDatabase
    /// The state of the daemons, and the database's time.
    let status: StatusReport
    /// The queries that pages share.
    let queries: ConsoleQueries
    /// Whether only the parts that the stream updates are rendered; other data need not be read.
    let isUpdate: Bool
    /// Whether a stream updates the page.
    private let isStreamed: Bool

    /// Authenticates the viewer.
    ///
    /// - Parameters:
    ///   - call: the request.
    ///   - queries: the queries that pages share.
    ///   - isStreamed: whether a stream updates the page.
    /// - Throws: ``LoginNeeded``; a ``Problem`` if the token does not allow it; ``ToolError`` if the query fails.
    init(_ call: Call, _ queries: ConsoleQueries, isStreamed: Bool = false) async throws {
        guard let session = try await ConsoleSession.find(call) else { throw LoginNeeded() }
        try await self.init(call, queries, isStreamed: isStreamed, session: session, isUpdate: false)
    }

    /// Creates the visit of a stream's update.
    init(
        _ call: Call,
        _ queries: ConsoleQueries,
        isStreamed: Bool,
        session: ConsoleSession,
        isUpdate: Bool = true
    ) async throws {
        let status = try await queries.status(in: call.context.database)
        guard session.token.budget.take() else {
            throw Problem(.tooMany, "rate limit exceeded", hint: "Wait a second.", retryAfter: 1)
        }
        guard session.may(.reader) else {
            throw Problem(
                .forbidden,
                "token \(session.token.row.id) lacks the scope reader",
                hint: "Create one with `fanfare tokens create NAME --scope reader` and log in with it."
            )
        }
        (self.call, self.queries, self.isStreamed) = (call, queries, isStreamed)
        (self.session, self.status, self.isUpdate) = (session, status, isUpdate)
        database = call.context.database.acting(
            for: ToolCaller(
                scope: .reader,
                actor: session.token.row.name,
                tokenID: session.token.row.id,
                requestID: call.requestID
            )
        )
    }

    /// The database's time, in microseconds since 1970.
    var now: Int64 { status.now.microseconds }

    /// Returns a filter from the address.
    ///
    /// - Parameter name: the filter's name.
    /// - Returns: the value; nil if it is missing or empty.
    func filter(_ name: String) -> String? {
        guard let text = call.query[name], !text.isEmpty, !text.contains("\0") else { return nil }
        return text
    }

    /// The time that the address asks for; an hour if it names none or an unknown one.
    var span: PageSpan { filter("span").flatMap(PageSpan.init) ?? .hour }

    /// Returns the page's address with other filters.
    ///
    /// - Parameter changes: the new values by name; nil removes a filter. Any change removes `after` and the code of
    ///   the last action.
    /// - Returns: the path and query.
    func address(_ changes: [String: String?]) -> String {
        var query = call.query.filter { !$0.value.isEmpty }
        (query["after"], query["did"]) = (nil, nil)
        for (name, value) in changes { query[name] = value }
        return PageAddress(call.path, query).text
    }

    /// Returns the frame around the page.
    ///
    /// - Parameters:
    ///   - title: the page's title.
    ///   - parent: the page above this one.
    ///   - isLive: whether the stream may update the page; false for one whose data do not change.
    ///   - search: the text in the search field.
    /// - Returns: the frame.
    func frame(_ title: String, parent: PageLink? = nil, isLive: Bool = true, search: String = "") -> Frame {
        let page = PageAddress(call.path, call.query).text
        return Frame(
            base: call.context.basePath,
            title: title,
            parent: parent,
            pages: NavigationItem.all(current: call.path, status),
            installation: status.installation.name,
            viewer: session.viewer,
            search: search,
            assets: ConsoleAssets.version,
            stream: isLive && isStreamed ? PageAddress("/console/stream", ["page": page]).text : nil,
            notice: Notice(done: call.query["did"]),
            served: Moment(now, .second),
            version: call.context.daemon.version
        )
    }
}

/// The error for a request without a session: the browser is redirected to the login.
struct LoginNeeded: Error {}

extension Visit {
    /// Opens a position that this console sealed into the page's address.
    ///
    /// - Parameters:
    ///   - list: the list that the position belongs to.
    ///   - count: how many numbers a position has.
    ///   - name: the parameter's name in the address.
    /// - Returns: the numbers; nil if the address has none.
    /// - Throws: a ``Problem`` for a value that this console did not seal.
    func place(in list: String, count: Int = 1, _ name: String = "after") async throws -> [Int64]? {
        guard let text = filter(name) else { return nil }
        return try await call.context.cursors.open(text, count: count, of: list)
    }

    /// Returns the page's address with a sealed position.
    ///
    /// - Parameters:
    ///   - place: the position; nil for none.
    ///   - list: the list that the position belongs to.
    ///   - name: the parameter's name in the address.
    /// - Returns: the path and query; nil without a position.
    /// - Throws: ``ToolError`` if the database cannot be asked.
    func address(of place: [Int64]?, in list: String, _ name: String = "after") async throws -> String? {
        try await sealed(place, in: list).map { address([name: $0]) }
    }

    /// Seals a position for an address or a form.
    ///
    /// - Parameters:
    ///   - place: the position; nil for none.
    ///   - list: the list that the position belongs to.
    /// - Returns: the sealed position; nil without one.
    /// - Throws: ``ToolError`` if the database cannot be asked.
    func sealed(_ place: [Int64]?, in list: String) async throws -> String? {
        guard let place else { return nil }
        return try await call.context.cursors.seal(place, of: list)
    }
}

extension ConsoleUse {
    /// The scope that the token needs.
    var scope: TokenScope {
        switch self {
        case .read: .reader
        case .cancel: .emitter
        case .replay, .restore, .start, .test, .pause, .resume, .abort: .operator
        }
    }
}

extension Visit {
    /// Returns why the viewer may not do something.
    ///
    /// - Parameter use: the use.
    /// - Returns: the reason; nil if the viewer may.
    func refusal(_ use: ConsoleUse) -> String? {
        guard isThere(use) else { return "not done from this console" }
        return session.may(use.scope) ? nil : "needs the scope \(use.scope.rawValue)"
    }

    /// Rejects a viewer without the right.
    ///
    /// - Parameter use: the use.
    /// - Throws: a ``Problem`` if the viewer may not.
    func require(_ use: ConsoleUse) throws {
        guard isThere(use) else {
            throw Problem(
                .forbidden,
                "this console does not \(use.rawValue)",
                hint:
                    "`api.console` in the daemon's configuration limits it; the CLI and the HTTP API are not limited."
            )
        }
        guard session.may(use.scope) else {
            let scope = use.scope.rawValue
            throw Problem(
                .forbidden,
                "token \(session.token.row.id) lacks the scope \(scope)",
                hint: "Log in with a token that has it: `fanfare tokens create NAME --scope reader --scope \(scope)`."
            )
        }
    }

    private func isThere(_ use: ConsoleUse) -> Bool {
        call.context.daemon.configuration().api.console.contains(use)
    }
}

extension String {
    /// The text without leading and trailing white space; nil if nothing is left.
    var trimmed: String? {
        let text = trimmingPrefix { $0.isWhitespace }
        guard let last = text.lastIndex(where: { !$0.isWhitespace }) else { return nil }
        return String(text[...last])
    }
}
