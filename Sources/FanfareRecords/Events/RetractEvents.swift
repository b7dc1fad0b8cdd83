package import PostgresClient

/// An identifier that was taken back from a user's devices.
public struct RetractedID: Sendable {
    /// The provider whose devices know it.
    public let provider: String
    /// The identifier, as devices of the provider know it.
    public let id: String
    /// When it was taken back.
    package let retractedAt: Timestamp
}

extension SQL {
    /// Calls `fanfare.retract` with an event's id.
    ///
    /// Binds: id, user.
    package static let retractEvent = Statement<Bool, Int64, String?>(
        "retract_event",
        "SELECT fanfare.retract($1::bigint, $2::text)"
    )

    /// Calls `fanfare.retract` with a type and a key.
    ///
    /// Binds: type, key, user.
    package static let retractKey = Statement<Bool, String, String, String?>(
        "retract_key",
        "SELECT fanfare.retract($1::text, $2::text, $3::text)"
    )

    /// Calls `fanfare.retracted`.
    ///
    /// Binds: app, user, the age in seconds or else the time; null for the beginning.
    package static let retractedIDs = Statement<RetractedID, String, String, Int64?, String?>(
        "retracted_ids",
        """
        SELECT r.provider, r.id, r.retracted_at
        FROM fanfare.retracted($1, $2,
            coalesce(statement_timestamp() - make_interval(secs => $3::float8), $4::timestamptz, '-infinity')) AS r
        """,
        row: RetractedID.init
    )
}
