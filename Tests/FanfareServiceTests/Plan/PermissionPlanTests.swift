import FanfareCore
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// Audiences that filter on what devices' users allow.
@Suite(.database)
struct PermissionPlanTests {
    let world: World
    /// Devices by what they said: nothing, denied, provisional with all presentations, authorized with badges only.
    let devices: [Int64]

    init() throws {
        world = try World()
        devices = [
            try world.device("a0", user: "u"),
            try world.device("a1", user: "u", "permission => 'denied', presents => '{}'"),
            try world.device("a2", user: "u", "permission => 'provisional', presents => '{alert,badge,sound}'"),
            try world.device("a3", user: "u", "permission => 'authorized', presents => '{badge}'"),
        ]
        for device in devices {
            _ = try world.connection.query("SELECT fanfare.subscribe($1::bigint, 't')", "\(device)")
        }
    }

    /// Filters, and the devices that pass them.
    static let filters: [(filter: String, passes: [Int])] = [
        ("", [0, 1, 2, 3]), (#", "permission": "authorized""#, [3]), (#", "permission": ["denied"]"#, [1]),
        (#", "permission": ["authorized", "provisional"]"#, [2, 3]), (#", "permission": "unknown""#, [0]),
        (#", "permission": ["authorized", "provisional", "unknown"]"#, [0, 2, 3]), (#", "presents": "badge""#, [2, 3]),
        (#", "presents": ["badge", "alert"]"#, [2]), (#", "permission": "authorized", "presents": "sound""#, []),
    ]

    static let audiences = [
        #""users": "$.u""#, #""topic": "t""#, #""condition": "'t' in topics""#, #""everyone": true"#,
        #""tokens": "$.tokens", "provider": "apns""#, #""users_sql": "SELECT 'u'""#,
    ]

    @Test(arguments: audiences)
    func eachAudienceIsFiltered(to: String) throws {
        var events: [Int64] = []
        for (n, filter) in Self.filters.enumerated() {
            try world.rule("r\(n)", event: "e\(n)", to: "{\(to)\(filter.filter)}")
            events.append(try world.emit("e\(n)", #"{"u": "u", "tokens": ["a0", "a1", "a2", "a3"]}"#))
        }
        try world.plan()
        let runner = world.queryRunner()
        while try runner.takeTurn(on: world.connection) {}
        for (filter, event) in zip(Self.filters, events) {
            #expect(try world.recipients(event) == filter.passes.map { devices[$0] }, "\(to)\(filter.filter)")
        }
    }

    @Test func aReplayToOneUserIsFiltered() throws {
        try world.rule("r", event: "e", to: #"{"topic": "t", "permission": "authorized"}"#)
        let event = try world.emit("e")
        try world.plan()
        let replay = try world.connection.number("SELECT fanfare.replay($1, 'u')", "\(event)")
        try world.plan()
        #expect(try world.recipients(replay) == [devices[3]])
    }

    @Test func aMessageIsFiltered() throws {
        let events = try Self.filters.map { filter in
            let to = #"{"users": "u"\#(filter.filter)}"#
            let message = #"{"app": "shop", "to": \#(to), "message": {"notification": {"title": "T"}}}"#
            return try world.connection.number("SELECT fanfare.send($1::jsonb)", message)
        }
        try RuleChecker(logger: world.context.logger).check(on: world.connection)
        try world.plan()
        for (filter, event) in zip(Self.filters, events) {
            #expect(try world.recipients(event) == filter.passes.map { devices[$0] }, "\(filter.filter)")
        }
    }

    /// The slices of a plan test the filter only if its rule has one.
    @Test func onlyPlansOfFiltersReadThem() throws {
        try world.rule("plain", event: "plain", to: #"{"everyone": true, "provider": "apns"}"#)
        try world.rule("filtered", event: "filtered", to: #"{"everyone": true, "presents": "badge"}"#)
        for type in ["plain", "filtered"] {
            let event = try world.emit(type)
            _ = try world.connection.run(
                SQL.openPlan(
                    event,
                    try Int32(
                        world.connection.number(
                            "SELECT v.id FROM fanfare.rule_versions AS v WHERE v.event_type = $1",
                            type
                        )
                    ),
                    PlannedClause.json([PlannedClause(all: [], none: [])])
                )
            )
            let plan = try world.connection.run(LockPlan()).first
            #expect(plan?.filtersPermission == (type == "filtered"))
            try world.connection.execute("DELETE FROM fanfare.plans")
        }
    }
}
