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
