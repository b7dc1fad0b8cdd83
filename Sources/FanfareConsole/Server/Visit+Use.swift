internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareDaemon
internal import FanfareHTTP
internal import FanfareRecords
internal import FanfareStore
internal import FanfareTools

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
