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
        ("'even' in topics", "id % 2 = 0"),
        ("'seventh' in topics", "id % 7 = 0"),
        ("'sparse' in topics", "id % 1000 = 0"),
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

    /// Clauses of topics by id: 1 is every second device, 2 every seventh.
    @Test(
        arguments: [
            (PlannedClause(all: [], none: [2]), 20_000 - 20_000 / 7),
            (PlannedClause(all: [1], none: []), 10_000),
            (PlannedClause(all: [1], none: [2]), 10_000 - 20_000 / 14),
        ],
        [true, false]
    )
    func aSliceNeedsNoStatistics(_ audience: (clause: PlannedClause, devices: Int), isDense: Bool) throws {
        // The state after a bulk load or a restore, before autovacuum has run.
        let world = try World()
        try populate(world)
        let version = try world.rule("r", event: "e", to: #"{"everyone": true}"#)
        let plan = OpenedPlan(
            eventID: 1,
            ruleVersion: Int32(version),
            cursor: 0,
            lastDevice: 45_001,
            clauses: [audience.clause],
            isCancelled: false,
            app: 1,
            lane: 2,
            gate: 0
        )
        let session = try PostgresConnection.open(world.context.database.slices("test"))
        try session.execute("SET statement_timeout = '3s'")
        try session.transaction { session throws(PostgresError) in
            _ = try SliceStatements(plan: plan)
                .expand(upTo: 20_000, of: isDense ? 10_000 : 0, batchSize: 1000, on: session)
        }
        let planned = try session.number("SELECT sum(cardinality(device_ids)) FROM fanfare.batches")
        #expect(planned == audience.devices)
    }

    @Test func batchesOfTwoProvidersAlternateAndAreSorted() throws {
        let world = try World()
        try populate(world)
        try world.device("bb", user: nil, provider: "fcm")
        // Every third device belongs to the other provider.
        try world.connection.execute(
            """
            UPDATE fanfare.devices SET provider = 'fcm', token_hash = sha256(('f' || id)::bytea),
                target_id = (SELECT target_id FROM fanfare.devices WHERE token = 'bb')
            WHERE id % 3 = 0
            """
        )
        try world.rule("r", event: "e", to: #"{"topic": "even"}"#)
        try world.emit("e")
        try world.plan()
        let isSorted = "device_ids = ARRAY(SELECT unnest(device_ids) ORDER BY 1)"
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.batches WHERE NOT \(isSorted)") == 0)
        #expect(try world.connection.number("SELECT max(cardinality(device_ids)) FROM fanfare.batches") == 1000)
        // Of each slice of 20,000, one provider has 14 batches and the other 7: no three of the other's follow each other.
        let targets = try world.connection.column("SELECT target_id FROM fanfare.batches ORDER BY id")
        let fewer = Dictionary(grouping: targets, by: \.self).min { $0.value.count < $1.value.count }?.key
        let runs = targets.split { $0 != fewer }.map(\.count)
        #expect(Set(targets).count == 2 && runs.count > 5 && runs.allSatisfy { $0 <= 2 }, "\(targets)")
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
