package import PostgresClient

/// Stores an action for the audit log.
package struct NoteAction: PostgresStatement {
    package static let name = "note_action"
    package static let sql = """
        INSERT INTO fanfare.actions (actor, token_id, action, target, count, request_id, reason)
        VALUES ($1, $2, $3, $4, $5, $6, $7)
        """

    package let actor: String
    package let tokenID: Int32?
    package let action: String
    package let target: String?
    package let count: Int64?
    package let requestID: String
    /// The reason that the actor gave.
    package let reason: String?

    package init(
        actor: String,
        tokenID: Int32?,
        action: String,
        target: String?,
        count: Int64?,
        requestID: String,
        reason: String?
    ) {
        (self.actor, self.tokenID, self.action) = (actor, tokenID, action)
        (self.target, self.count, self.requestID, self.reason) = (target, count, requestID, reason)
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(actor)
        binds.append(tokenID)
        binds.append(action)
        binds.append(target)
        binds.append(count)
        binds.append(requestID)
        binds.append(reason)
    }
}

extension SQL {
    /// Deletes actions older than the log.
    ///
    /// Binds: retentionDays.
    package static let forgetActions = Statement<Void, Int32>(
        "forget_actions",
        """
        DELETE FROM fanfare.actions WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM fanfare.actions WHERE at < statement_timestamp() - make_interval(days => $1::int)
            LIMIT \(Forgetting.limit)))
        """
    )
}
