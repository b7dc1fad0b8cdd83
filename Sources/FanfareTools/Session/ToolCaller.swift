public import FanfareCore
internal import FanfareStore

/// The client that sent the request for which a server uses the database.
public struct ToolCaller: Sendable {
    /// The scope of the action, which determines the database role.
    public let scope: TokenScope
    /// The token's name; for a phone's token, its user.
    public let actor: String
    /// The token's id; nil for a phone's token, which is not stored.
    public let tokenID: Int32?
    /// The id that finds the request's log lines.
    public let requestID: String
    /// The reason that the client gave; nil if none was required.
    public let reason: String?

    /// Assembles a caller.
    ///
    /// - Parameters:
    ///   - scope: the scope of the action.
    ///   - actor: the token's name.
    ///   - tokenID: the token's id; nil for a token that is not stored.
    ///   - requestID: the id that finds the request's log lines.
    ///   - reason: the reason that the client gave; nil if none was required.
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

/// A change, as the table of actions records it.
package struct ToolAction: Sendable {
    /// The action's name, such as `device.register`.
    package let name: String
    /// The object of the change; holds no token and no payload.
    package let target: String?
    /// The number of objects, if there are several.
    package let count: Int64?

    package init(_ name: String, _ target: String? = nil, count: Int64? = nil) {
        (self.name, self.target, self.count) = (name, target, count)
    }
}
