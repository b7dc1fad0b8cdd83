import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// Topic conditions, against a direct evaluation of the same expression.
@Suite(.database)
struct ConditionTests {
    private static let topics = ["a", "b", "c", "d"]

    /// An expression over topics, as text and for direct evaluation.
    private indirect enum Expression {
        case topic(String)
        case not(Expression)
        case both(Expression, Expression)
        case either(Expression, Expression)

        static func random(depth: Int, _ generator: inout SeededGenerator) -> Expression {
            let deeper = depth - 1
            switch depth == 0 ? 0 : Int.random(in: 0...3, using: &generator) {
            case 0: return .topic(ConditionTests.topics.randomElement(using: &generator)!)
            case 1: return .not(random(depth: deeper, &generator))
            case 2: return .both(random(depth: deeper, &generator), random(depth: deeper, &generator))
            default: return .either(random(depth: deeper, &generator), random(depth: deeper, &generator))
            }
        }

        var text: String {
            switch self {
            case .topic(let name): "'\(name)' in topics"
            case .not(let inner): "!(\(inner.text))"
            case .both(let left, let right): "(\(left.text)) && (\(right.text))"
            case .either(let left, let right): "(\(left.text)) || (\(right.text))"
            }
        }

        func holds(for topics: Set<String>) -> Bool {
            switch self {
            case .topic(let name): topics.contains(name)
            case .not(let inner): !inner.holds(for: topics)
            case .both(let left, let right): left.holds(for: topics) && right.holds(for: topics)
            case .either(let left, let right): left.holds(for: topics) || right.holds(for: topics)
            }
        }
    }

    @Test(arguments: Soak.seeds(3, soak: 200))
    func thePlannedSetIsTheEvaluatedOne(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let world = try World()
        var subscriptions: [Int64: Set<String>] = [:]
        for id in try world.devices(40) {
            subscriptions[id] = Set(Self.topics.filter { _ in Bool.random(using: &generator) })
            for topic in subscriptions[id]! {
                _ = try world.connection.query("SELECT fanfare.subscribe($1::bigint, $2)", "\(id)", topic)
            }
        }
        var events: [(id: Int64, expression: Expression)] = []
        for n in 0..<25 {
            let expression = Expression.random(depth: 3, &generator)
            // An expression that no device can satisfy is rejected when the rule is saved.
            let meets = subsets.contains { expression.holds(for: $0) }
            guard meets else { continue }
            try world.rule("r\(n)", event: "e\(n)", to: #"{"condition": "\#(expression.text)"}"#)
            events.append((try world.emit("e\(n)"), expression))
        }
        #expect(events.count > 10)
        try world.plan()
        for (event, expression) in events {
            let expected = subscriptions.filter { expression.holds(for: $0.value) }.keys.sorted()
            #expect(try world.recipients(event) == expected, "\(expression.text)")
        }
    }

    /// All sets of topics that a device may have.
    private var subsets: [Set<String>] {
        (0..<(1 << Self.topics.count)).map { bits in
            Set(Self.topics.indices.filter { bits & (1 << $0) != 0 }.map { Self.topics[$0] })
        }
    }

    @Test(arguments: [
        ("'even' in topics && !('seventh' in topics)", "id % 2 = 0 AND id % 7 <> 0"),
        ("'even' in topics || 'seventh' in topics", "id % 2 = 0 OR id % 7 = 0"),
        ("!('seventh' in topics)", "id % 7 <> 0"),
        ("('sparse' in topics && 'even' in topics) || 'seventh' in topics", "id % 1000 = 0 OR id % 7 = 0"),
    ])
    func audiencesOfSeveralSlicesAreExact(_ condition: String, _ expected: String) throws {
        let world = try World()
        try populate(world)
        try world.connection.execute("ANALYZE fanfare.devices, fanfare.subscriptions, fanfare.topics")
        try world.rule("r", event: "e", to: #"{"condition": "\#(condition)"}"#)
        let event = try world.emit("e")
        try world.plan()
        let difference = try world.connection.query(
            """
            WITH planned AS (SELECT unnest(device_ids) AS id FROM fanfare.batches WHERE event_id = $1)
            SELECT (SELECT count(*) FROM planned), (SELECT count(DISTINCT id) FROM planned),
                (SELECT count(*) FROM fanfare.devices WHERE \(expected)),
                (SELECT count(*) FROM planned WHERE NOT (\(expected)))
            """,
            "\(event)"
        ).rows[0]
        #expect(difference[0] == difference[2])
        #expect(difference[1] == difference[2])
        #expect(difference[3] == "0")
    }

    /// Creates tens of thousands of devices: every second, seventh and thousandth is subscribed.
    private func populate(_ world: World) throws {
        try world.device("aa")
        try world.connection.execute(
            """
            INSERT INTO fanfare.devices (app_id, target_id, provider, token, token_hash)
            SELECT app_id, target_id, 'apns', g::text, sha256(g::text::bytea)
            FROM fanfare.devices, generate_series(1, 45000) AS g;
            INSERT INTO fanfare.topics (name) VALUES ('even'), ('seventh'), ('sparse');
            INSERT INTO fanfare.subscriptions SELECT t.id, d.id FROM fanfare.topics AS t, fanfare.devices AS d
            WHERE d.id % CASE t.name WHEN 'even' THEN 2 WHEN 'seventh' THEN 7 ELSE 1000 END = 0;
            """
        )
    }

    @Test func aSliceNeedsNoStatistics() throws {
        // The state after a bulk load or a restore, before autovacuum has run.
        let world = try World()
        try populate(world)
        let version = try world.rule("r", event: "e", to: #"{"condition": "!('seventh' in topics)"}"#)
        let plan = OpenedPlan(
            eventID: 1,
            ruleVersion: Int32(version),
            cursor: 0,
            lastDevice: 45_001,
            clauses: [PlannedClause(all: [], none: [2])],
            isCancelled: false,
            app: 1,
            lane: 2,
            gate: 0
        )
        let session = try PostgresConnection.open(world.context.database.slices("test"))
        try session.execute("SET statement_timeout = '3s'")
        let slice = SliceStatements(plan: plan).slice(upTo: 20_000, batchSize: 1000)
        _ = try session.query(slice.sql, binds: slice.binds)
        #expect(try session.number("SELECT sum(cardinality(device_ids)) FROM fanfare.batches") == 17_143)
    }

    @Test func topicsNobodyEverSubscribedTo() throws {
        let world = try World()
        let device = try world.device("aa")
        _ = try world.connection.query("SELECT fanfare.subscribe($1::bigint, 'known')", "\(device)")
        for (n, condition) in [
            "'ghost' in topics", "!('ghost' in topics)", "'known' in topics && !('ghost' in topics)",
            "'ghost' in topics || 'known' in topics",
        ].enumerated() {
            try world.rule("r\(n)", event: "e\(n)", to: #"{"condition": "\#(condition)"}"#)
        }
        let events = try (0..<4).map { try world.emit("e\($0)") }
        try world.plan()
        #expect(try events.map { try world.recipients($0) } == [[], [device], [device], [device]])
    }
}
