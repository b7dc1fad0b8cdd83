internal import FanfareCore
package import PostgresClient

/// Stores the payload of a foreign channel as an event whose type is the channel; it is not marked as Fanfare's own,
/// since any role may notify.
package struct StoreForeignEvent: PostgresStatement {
    package static let name = "store_foreign_event"
    package static let sql = "INSERT INTO fanfare.outbox (own, type, payload) VALUES (false, $1, $2::jsonb)"

    package let channel: String
    package let payload: String

    package init(channel: String, payload: String) {
        self.channel = channel
        self.payload = payload
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(channel)
        binds.append(payload)
    }
}

/// Stores a foreign channel's payload that is not a JSON object, as a refused event.
package struct StoreMalformedEvent: PostgresStatement {
    package static let name = "store_malformed_event"
    package static let sql = """
        INSERT INTO fanfare.event_log (day, id, created_at, type, payload, detail, fate)
        SELECT fanfare.ring_day(id), id, clock_timestamp(), $1, jsonb_build_object('malformed', $2::text),
            'the notification is not a JSON object', 6
        FROM fanfare.new_event_id() AS id
        """

    package let channel: String
    package let payload: String

    package init(channel: String, payload: String) {
        self.channel = channel
        self.payload = payload
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(channel)
        binds.append(payload)
    }
}
