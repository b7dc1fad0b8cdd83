internal import FanfareCore
package import PostgresClient

/// Calls `fanfare.emit`.
package struct EmitEvent: PostgresStatement {
    package static let name = "emit_event"
    package static let sql = "SELECT fanfare.emit($1, $2::jsonb, $3, make_interval(secs => $4::float8))"

    package let type: String
    package let payload: String
    package let key: String?
    package let ttlSeconds: Int64?

    package init(type: String, payload: String, key: String?, ttlSeconds: Int64?) {
        self.type = type
        self.payload = payload
        self.key = key
        self.ttlSeconds = ttlSeconds
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(type)
        binds.append(payload)
        binds.append(key)
        binds.append(ttlSeconds)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Int64 {
        try row.int64(0)
    }
}
