internal import FanfareConfiguration
package import FanfareCore
internal import FanfareLogging
package import FanfareProviders
package import FanfareStore
internal import Logging
package import PostgresClient
internal import Threading

/// A rule version in the form that planning and sending need.
package struct LoadedRule: Sendable {
    package let id: Int32
    package let ruleID: Int32
    package let version: Int32
    package let compiled: CompiledRule
    /// Whether it only gathers events, for the rule that was written.
    package let isGatherer: Bool

    /// A version as it was read.
    package init(id: Int32, ruleID: Int32, version: Int32, compiled: CompiledRule, isGatherer: Bool = false) {
        (self.id, self.ruleID, self.version, self.compiled) = (id, ruleID, version, compiled)
        self.isGatherer = isGatherer
    }

    /// The detail of a delivery that it cannot make a push for.
    ///
    /// - Parameter problem: what is wrong, without data.
    /// - Returns: which rule it is, and the problem.
    package func refusal(because problem: String) -> String {
        "rule \(compiled.definition.name), version \(version): \(problem)"
    }

    /// Logs that an event's message could not be made; of many such events a few.
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

/// The rule versions that were met lately, compiled.
///
/// A version never changes, so nothing is reloaded while it is in use; what nobody asks for any more, such as a retired
/// version, is forgotten.
package final class RuleCache: Sendable {
    private let rules = Locked(Generations<LoadedRule>(span: 10 * Micros.minute))

    /// Gives rule versions, reading those that are new.
    ///
    /// - Parameters:
    ///   - ids: which.
    ///   - connection: to read from.
    ///   - now: steady time.
    /// - Returns: by id; one that no longer compiles (it was checked by a newer daemon) is missing.
    /// - Throws: what the database says.
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

    /// How many versions it holds.
    package var count: Int { rules.withLock { $0.count } }

    private static func compile(_ definition: String) -> CompiledRule? {
        guard let json = try? JSONValue(parsing: definition) else { return nil }
        return (try? CompiledRule(json: json))
            ?? MessageChecks.$areOn.withValue(false) { try? CompiledRule(json: json) }
    }
}

/// Values that are forgotten once nobody has asked for them for one to two spans of time.
///
/// Two dictionaries take turns: what is asked for moves to the young one, and what is left in the old one at the end of a
/// span goes.
package struct Generations<Value: Sendable>: Sendable {
    private let span: Microseconds
    private var young: [Int32: Value] = [:]
    private var old: [Int32: Value] = [:]
    private var turnsAt: Microseconds?

    /// - Parameter span: how long a generation lasts.
    package init(span: Microseconds) { self.span = span }

    /// How many values it holds.
    package var count: Int { young.count + old.count }

    /// The values that are known.
    ///
    /// - Parameters:
    ///   - ids: of which.
    ///   - now: a time that never goes back.
    /// - Returns: by id.
    package mutating func values(of ids: Set<Int32>, at now: Microseconds) -> [Int32: Value] {
        if now >= turnsAt ?? now {
            // After a long rest both are too old.
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

    /// Remembers a value; nil is none.
    package mutating func keep(_ value: Value?, as id: Int32) {
        if let value { young[id] = value }
    }
}
