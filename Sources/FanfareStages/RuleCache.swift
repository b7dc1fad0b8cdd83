internal import FanfareConfiguration
package import FanfareCore
internal import FanfareLogging
package import FanfareProviders
package import FanfareStore
internal import Logging
package import PostgresClient
internal import Threading

/// A compiled rule version, as the planner and senders use it.
package struct LoadedRule: Sendable {
    package let id: Int32
    package let ruleID: Int32
    package let version: Int32
    package let compiled: CompiledRule
    /// Whether it is an internal version that gathers events into digests for a written rule.
    package let isGatherer: Bool

    /// Creates a loaded version.
    package init(id: Int32, ruleID: Int32, version: Int32, compiled: CompiledRule, isGatherer: Bool = false) {
        (self.id, self.ruleID, self.version, self.compiled) = (id, ruleID, version, compiled)
        self.isGatherer = isGatherer
    }

    /// Returns the detail of a delivery whose push could not be built.
    ///
    /// - Parameter problem: the problem, without data of the event.
    /// - Returns: the rule's name and version, and the problem; for a message without a rule, the problem alone.
    package func refusal(because problem: String) -> String {
        let name = compiled.definition.name
        return RuleNames.isOfSend(name) ? problem : "rule \(name), version \(version): \(problem)"
    }

    /// Returns the detail of an event for which the rule could not be planned.
    ///
    /// - Parameter problem: the problem, without data of the event.
    /// - Returns: the rule's name and the problem; for a message without a rule, the problem alone.
    package func planProblem(_ problem: RenderProblem) -> String {
        let name = compiled.definition.name
        return RuleNames.isOfSend(name) ? "\(problem)" : "rule \(name): \(problem)"
    }

    /// Logs that an event's message could not be rendered; the number of such lines is limited.
    package func tellRefusal(
        of event: EventRow,
        to target: Target,
        because problem: RenderProblem,
        in context: StageContext
    ) {
        let message: Logger.Message = "a message could not be rendered"
        let name = compiled.definition.name
        let kind = LineKind(
            level: .notice,
            message: message.description,
            app: target.app,
            provider: target.provider,
            rule: name,
            reason: Outcome.refused.reason
        )
        guard context.frequentLines.admit(kind) else { return }
        var metadata = target.metadata([
            .eventID: "\(event.id)", .ruleName: "\(name)", .ruleVersion: "\(version)",
            .reason: "\(kind.reason)", .detail: "\(problem)",
        ])
        metadata[.traceID] = event.trace.map { "\($0.traceID)" }
        context.logger.notice(message, metadata: metadata)
    }
}

/// The compiled rule versions in recent use.
///
/// A version never changes, so it is not reloaded while it is in use. Versions that are no longer requested, such as
/// retired ones, are dropped.
package final class RuleCache: Sendable {
    private let rules = Locked(Generations<LoadedRule>(span: 10 * Micros.minute))

    /// Returns rule versions, reading those that are not cached.
    ///
    /// - Parameters:
    ///   - ids: the ids of the versions.
    ///   - connection: the connection to read with.
    ///   - now: steady time.
    /// - Returns: the versions by id, without those that do not compile (a newer daemon checked them).
    /// - Throws: errors of the server.
    package func load(
        _ ids: Set<Int32>,
        from connection: PostgresConnection,
        at now: Microseconds = Clocks.steady
    ) throws(PostgresError) -> [Int32: LoadedRule] {
        var found = rules.withLock { rules in rules.values(of: ids, at: now) }
        guard found.count < ids.count else { return found }
        let missing = ids.filter { found[$0] == nil }
        for row in try connection.run(FetchRuleVersions(ids: missing.sorted())) {
            guard let compiled = Self.compile(row.definition) else { continue }
            found[row.id] = LoadedRule(
                id: row.id,
                ruleID: row.ruleID,
                version: row.version,
                compiled: compiled,
                isGatherer: row.isGatherer
            )
        }
        rules.withLock { [found] rules in
            for id in missing { rules.keep(found[id], as: id) }
        }
        return found
    }

    /// The number of cached versions.
    package var count: Int { rules.withLock { $0.count } }

    private static func compile(_ definition: String) -> CompiledRule? {
        guard let json = try? JSONValue(parsing: definition) else { return nil }
        return (try? CompiledRule(json: json))
            ?? MessageChecks.$areOn.withValue(false) { try? CompiledRule(json: json) }
    }
}

/// A cache that drops values after one to two spans without a request.
///
/// There are two generations. A requested value moves to the young one; at the end of a span the old one is dropped and
/// the young one becomes the old one.
package struct Generations<Value: Sendable>: Sendable {
    private let span: Microseconds
    private var young: [Int32: Value] = [:]
    private var old: [Int32: Value] = [:]
    private var turnsAt: Microseconds?

    /// Creates an empty cache.
    ///
    /// - Parameter span: the length of a generation.
    package init(span: Microseconds) { self.span = span }

    /// The number of cached values.
    package var count: Int { young.count + old.count }

    /// Returns the cached values of some ids.
    ///
    /// - Parameters:
    ///   - ids: the ids.
    ///   - now: a monotonic time.
    /// - Returns: the values by id.
    package mutating func values(of ids: Set<Int32>, at now: Microseconds) -> [Int32: Value] {
        if now >= turnsAt ?? now {
            // After more than a span without requests, both generations are expired.
            old = now < (turnsAt ?? now) + span ? young : [:]
            young = [:]
            turnsAt = now + span
        }
        var found: [Int32: Value] = [:]
        found.reserveCapacity(ids.count)
        for id in ids {
            if let value = young[id] {
                found[id] = value
            } else if let value = old.removeValue(forKey: id) {
                young[id] = value
                found[id] = value
            }
        }
        return found
    }

    /// Caches a value; nil is ignored.
    package mutating func keep(_ value: Value?, as id: Int32) {
        if let value { young[id] = value }
    }
}
