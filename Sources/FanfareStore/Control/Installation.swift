internal import FanfareCore
package import PostgresClient

/// The identity of the database.
package struct Installation: Equatable {
    package let schemaVersion: Int
    package let oldestDaemon: Int
    package let isAdopted: Bool
    package let name: String?
    package let isSameDatabase: Bool
    package let isReplica: Bool
}

/// Reads whether this session may send: the installation that the database belongs to, and its identity when it was
/// adopted.
package struct ReadInstallation: PostgresStatement {
    package static let name = "read_installation"
    package static let sql = """
        SELECT v.version, v.oldest_daemon, i.one IS NOT NULL, i.name,
            i.system_identifier = fanfare.server_identifier() AND i.database_oid = d.oid, pg_is_in_recovery()
        FROM fanfare.schema_version AS v
        JOIN pg_database AS d ON d.datname = current_database()
        LEFT JOIN fanfare.installation AS i ON true
        """

    package init() {}

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Installation {
        Installation(
            schemaVersion: Int(try row.int32(0)),
            oldestDaemon: Int(try row.int32(1)),
            isAdopted: try row.bool(2),
            name: try row.string(orNil: 3),
            isSameDatabase: try row.bool(orNil: 4) ?? false,
            isReplica: try row.bool(5)
        )
    }
}

/// Whether the server is a standby, which accepts no writes until it is promoted; needs no schema.
package struct IsStandby: PostgresStatement {
    package static let name = "is_standby"
    package static let sql = "SELECT pg_catalog.pg_is_in_recovery()"

    package init() {}

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Bool {
        try row.bool(0)
    }
}

/// Makes ids skip ahead if the server is on a new timeline; returns whether it did.
package struct EnterTimeline: PostgresStatement {
    package static let name = "enter_timeline"
    package static let sql = "SELECT fanfare.enter_timeline()"

    package init() {}

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Bool {
        try row.bool(0)
    }
}
