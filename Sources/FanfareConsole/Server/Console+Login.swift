internal import FanfareConsoleView
internal import FanfareCore
internal import FanfareDaemon
internal import FanfareHTTP
internal import FanfareRecords
internal import FanfareStore
internal import FanfareTools
internal import HTTPTypes
internal import Threading

extension Console {
    /// Asks for a token; a token in the address of a loopback listener, as `fanfare dev` prints it, logs in at once.
    static let login = Route.page("/login") { call in
        // A request that a proxy forwards did not come from this host.
        if let token = call.query["token"], call.context.isLoopback, !call.isForwarded {
            return try await begin(token, back: call.query["back"], call)
        }
        return try await ask(call, back: call.query["back"], problem: nil)
    }

    /// Logs in with a token.
    static let logIn = Route.form("/login", strangersBody: 4096) { call in
        guard call.headers[.secFetchSite] != nil || call.headers[.origin] != nil else {
            throw Problem(
                .forbidden,
                "the form has no Origin header",
                hint: "Use a current browser."
            )
        }
        let form = try call.form()
        return try await begin(form["token"] ?? "", back: form["back"], call)
    }

    /// Ends a session.
    static let logOut = Route.form("/logout") { call in
        _ = try call.form()
        var answer = Answer.redirect(to: "/login", call)
        answer.headers[.setCookie] = try await ConsoleSession.finish(call)
        return answer
    }

    private static func begin(_ text: String, back: String?, _ call: Call) async throws -> Answer {
        guard let given = APIToken(parsing: text), let token = try await call.context.authority.tokens.find(given)
        else {
            return try await ask(call, back: back, problem: "Invalid token. It may have been revoked.")
        }
        guard token.row.app == nil, token.scopes.contains(.reader) else {
            return try await ask(
                call,
                back: back,
                problem: "The console needs a token for all apps with the scope reader."
            )
        }
        var answer = Answer.redirect(to: own(back), call)
        answer.headers[.setCookie] = try await ConsoleSession.begin(token, call)
        return answer
    }

    private static func ask(_ call: Call, back: String?, problem: String?) async throws -> Answer {
        let page = LoginPage(
            frame: Frame("Log in", call),
            action: "/login",
            back: own(back),
            problem: problem,
            command: "fanfare tokens create NAME --scope reader --scope operator"
        )
        return .page(templates.render("login", page), problem == nil ? .ok : .unauthorized)
    }

    /// Returns a path of this console; never another site's address, which `//` would begin.
    private static func own(_ path: String?) -> String {
        guard let path, path.hasPrefix("/"), !path.hasPrefix("//"), !path.hasPrefix("/\\"),
            path.utf8.allSatisfy({ (33...126).contains($0) })
        else { return "/" }
        return path
    }
}

/// `/login`: the form for a token.
struct LoginPage: ViewContext {
    let frame: Frame
    let action: String
    /// The page to return to: a path of the console, never another site.
    let back: String
    let problem: String?
    /// The command that creates a token.
    let command: String
}
