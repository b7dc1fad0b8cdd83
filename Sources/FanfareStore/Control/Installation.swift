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

extension SQL {
    /// Reads whether this session may send: the installation that the database belongs to, and its identity when it was
    /// adopted.
    package static let readInstallation = Statement<Installation>(
        "read_installation",
        """
        SELECT v.version, v.oldest_daemon, i.one IS NOT NULL, i.name,
            i.system_identifier = fanfare.server_identifier() AND i.database_oid = d.oid, pg_is_in_recovery()
        FROM fanfare.schema_version AS v
        JOIN pg_database AS d ON d.datname = current_database()
        LEFT JOIN fanfare.installation AS i ON true
        """
    ) { row throws(PostgresError) in
        Installation(
            schemaVersion: Int(try row.int32(0)),
            oldestDaemon: Int(try row.int32(1)),
            isAdopted: try row.bool(2),
            name: try row.string(orNil: 3),
            isSameDatabase: try row.bool(orNil: 4) ?? false,
            isReplica: try row.bool(5)
        )
    }

    /// Whether the server is a standby, which accepts no writes until it is promoted; needs no schema.
    package static let isStandby = Statement<Bool>(
        "is_standby",
        "SELECT pg_catalog.pg_is_in_recovery()"
    )

    /// Makes ids skip ahead if the server is on a new timeline; returns whether it did.
    package static let enterTimeline = Statement<Bool>(
        "enter_timeline",
        "SELECT fanfare.enter_timeline()"
    )
}
