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

extension SQL {
    /// Emits some of the due digests, in its own transaction; no row if none is due.
    ///
    /// Binds: now.
    package static let emitDigests = Statement<EmittedDigests, Timestamp>(
        "emit_digests",
        "SELECT app, rule, emitted, left_out, events FROM fanfare.emit_digests($1::timestamptz)",
        row: EmittedDigests.init
    )

    /// Reads when the next digest is due, or was; no row if there is none.
    package static let nextOpenDigest = Statement<Timestamp>(
        "next_open_digest",
        "SELECT g.due_at FROM fanfare.open_digests AS g ORDER BY g.due_at LIMIT 1"
    )
}
