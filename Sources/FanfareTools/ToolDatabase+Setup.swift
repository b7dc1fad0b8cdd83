public import FanfareConfiguration
public import FanfareCore
internal import FanfareService
public import FanfareStore
internal import PostgresClient

/// What `fanfare migrate` does to a database.
public struct MigrationPlan: Sendable {
    /// The version there is; nil for none.
    public let from: Int?
    /// The version this program brings.
    public let to: Int
    /// Roles that are created, cluster-wide.
    public let roles: [String]
    /// Whether the database is adopted too, because nobody has yet.
    public let adopts: Bool
    /// The installation it is adopted as.
    public let installation: String?

    /// The plan as JSON.
    ///
    /// - Parameter isDone: whether it was carried out.
    /// - Returns: an object.
    public func json(isDone: Bool) -> JSONValue {
        [
            "from": JSONValue(orNull: from.map(Int64.init)), "to": JSONValue(Int64(to)),
            "roles": .array(roles.map(JSONValue.string)), "adopts": .bool(adopts),
            "installation": JSONValue(orNull: installation), "done": .bool(isDone),
        ]
    }

    /// The plan for people.
    ///
    /// - Parameter isDone: whether it was carried out.
    /// - Returns: one line per step.
    public func text(isDone: Bool) -> String {
        var lines: [String] = []
        if !roles.isEmpty {
            lines.append("\(isDone ? "created" : "would create") the roles \(roles.joined(separator: ", "))")
        }
        let versions = "schema version \(from.map(String.init) ?? "none") → \(to)"
        lines.append(isDone ? versions : "would load schema.sql: \(versions)")
        if adopts {
            let owner = installation ?? "an unnamed installation"
            lines.append("\(isDone ? "adopted" : "would adopt") the database as \(owner)")
        }
        return lines.joined(separator: "\n")
    }
}

/// What `fanfare adopt` changes.
public struct AdoptionChange: Sendable {
    /// What is recorded; nil if nobody has adopted the database.
    public let old: DatabaseIdentity?
    /// What is recorded afterwards.
    public let new: DatabaseIdentity

    /// The change as JSON.
    ///
    /// - Parameter isDone: whether it was carried out.
    /// - Returns: an object.
    public func json(isDone: Bool) -> JSONValue {
        ["old": old?.json ?? .null, "new": new.json, "done": .bool(isDone)]
    }

    /// The change for people.
    ///
    /// - Parameter isDone: whether it was carried out.
    /// - Returns: the old identity and the new one.
    public func text(isDone: Bool) -> String {
        "was: \(old?.text ?? "adopted by nobody")\n\(isDone ? "is:  " : "will be: ")\(new.text)"
    }
}

extension ToolDatabase {
    /// Looks what loading the schema would change; changes nothing.
    ///
    /// - Parameter configuration: names the installation.
    /// - Returns: the plan.
    /// - Throws: ``ToolError``; of kind `configuration` for a schema that is newer than this program's.
    public func migrationPlan(_ configuration: Configuration) async throws(ToolError) -> MigrationPlan {
        let plan = try await currentPlan(configuration)
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

    private func currentPlan(_ configuration: Configuration) async throws(ToolError) -> MigrationPlan {
        try await run { connection throws(PostgresError) in
            let roles = try connection.run(MissingRoles()).first ?? []
            guard try connection.run(HasRelation(relation: "fanfare.schema_version")).first ?? false else {
                return plan(nil, roles, adopts: true, configuration)
            }
            let version = try connection.run(SchemaVersion()).first
            let identity = try connection.run(RecordedIdentity()).first
            return plan(version, roles, adopts: identity == nil, configuration)
        }
    }

    /// Looks what adopting the database would change; changes nothing.
    ///
    /// - Parameter name: the installation's name.
    /// - Returns: the change.
    /// - Throws: ``ToolError``.
    public func adoption(as name: String?) async throws(ToolError) -> AdoptionChange {
        try await run { connection throws(PostgresError) in
            let old = try connection.run(RecordedIdentity()).first
            guard let here = try connection.run(ActualIdentity()).first else {
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

    private func plan(
        _ version: Int?,
        _ roles: [String],
        adopts: Bool,
        _ configuration: Configuration
    ) -> MigrationPlan {
        MigrationPlan(
            from: version,
            to: Schema.versions.upperBound,
            roles: roles,
            adopts: adopts,
            installation: configuration.installation
        )
    }
}

extension DatabaseIdentity {
    var text: String { "\(name ?? "(unnamed)"), cluster \(systemIdentifier), database \(databaseOID)" }

    var json: JSONValue {
        [
            "installation": JSONValue(orNull: name), "system_identifier": .string(String(systemIdentifier)),
            "database_oid": JSONValue(databaseOID),
        ]
    }
}
