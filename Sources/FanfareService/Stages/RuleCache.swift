internal import FanfareCore
internal import PostgresClient
internal import Threading

/// A rule version in the form that planning and sending need.
struct LoadedRule: Sendable {
    let id: Int32
    let ruleID: Int32
    let version: Int32
    let compiled: CompiledRule

    /// The detail of a pair that it cannot make a push for.
    ///
    /// - Parameter problem: what is wrong, without data.
    /// - Returns: which rule it is, and the problem.
    func refusal(because problem: String) -> String {
        "rule \(compiled.definition.name), version \(version): \(problem)"
    }
}

/// The rule versions that have been met, compiled; a version never changes, so nothing is ever reloaded.
final class RuleCache: Sendable {
    private let rules = Locked<[Int32: LoadedRule]>([:])

    /// Gives rule versions, reading those that are new.
    ///
    /// - Parameters:
    ///   - ids: which.
    ///   - connection: to read from.
    /// - Returns: by id; one that no longer compiles (it was checked by a newer daemon) is missing.
    /// - Throws: what the database says.
    func load(_ ids: Set<Int32>, from connection: PostgresConnection) throws(PostgresError) -> [Int32: LoadedRule] {
        let known = rules.withLock { rules in rules }
        let missing = ids.filter { known[$0] == nil }
        guard !missing.isEmpty else { return known }
        var fresh: [Int32: LoadedRule] = [:]
        for row in try connection.run(FetchRuleVersions(ids: missing.sorted())) {
            guard let compiled = Self.compile(row.definition) else { continue }
            fresh[row.id] = LoadedRule(id: row.id, ruleID: row.ruleID, version: row.version, compiled: compiled)
        }
        return rules.withLock { [fresh] rules in
            rules.merge(fresh) { old, _ in old }
            return rules
        }
    }

    private static func compile(_ definition: String) -> CompiledRule? {
        guard let json = try? JSONValue(parsing: definition) else { return nil }
        return try? CompiledRule(json: json)
    }
}
