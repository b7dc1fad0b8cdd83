internal import FanfareCore
package import PostgresClient

extension SQL {
    /// Reads which of Fanfare's roles the cluster lacks.
    package static let missingRoles = Statement<[String]>(
        "missing_roles",
        """
        SELECT ARRAY(SELECT wanted.name
        FROM unnest('{fanfare_owner,fanfare_daemon,fanfare_emitter,fanfare_registrar,fanfare_author,fanfare_operator,fanfare_reader,fanfare_sql}'::text[])
            AS wanted (name)
        WHERE NOT EXISTS (SELECT FROM pg_roles AS r WHERE r.rolname = wanted.name))
        """
    )

    /// Whether a table of that name exists.
    ///
    /// Binds: relation.
    package static let hasRelation = Statement<Bool, String>(
        "has_relation",
        "SELECT to_regclass($1) IS NOT NULL"
    )

    /// Reads the version of the loaded schema.
    package static let schemaVersion = Statement<Int>(
        "schema_version",
        "SELECT version FROM fanfare.schema_version"
    ) { row throws(PostgresError) in
        Int(try row.int32(0))
    }
}

/// The owning installation of a database, and the identity by which a copy is recognized.
public struct DatabaseIdentity: Sendable {
    /// The installation's name; nil if it has none.
    public let name: String?
    /// The cluster's system identifier; 0 if the owner may not read it.
    public let systemIdentifier: Int64
    /// The database's oid.
    public let databaseOID: Int64

    package init(name: String?, systemIdentifier: Int64, databaseOID: Int64) {
        self.name = name
        self.systemIdentifier = systemIdentifier
        self.databaseOID = databaseOID
    }
}

extension SQL {
    /// Reads the recorded installation, and the database's identity when it was adopted.
    package static let recordedIdentity = Statement<DatabaseIdentity>(
        "recorded_identity",
        "SELECT name, system_identifier, database_oid::bigint FROM fanfare.installation",
        row: DatabaseIdentity.init
    )

    /// Reads the database's present identity.
    package static let actualIdentity = Statement<DatabaseIdentity>(
        "actual_identity",
        """
        SELECT NULL::text, fanfare.server_identifier(), d.oid::bigint
        FROM pg_database AS d
        WHERE d.datname = current_database()
        """,
        row: DatabaseIdentity.init
    )

    /// Calls `fanfare.adopt`.
    ///
    /// Binds: installation.
    package static let adoptDatabase = Statement<Void, String?>(
        "adopt_database",
        "SELECT fanfare.adopt($1)"
    )
}
