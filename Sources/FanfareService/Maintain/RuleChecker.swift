internal import FanfareConfiguration
package import FanfareCore
internal import FanfareLogging
package import FanfareProviders
package import FanfareStore
internal import Logging
package import PostgresClient
internal import Threading

/// Checks rule versions that were written through SQL, and activates the valid ones.
///
/// An invalid version is rejected with its reason; other rules are not affected.
package struct RuleChecker {
    let logger: Logger

    /// Checks all unchecked versions, one set at a time.
    ///
    /// - Parameters:
    ///   - connection: a connection outside a transaction.
    ///   - end: the steady time after which no further set is started.
    /// - Returns: whether no unchecked version is left.
    /// - Throws: errors of the server.
    @discardableResult
    func check(
        on connection: PostgresConnection,
        until end: Microseconds = .max
    ) throws(PostgresError) -> Bool {
        while true {
            let waiting = try connection.run(UncheckedRules())
            try settle(waiting, on: connection)
            guard waiting.count == UncheckedRules.limit else { return true }
            guard Clocks.steady < end else { return false }
        }
    }

    /// Checks versions together, or one by one if that fails because of one of them.
    private func settle(_ waiting: [UncheckedRule], on connection: PostgresConnection) throws(PostgresError) {
        do throws(PostgresError) {
            let verdicts = try Self.judge(waiting.map { Self.compile($0.definition) }, on: connection)
            try carryOut(Array(zip(waiting, verdicts)), on: connection)
        } catch {
            guard error.isDataError || error.isCancelled else { throw error }
            if waiting.count == 1 {
                let problem = RuleProblem(path: "", reason: error.message)
                try carryOut(waiting.map { ($0, .failure(problem)) }, on: connection)
            } else {
                for rule in waiting { try settle([rule], on: connection) }
            }
        }
    }

    private func carryOut(
        _ judged: [(UncheckedRule, Result<RuleColumns, RuleProblem>)],
        on connection: PostgresConnection
    ) throws(PostgresError) {
        var good: [ActivatedRule] = []
        var bad: [(id: Int32, reason: String)] = []
        for (version, verdict) in judged {
            switch verdict {
            case .success(let columns): good.append(ActivatedRule(id: version.id, columns: columns))
            case .failure(let problem): bad.append((version.id, problem.description))
            }
        }
        if !good.isEmpty { try activate(good, on: connection) }
        if !bad.isEmpty {
            _ = try connection.runReturningCount(SQL.refuseRules(bad.map(\.id), bad.map(\.reason)))
        }
        let reasons = Dictionary(bad.map { ($0.id, $0.reason) }) { first, _ in first }
        for (version, _) in judged { log(version, refusedFor: reasons[version.id]) }
    }

    private func activate(_ good: [ActivatedRule], on connection: PostgresConnection) throws(PostgresError) {
        try connection.transaction { connection throws(PostgresError) in
            // Without the lock, two concurrent activations of a rule would each see only their own version, and both
            // would stay active.
            try connection.run(SQL.lockActivation())
            _ = try connection.runReturningCount(ActivateRules(rules: good))
        }
    }

    /// Checks a compiled rule's jsonpaths in PostgreSQL.
    ///
    /// - Returns: the columns that planning needs, or the first problem.
    package static func columns(
        of rule: CompiledRule,
        on connection: PostgresConnection
    ) throws(PostgresError) -> Result<RuleColumns, RuleProblem> {
        try judge([.success(rule.definition)], on: connection)[0]
    }

    /// Checks the jsonpaths of rules in PostgreSQL.
    ///
    /// - Returns: for each rule the columns that planning needs, or its first problem.
    private static func judge(
        _ compiled: [Result<RuleDefinition, RuleProblem>],
        on connection: PostgresConnection
    ) throws(PostgresError) -> [Result<RuleColumns, RuleProblem>] {
        var verdicts = compiled.map { $0.map(RuleColumns.init) }
        var paths: [(rule: Int, path: RulePath)] = []
        for (index, verdict) in verdicts.enumerated() {
            guard case .success(let columns) = verdict else { continue }
            paths += columns.paths.map { (index, $0) }
        }
        let probe = SQL.probePaths(paths.map(\.path.text), paths.map(\.path.isPredicate), RulePath.elements)
        for ((index, path), found) in zip(paths, try connection.run(probe)) {
            guard case .success(var columns) = verdicts[index] else { continue }
            if let problem = found.problem {
                verdicts[index] = .failure(RuleProblem(path: path.place, reason: problem.reason, hint: problem.hint))
            } else if !path.isPredicate, found.hasElements {
                columns.audiencePath = path.text + RulePath.elements
                verdicts[index] = .success(columns)
            }
        }
        return verdicts
    }

    private static func compile(_ definition: String) -> Result<RuleDefinition, RuleProblem> {
        do {
            return .success(try CompiledRule(json: JSONValue(parsing: definition)).definition)
        } catch let problem as RuleProblem {
            return .failure(problem)
        } catch {
            return .failure(RuleProblem(path: "", reason: "is not JSON: \(error)"))
        }
    }

    private func log(_ version: UncheckedRule, refusedFor reason: String?) {
        let metadata = Logger.Metadata([
            .ruleName: "\(version.name)", .ruleVersion: "\(version.version)", .app: "\(version.app)",
        ])
        if let reason {
            logger.warning("rule refused", metadata: metadata.merging(.init([.detail: "\(reason)"])) { $1 })
        } else {
            logger.notice("rule in force", metadata: metadata)
        }
    }
}
