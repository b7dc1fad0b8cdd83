import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareStore

/// Rules that planning looks up by an equation of their `when`, against a direct evaluation of every rule.
@Suite(.database)
struct EqualityTests {
    private static let paths = ["$.a", "$.a", "$.b", "$.a.b", #"$."x \"y""#, "$.n[*]", "$"]
    /// Few values in several spellings, so that many equations hold.
    private static let literals = [
        "1", "1.0", "1.00", "1e0", "100", "1e2", #""x""#, #""x""#, #""1""#, #""q\"\\ä && b""#, "true", "null", "-2.50",
        "-0",
    ]
    private static let keys = ["a", "b", "n", #"x \"y"#]

    @Test(arguments: Soak.seeds(3, soak: 100))
    func theRulesOfAnEventAreThoseWhosePredicateHolds(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let world = try World()
        try world.device("aa")
        for n in 0..<60 {
            let mode = Int.random(in: 0..<12, using: &generator) == 0 ? "strict " : ""
            let when = (mode + predicate(depth: Int.random(in: 0...2, using: &generator), &generator)).replacing(
                "\\",
                with: "\\\\"
            ).replacing(
                "\"",
                with: "\\\""
            )
            try world.rule("r\(n)", event: "e", to: #"{"everyone": true}"#, #""when": "\#(when)""#)
        }
        for _ in 0..<40 { try world.emit("e", payload(&generator)) }
        try world.connection.execute("CREATE TABLE public.emitted AS SELECT id, payload FROM fanfare.outbox")
        try world.plan()
        let count = try world.connection.query(
            """
            WITH expected AS (
                SELECT v.id AS rule_version, e.id AS event_id FROM fanfare.rule_versions AS v CROSS JOIN public.emitted AS e
                WHERE v.state = 'active' AND jsonb_path_match_tz(e.payload, v.when_path, '{}', true)
            ),
            planned AS (
                SELECT b.rule_version, e AS event_id FROM fanfare.batches AS b
                CROSS JOIN unnest(coalesce(b.event_ids, ARRAY[b.event_id])) AS e
            )
            SELECT (SELECT count(*) FROM expected), (SELECT count(*) FROM planned),
                (SELECT count(*) FROM (TABLE expected EXCEPT TABLE planned) AS x),
                (SELECT count(*) FROM (TABLE planned EXCEPT TABLE expected) AS x),
                (SELECT count(*) FROM expected JOIN fanfare.rule_versions AS v ON v.id = rule_version WHERE v.when_key <> '')
            """
        ).rows[0].map { $0.flatMap { Int($0) } ?? -1 }
        #expect(count[0] == count[1] && count[2] == 0 && count[3] == 0)
        #expect(count[4] > 20, "equations were used")
    }

    /// Draws a predicate; every second part of it is an equation.
    private func predicate(depth: Int, _ generator: inout SeededGenerator) -> String {
        let path = Self.paths.randomElement(using: &generator)!
        let literal = Self.literals.randomElement(using: &generator)!
        guard depth > 0 else { return "\(path) == \(literal)" }
        let left = predicate(depth: depth - 1, &generator)
        let right = predicate(depth: depth - 1, &generator)
        return switch Int.random(in: 0..<11, using: &generator) {
        case 0...2: "\(left) && \(right)"
        case 3: "\(left) || \(right)"
        case 4: "(\(left)) && (\(right))"
        case 5: "!(\(left))"
        case 6: "(\(left)) is unknown"
        case 7: "exists(\(path) ? (@ == \(literal) && \(right)))"
        case 8: "\(path) != \(literal) && \(left)"
        case 9: "\(literal) == \(path)"
        default: left
        }
    }

    /// Draws a payload with values, arrays and objects at the predicates' paths, and literals spelt in other ways.
    private func payload(_ generator: inout SeededGenerator) -> String {
        var members: [String] = []
        for key in Self.keys where Int.random(in: 0..<5, using: &generator) > 0 {
            members.append("\"\(key)\": \(value(depth: 2, &generator))")
        }
        return "{\(members.joined(separator: ", "))}"
    }

    private func value(depth: Int, _ generator: inout SeededGenerator) -> String {
        switch depth == 0 ? 0 : Int.random(in: 0..<6, using: &generator) {
        case 4:
            let elements = (0..<Int.random(in: 0..<4, using: &generator)).map { _ in value(depth: depth - 1, &generator)
            }
            return "[\(elements.joined(separator: ", "))]"
        case 5: return "{\"b\": \(value(depth: depth - 1, &generator))}"
        default: return Self.literals.randomElement(using: &generator)!
        }
    }
}
