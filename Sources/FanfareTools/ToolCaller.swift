public import FanfareCore
internal import FanfareStore

/// On whose behalf a database is used by a program that answers others.
public struct ToolCaller: Sendable {
    /// What is done, and so as which role.
    public let scope: TokenScope
    /// What people call the token; of a phone's token, whose it is.
    public let actor: String
    /// The token's id; nil for a phone's, which is nowhere kept.
    public let tokenID: Int32?
    /// By which log lines are found.
    public let requestID: String
    /// Why, in the caller's words; nil where nobody asked.
    public let reason: String?

    /// Puts facts together.
    ///
    /// - Parameters:
    ///   - scope: what is done.
    ///   - actor: what people call the token.
    ///   - tokenID: the token's id; nil for one that is nowhere kept.
    ///   - requestID: by which log lines are found.
    ///   - reason: why, in the caller's words; nil where nobody asked.
    public init(scope: TokenScope, actor: String, tokenID: Int32?, requestID: String, reason: String? = nil) {
        (self.scope, self.actor, self.tokenID, self.requestID) = (scope, actor, tokenID, requestID)
        self.reason = reason
    }

    func note(_ action: ToolAction) -> NoteAction {
        NoteAction(
            actor: actor,
            tokenID: tokenID,
            action: action.name,
            target: action.target,
            count: action.count,
            requestID: requestID,
            reason: reason
        )
    }
}

/// What was changed, as the table of actions tells it.
struct ToolAction: Sendable {
    /// As `device.register`.
    let name: String
    /// What it was done to; holds no token and no payload.
    let target: String?
    /// How many, where it was done to several.
    let count: Int64?

    init(_ name: String, _ target: String? = nil, count: Int64? = nil) {
        (self.name, self.target, self.count) = (name, target, count)
    }
}
