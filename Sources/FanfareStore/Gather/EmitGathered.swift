package import PostgresClient

/// What left of what one rule gathered.
package struct EmittedDigests {
    package let app: String
    package let rule: String
    /// How many events were emitted.
    package let emitted: Int32
    /// How many open_digests made none: the rule is dropped, or all that they name was cancelled.
    package let leftOut: Int32
    /// How many events were in all of them.
    package let events: Int64
}

/// Emits what is due of what was gathered, some of it at a time, in a transaction of its own; no row where nothing is due.
package struct EmitDigests: PostgresStatement {
    package static let name = "emit_digests"
    package static let sql = "SELECT app, rule, emitted, left_out, events FROM fanfare.emit_digests($1::timestamptz)"

    private let now: Timestamp

    /// - Parameter now: what is due by then leaves.
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

/// When the next digest is due, or was; no row where there is none.
package struct NextOpenDigest: PostgresStatement {
    package static let name = "next_open_digest"
    package static let sql = "SELECT g.due_at FROM fanfare.open_digests AS g ORDER BY g.due_at LIMIT 1"

    package init() {}

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Timestamp {
        try row.timestamp(0)
    }
}
