package import PostgresClient

/// The result of emitting one rule's due digests.
package struct EmittedDigests {
    package let app: String
    package let rule: String
    /// How many events were emitted.
    package let emitted: Int32
    /// How many digests emitted none, because the rule was dropped or all their events were cancelled.
    package let leftOut: Int32
    /// How many events all digests had.
    package let events: Int64
}

/// Emits some of the due digests, in its own transaction; no row if none is due.
package struct EmitDigests: PostgresStatement {
    package static let name = "emit_digests"
    package static let sql = "SELECT app, rule, emitted, left_out, events FROM fanfare.emit_digests($1::timestamptz)"

    private let now: Timestamp

    /// - Parameter now: the time by which a digest must be due.
    package init(now: Timestamp) {
        self.now = now
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(now)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> EmittedDigests {
        EmittedDigests(
            app: try row.string(0),
            rule: try row.string(1),
            emitted: try row.int32(2),
            leftOut: try row.int32(3),
            events: try row.int64(4)
        )
    }
}

/// Reads when the next digest is due, or was; no row if there is none.
package struct NextOpenDigest: PostgresStatement {
    package static let name = "next_open_digest"
    package static let sql = "SELECT g.due_at FROM fanfare.open_digests AS g ORDER BY g.due_at LIMIT 1"

    package init() {}

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Timestamp {
        try row.timestamp(0)
    }
}
