internal import FanfareCore
package import PostgresClient

extension SQL {
    /// Stores the payload of a foreign channel as an event whose type is the channel; it is not marked as Fanfare's own,
    /// since any role may notify.
    ///
    /// Binds: channel, payload.
    package static let storeForeignEvent = Statement<Void, String, String>(
        "store_foreign_event",
        "INSERT INTO fanfare.outbox (own, type, payload) VALUES (false, $1, $2::jsonb)"
    )

    /// Stores a foreign channel's payload that is not a JSON object, as a refused event.
    ///
    /// Binds: channel, payload.
    package static let storeMalformedEvent = Statement<Void, String, String>(
        "store_malformed_event",
        """
        INSERT INTO fanfare.event_log (day, id, created_at, type, payload, detail, fate)
        SELECT fanfare.ring_day(id), id, clock_timestamp(), $1, jsonb_build_object('malformed', $2::text),
            'the notification is not a JSON object', 6
        FROM fanfare.new_event_id() AS id
        """
    )
}
