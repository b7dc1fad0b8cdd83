public import FanfareConfiguration
public import FanfareCore
public import FanfareRecords
internal import FanfareService
internal import FanfareStore
internal import PostgresClient

/// The changes that `fanfare migrate` makes.
public struct MigrationPlan: Sendable {
    /// The schema's version; nil if there is no schema, or if this role may not read it.
    public let from: Int?
    /// Whether there is a schema that this role can read only after loading it.
    public let isHidden: Bool
    /// The version of this program's schema.
    public let to: Int
    /// The roles that are created, cluster-wide.
    public let roles: [String]
    /// Whether `migrate` also adopts the database, as it does if no installation is recorded.
    ///
    /// Unknown before the load if the role may not read the schema.
    public var adopts: Bool
    /// The restriction in this database; nil if there is none.
    public let warning: String?
    /// The installation that adopts the database.
    public let installation: String?

    /// The plan as JSON.
    ///
    /// - Parameter isDone: whether the plan was carried out.
    /// - Returns: an object.
    public func json(isDone: Bool) -> JSONValue {
        [
            "from": JSONValue(orNull: from.map(Int64.init)), "to": JSONValue(Int64(to)),
            "roles": .array(roles.map(JSONValue.string)), "adopts": .bool(adopts),
            "installation": JSONValue(orNull: installation), "warning": JSONValue(orNull: warning),
            "done": .bool(isDone),
        ]
    }
}

/// The change that `fanfare adopt` makes.
public struct AdoptionChange: Sendable {
    /// The recorded installation; nil if the database is not adopted.
    public let old: DatabaseIdentity?
    /// The installation recorded afterwards.
    public let new: DatabaseIdentity

    /// The change as JSON.
    ///
    /// - Parameter isDone: whether the change was carried out.
    /// - Returns: an object.
    public func json(isDone: Bool) -> JSONValue {
        ["old": old?.json ?? .null, "new": new.json, "done": .bool(isDone)]
    }
}

extension ToolDatabase {
    /// Determines what loading the schema would change; changes nothing.
    ///
    /// - Parameter configuration: names the installation.
    /// - Returns: the plan.
    /// - Throws: ``ToolError``; of kind `configuration` for a schema that is newer than this program's, and for an
    ///   encoding that Fanfare does not support.
    public func migrationPlan(_ configuration: Configuration) async throws(ToolError) -> MigrationPlan {
        let encoding = try await run { connection throws(PostgresError) in try DatabaseEncoding.read(on: connection) }
        if let refusal = encoding.refusal {
            throw ToolError(.configuration, refusal, at: place, hint: DatabaseEncoding.advice)
        }
        let plan = try await currentPlan(configuration, encoding)
        if let from = plan.from, from > plan.to {
            throw ToolError(
                .configuration,
                "this database has schema version \(from), and this program brings version \(plan.to)",
                at: place,
                hint: "Run `fanfare migrate` of the newest Fanfare; a schema never goes back."
            )
        }
        return plan
    }

    private func currentPlan(
        _ configuration: Configuration,
        _ encoding: DatabaseEncoding
    ) async throws(ToolError) -> MigrationPlan {
        try await run { connection throws(PostgresError) in
            let roles = try connection.run(SQL.missingRoles()).first ?? []
            let there: (version: Int?, isHidden: Bool, isAdopted: Bool)
            do throws(PostgresError) {
                let isThere = try connection.run(SQL.hasRelation("fanfare.schema_version")).first ?? false
                let version = try isThere ? connection.run(SQL.schemaVersion()).first : nil
                there = (version, false, try isThere ? !connection.run(SQL.recordedIdentity()).isEmpty : false)
            } catch {
                // Loading the schema makes this role a member of the schema's owner, if the role has the right.
                guard error.sqlState == "42501" else { throw error }
                there = (nil, true, true)
            }
            return MigrationPlan(
                from: there.version,
                isHidden: there.isHidden,
                to: Schema.versions.upperBound,
                roles: roles,
                adopts: !there.isAdopted,
                warning: encoding.warning,
                installation: configuration.installation
            )
        }
    }

    /// Determines what adopting the database would change; changes nothing.
    ///
    /// - Parameter name: the installation's name.
    /// - Returns: the change.
    /// - Throws: ``ToolError``.
    public func adoption(as name: String?) async throws(ToolError) -> AdoptionChange {
        try await run { connection throws(PostgresError) in
            let old = try connection.run(SQL.recordedIdentity()).first
            guard let here = try connection.run(SQL.actualIdentity()).first else {
                throw PostgresError(.protocolMismatch, message: "the server does not say which database this is")
            }
            let new = DatabaseIdentity(
                name: name,
                systemIdentifier: here.systemIdentifier,
                databaseOID: here.databaseOID
            )
            return AdoptionChange(old: old, new: new)
        }
    }
}

extension DatabaseIdentity {
    var json: JSONValue {
        [
            "installation": JSONValue(orNull: name), "system_identifier": .string(String(systemIdentifier)),
            "database_oid": JSONValue(databaseOID),
        ]
    }
}
