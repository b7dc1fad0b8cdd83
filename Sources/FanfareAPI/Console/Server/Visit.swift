internal import FanfareCore
internal import FanfareStore
internal import FanfareTools
internal import PostgresClient

/// One look at a page: by whom, at which address.
struct Visit: Sendable {
    /// The request; of an action that is done, its form in the place of its query.
    var call: Call
    let session: ConsoleSession
    /// The database with a reader's rights, in the name of who looks.
    let database: ToolDatabase
    /// What the daemons do, and the database's clock.
    let status: StatusReport
    /// Whether only the parts that are sent again are shown: what else there is need not be looked up.
    let isUpdate: Bool
    private let kind: LivePage?

    /// Finds out who looks.
    ///
    /// - Parameters:
    ///   - call: the request.
    ///   - kind: what is looked at; nil for what is not sent again.
    /// - Throws: ``LoginNeeded``; a ``Problem`` where the token does not allow it; ``ToolError`` if the database cannot be asked.
    init(_ call: Call, kind: LivePage?) async throws {
        guard let session = try await ConsoleSession.find(call) else { throw LoginNeeded() }
        try self.init(call, kind: kind, session: session, status: await call.context.status(), isUpdate: false)
    }

    /// Looks again, for the stream of a page.
    init(_ call: Call, kind: LivePage?, session: ConsoleSession, status: StatusReport, isUpdate: Bool = true) throws {
        guard session.token.budget.take() else {
            var problem = Problem(.tooMany, "rate limit exceeded", hint: "Wait a second.")
            problem.retryAfter = 1
            throw problem
        }
        guard session.may(.reader) else {
            throw Problem(
                .forbidden,
                "token \(session.token.row.id) lacks the scope reader",
                hint: "Create one with `fanfare tokens create NAME --scope reader` and log in with it."
            )
        }
        (self.call, self.kind, self.session, self.status) = (call, kind, session, status)
        self.isUpdate = isUpdate
        database = call.context.database.acting(
            for: ToolCaller(
                scope: .reader,
                actor: session.token.row.name,
                tokenID: session.token.row.id,
                requestID: call.requestID
            )
        )
    }

    /// When it is, by the database's clock, in microseconds since 1970.
    var now: Int64 { status.now.microseconds }

    /// A filter of the address.
    ///
    /// - Parameter name: which.
    /// - Returns: nil where it is missing or empty.
    func filter(_ name: String) -> String? {
        guard let text = call.query[name], !text.isEmpty, !text.contains("\0") else { return nil }
        return text
    }

    /// The page's address with other filters.
    ///
    /// - Parameter changes: by name; nil takes one away. `after` goes with any of them, and what an action did.
    /// - Returns: path and query.
    func address(_ changes: [String: String?]) -> String {
        var query = call.query.filter { !$0.value.isEmpty }
        (query["after"], query["did"]) = (nil, nil)
        for (name, value) in changes { query[name] = value }
        return PageAddress(call.path, query).text
    }

    /// What stands around the page.
    ///
    /// - Parameters:
    ///   - title: its name.
    ///   - parent: where one comes from.
    ///   - isLive: whether its parts are there, which are sent again.
    ///   - search: what stands in the search field.
    /// - Returns: the frame.
    func frame(_ title: String, parent: PageLink? = nil, isLive: Bool = true, search: String = "") -> Frame {
        var stream: String?
        if isLive, kind?.parts.isEmpty == false {
            stream = PageAddress("/console/stream", ["page": PageAddress(call.path, call.query).text]).text
        }
        return Frame(
            base: call.context.basePath,
            title: title,
            parent: parent,
            pages: NavigationItem.all(current: call.path, status),
            installation: status.installation.name,
            viewer: session.viewer,
            search: search,
            assets: ConsoleAssets.version,
            stream: stream,
            notice: Notice(done: call.query["did"]),
            served: Moment(now, .second),
            version: call.context.daemon.version
        )
    }
}

/// There is no session: the browser is sent to log in.
struct LoginNeeded: Error {}
