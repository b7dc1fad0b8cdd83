internal import FanfareCore
internal import Logging
internal import PostgresClient

/// Checks rule versions that came through SQL, and puts the good ones into force.
///
/// A bad one is refused with its reason and stops nobody else.
struct RuleChecker {
    let logger: Logger

    /// Checks what waits.
    ///
    /// - Parameter connection: outside a transaction.
    /// - Throws: what the database says.
    func check(on connection: PostgresConnection) throws(PostgresError) {
        for row in try connection.run(UncheckedRules()) {
            let version = Logger.Metadata([
                .ruleName: "\(row.name)", .ruleVersion: "\(row.version)", .app: "\(row.app)",
            ])
            switch try Self.columns(of: row.definition, on: connection) {
            case .success(let columns):
                _ = try connection.runReturningCount(ActivateRule(id: row.id, columns: columns))
                logger.notice("rule in force", metadata: version)
            case .failure(let problem):
                _ = try connection.runReturningCount(RefuseRule(id: row.id, reason: problem.description))
                let reason = Logger.Metadata([.reason: "\(problem)"])
                logger.warning("rule refused", metadata: version.merging(reason) { $1 })
            }
        }
    }

    /// Checks a rule as JSON text, its jsonpaths with the help of PostgreSQL.
    ///
    /// - Returns: what planning needs of it, or the first thing that is wrong.
    static func columns(
        of definition: String,
        on connection: PostgresConnection
    ) throws(PostgresError) -> Result<RuleColumns, RuleProblem> {
        let rule: CompiledRule
        do {
            rule = try CompiledRule(json: JSONValue(parsing: definition))
        } catch let problem as RuleProblem {
            return .failure(problem)
        } catch {
            return .failure(RuleProblem(path: "", reason: "is no JSON: \(error)"))
        }
        return try columns(of: rule, on: connection)
    }

    /// Checks a compiled rule's jsonpaths with the help of PostgreSQL.
    static func columns(
        of rule: CompiledRule,
        on connection: PostgresConnection
    ) throws(PostgresError) -> Result<RuleColumns, RuleProblem> {
        let definition = rule.definition
        if let when = definition.when, let problem = try probe(when, "when", isPredicate: true, connection) {
            return .failure(problem)
        }
        if let devices = definition.audience.devices,
            let problem = try probe(devices, "to.devices", isPredicate: true, connection)
        {
            return .failure(problem)
        }
        let selection = definition.audience.selection
        var path: String?
        switch selection {
        case .users(let text), .tokens(let text): path = text
        case .topic, .condition, .everyone, .fcmTopic, .fcmCondition, .channel: break
        }
        if let text = path {
            if let problem = try probe(text, selection.rulePath, isPredicate: false, connection) {
                return .failure(problem)
            }
            // A path that finds an array means its elements; in lax mode [*] also takes a single value.
            let elements = text + "[*]"
            if try probe(elements, "", isPredicate: false, connection) == nil { path = elements }
        }
        return .success(columns(definition, path: path))
    }

    private static func columns(_ definition: RuleDefinition, path: String?) -> RuleColumns {
        RuleColumns(
            eventType: definition.event,
            whenPath: definition.when,
            audience: definition.audience.selection.key.rawValue,
            audiencePath: path,
            nativePlatform: definition.audience.selection.provider?.rawValue,
            devicesPath: definition.audience.devices,
            kind: definition.audience.kind.rawValue,
            platform: definition.audience.platform?.rawValue,
            lane: definition.lane.rawValue,
            ttlSeconds: definition.ttl?.seconds,
            supersede: definition.dropsOlder,
            enabled: definition.enabled
        )
    }

    private static func probe(
        _ path: String,
        _ place: String,
        isPredicate: Bool,
        _ connection: PostgresConnection
    ) throws(PostgresError) -> RuleProblem? {
        do throws(PostgresError) {
            try connection.run(ProbePath(path: path, isPredicate: isPredicate))
            return nil
        } catch {
            // Class 42: what is no jsonpath (42601), or has a variable (42704).
            guard error.isDataError || error.sqlState?.hasPrefix("42") == true else { throw error }
            if error.sqlState == "22038" {
                return RuleProblem(
                    path: place,
                    reason: "is no predicate",
                    hint: "compare something, as in $.total > 10"
                )
            }
            return RuleProblem(path: place, reason: "is no jsonpath: \(error.message)", hint: error.hint ?? "")
        }
    }
}
