import FanfareCore
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// The view `deliveries`: it finds the deliveries of one event or user through indexes, and agrees with a full scan.
@Suite(.databaseWithRing)
struct DeliveryViewTests {
    let world: World

    init() throws {
        world = try World()
    }

    /// Records all claimed deliveries as accepted.
    private func sendAll() throws {
        for one in try world.prepare(try world.claim()) {
            let results = one.batch.deliveries.map { DeliveryResult(position: $0.position, outcome: .accepted) }
            world.record([
                .opened(one.batch, decided: one.decided), .results(one.batch.claimed.claim, results, slots: 0),
            ])
        }
    }

    /// Creates rounds of small events, broadcasts and one single event; the last round is still in the queue.
    private func populate() throws -> (events: [Int64], users: [String]) {
        let users = (0..<12).map { "user-\($0)" }
        for (n, user) in users.enumerated() {
            try world.device("aa\(10 + n)", user: user)
            if n.isMultiple(of: 3) { try world.device("bb\(10 + n)", user: user) }
        }
        try world.device("cc10")
        try world.rule("one", event: "one", to: #"{"users": "$.u"}"#)
        try world.rule("all", event: "all", to: #"{"everyone": true}"#)
        try world.rule("topic", event: "topic", to: #"{"fcm_topic": "news"}"#)
        var events: [Int64] = []
        for round in 0..<4 {
            for n in 0..<9 { events.append(try world.emit("one", #"{"u": "\#(users[(n * 5 + round) % 12])"}"#)) }
            events.append(try world.emit("all"))
            events.append(try world.emit("topic"))
            try world.plan()
            if round == 2 { events.append(try world.emit("one", #"{"u": "user-1"}"#)) }
            try world.plan()
            if round < 3 { try sendAll() }
        }
        return (events, users)
    }

    @Test func whatIsFoundIsWhatALookAtAllOfItFinds() throws {
        let (events, users) = try populate()
        // As version 2 writes it.
        try world.connection.execute(
            """
            UPDATE fanfare.batch_log SET first_event = NULL, last_event = NULL, device_marks = NULL
            WHERE id = (SELECT min(id) FROM fanfare.batch_log WHERE event_id IS NULL)
            """
        )
        _ = try world.connection.query("SELECT fanfare.forget_user('shop', 'user-3')")
        let columns = "concat_ws('/', event_id, rule, device_id, user_id, attempt, outcome, at, batch_id, detail)"
        let all = "(SELECT * FROM fanfare.deliveries OFFSET 0)"
        for (column, values) in [("event_id", events.map(String.init)), ("user_id", users)] {
            for value in values {
                let found = "SELECT \(columns) FROM fanfare.deliveries WHERE \(column) = $1 ORDER BY 1"
                let there = "SELECT \(columns) FROM \(all) AS d WHERE \(column) = $1 ORDER BY 1"
                let rows = try world.connection.column(found, value)
                #expect(try rows == world.connection.column(there, value), "\(column) \(value)")
                #expect(rows.isEmpty == (value == "user-3"), "\(column) \(value)")
            }
        }
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.batches") > 0)
        let mixed = "SELECT count(*) FROM fanfare.batch_log WHERE event_id IS NULL AND device_marks IS NOT NULL"
        #expect(try world.connection.number(mixed) > 0)
    }

    /// The tables are so small that the planner would scan them; with scans disabled, an index path must exist.
    @Test(arguments: ["event_id = 10862", "user_id = 'user-7'"])
    func everyBatchOfTheLogIsReachedThroughAnIndex(_ condition: String) throws {
        for path in ["seqscan", "hashjoin", "mergejoin", "material"] {
            try world.connection.execute("SET enable_\(path) = off")
        }
        let plan = try #require(
            try world.connection.text("EXPLAIN (FORMAT JSON) SELECT * FROM fanfare.deliveries WHERE \(condition)")
        )
        let scans = Scan.all(in: try JSONValue(parsing: plan)).filter { $0.relation.hasPrefix("batch_log_") }
        #expect(scans.count == 64)
        for scan in scans { #expect(scan.condition != nil, "\(scan.relation) by \(condition)") }
        #expect(!plan.contains("Gather"))
    }

    @Test func aRefusalNamesItsRuleAndWhatItLacks() throws {
        for (token, user) in [("aa10", "u"), ("aa11", "v"), ("aa12", "w")] { try world.device(token, user: user) }
        let message = #""message": {"notification": {"title": "{{order.id}}", "body": "{{total}}"}}"#
        try world.rule("shipped", event: "e", to: #"{"users": "$.u"}"#, message)
        let events = try [
            #"{"u": "u", "total": 1}"#, #"{"u": "v", "order": {"id": 7}}"#,
            #"{"u": "w", "order": {"id": 7}, "total": 1}"#,
        ].map { try world.emit("e", $0) }
        try world.plan()
        try sendAll()
        let details = try events.map { event in
            try world.connection.text("SELECT detail FROM fanfare.deliveries WHERE event_id = $1", String(event))
        }
        #expect(
            details == [
                "rule shipped, version 1: 'order.id' is missing or null",
                "rule shipped, version 1: 'total' is missing or null",
                Outcome.accepted.meaning,
            ]
        )
    }

    @Test func whatASenderRefusesIsExplainedToo() throws {
        try world.device("aa10", user: "u")
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        let event = try world.emit("e", #"{"u": "u"}"#)
        try world.plan()
        let one = try #require(try world.prepare(try world.claim()).first)
        let claim = one.batch.claimed.claim
        world.record([
            .opened(one.batch, decided: []), .refused(claim, eventID: event, why: "rule r, version 1: header \"x\""),
            .results(claim, [DeliveryResult(position: 0, outcome: .refused)], slots: 0),
        ])
        let detail = "SELECT detail FROM fanfare.deliveries WHERE event_id = $1"
        #expect(try world.connection.text(detail, String(event)) == "rule r, version 1: header \"x\"")
    }

    @Test func eventsCountTheirDeliveries() throws {
        let (events, _) = try populate()
        try world.connection.execute(
            "UPDATE fanfare.batch_log SET attempt = 2 WHERE id = (SELECT min(id) FROM fanfare.batch_log)"
        )
        for event in events {
            let counted = "SELECT deliveries FROM fanfare.events WHERE id = $1"
            let there = "SELECT count(*) FROM fanfare.deliveries WHERE event_id = $1 AND attempt = 1"
            let deliveries = try world.connection.number(counted, String(event))
            #expect(try deliveries == world.connection.number(there, String(event)))
        }
        let none = try world.emit("nobody")
        #expect(try world.connection.number("SELECT deliveries FROM fanfare.events WHERE id = $1", String(none)) == 0)
    }
}

/// A plan node that reads a table.
private struct Scan {
    let relation: String
    /// The condition of its index scan.
    let condition: String?

    static func all(in plan: JSONValue) -> [Scan] {
        if let list = plan.arrayValue { return list.flatMap(all) }
        let children = plan["Plans"].map(all) ?? plan["Plan"].map(all) ?? []
        guard let relation = plan["Relation Name"]?.stringValue else { return children }
        let own = plan["Index Cond"] ?? plan["Plans"]?.arrayValue?.first?["Index Cond"]
        return [Scan(relation: relation, condition: own?.stringValue)] + children
    }
}
