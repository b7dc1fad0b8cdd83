import FanfareCore
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareCampaigns
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// Rules whose pushes another event takes back, and the values by which events are found.
@Suite(.database)
struct RetractOnTests {
    private static let users = #"{"users": "$.u"}"#
    private static let read = #""retract_on": {"event": "read", "by": "{{room.id}}", "user": "{{reader}}"}"#
    private static let collapse = #""collapse": "room-{{room.id}}""#
    private static let values = "SELECT count(*) FROM fanfare.event_values"

    private func world(_ options: String = read) throws -> World {
        let world = try World()
        for user in ["ann", "bob"] { try world.register(android: user, user: user) }
        try world.rule("chat", event: "chat", to: Self.users, "\(Self.collapse), \(options)")
        return world
    }

    private func send(_ room: String, to users: String = #"["ann", "bob"]"#, on world: World) throws -> Int64 {
        let event = try world.emit("chat", #"{"u": \#(users), "room": {"id": \#(room)}}"#)
        try world.plan()
        try world.answer()
        return event
    }

    private func read(_ room: String, by user: String = "ann", key: String? = nil, on world: World) throws {
        try world.emit("read", #"{"room": {"id": \#(room)}, "reader": "\#(user)"}"#, key: key)
        try world.plan()
        try world.takeBack()
    }

    @Test func aReadReceiptClearsTheReadersOtherDevices() throws {
        let world = try self.world()
        _ = try send("5", on: world)
        _ = try send("6", on: world)
        try read("5", on: world)
        #expect(try world.silentPushes() == ["ann: room-5"])
        // The text counts, not the type.
        try read(#""6""#, by: "bob", on: world)
        #expect(try world.silentPushes() == ["ann: room-5", "bob: room-6"])
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.value_retractions") == 0)
    }

    @Test func withoutAUserItIsTakenBackFromAll() throws {
        let world = try self.world(#""retract_on": {"event": "read", "by": "{{room.id}}"}"#)
        _ = try send("5", on: world)
        try read("5", on: world)
        #expect(try world.silentPushes() == ["ann: room-5", "bob: room-5"])
    }

    @Test func onlyTheRulesOwnPushesAreTakenBack() throws {
        let world = try self.world()
        try world.rule("other", event: "chat", to: Self.users, #""collapse": "other""#)
        _ = try send("5", on: world)
        try read("5", on: world)
        #expect(try world.silentPushes() == ["ann: room-5"])
        #expect(
            try world.connection.column("SELECT DISTINCT rule FROM fanfare.deliveries WHERE retracted_at IS NOT NULL")
                == ["chat"]
        )
    }

    @Test func whatWaitsForTheReaderIsNotSent() throws {
        let world = try self.world()
        let event = try world.emit("chat", #"{"u": ["ann", "bob"], "room": {"id": 5}}"#)
        try world.plan()
        try read("5", on: world)
        #expect(try world.prepare(try world.claim()).flatMap(\.decided).map(\.outcome) == [.retracted])
        #expect(try world.recipients(event).count == 2)
    }

    @Test func anEventThatIsPlannedWithItsReceiptIsFound() throws {
        let world = try self.world()
        try world.emit("chat", #"{"u": ["ann"], "room": {"id": 5}}"#)
        try world.emit("read", #"{"room": {"id": 5}, "reader": "ann"}"#)
        try world.emit("chat", #"{"u": ["ann"], "room": {"id": 5}}"#)
        try world.plan()
        try world.takeBack()
        let taken = "SELECT count(*) FROM fanfare.retractions"
        #expect(try world.connection.number(taken) == 1, "the later one is not read")
    }

    /// The receipt is planned first; what it takes back is still in the outbox.
    @Test func aReceiptWaitsForEarlierEvents() throws {
        let world = try self.world()
        let earlier = try world.connection.number(
            "SELECT fanfare.emit('chat', '{\"u\": \"ann\", \"room\": {\"id\": 5}}')"
        )
        try world.connection.execute(
            "CREATE TEMPORARY TABLE held AS SELECT * FROM fanfare.outbox; DELETE FROM fanfare.outbox"
        )
        try world.emit("read", #"{"room": {"id": 5}, "reader": "ann"}"#)
        try world.plan()
        try world.connection.execute("INSERT INTO fanfare.outbox SELECT * FROM held")
        try world.takeBack()
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.value_retractions") == 1)
        try world.plan()
        try world.answer()
        try world.takeBack(at: "now() + interval '7 seconds'")
        #expect(try world.silentPushes() == ["ann: room-5"])
        #expect(try world.connection.number("SELECT event_id FROM fanfare.retractions") == earlier)
    }

    @Test func replaysDuplicatesAndCancelledEventsDoNotCount() throws {
        let world = try self.world()
        let event = try send("5", on: world)
        #expect(try world.connection.number(Self.values) == 1)
        try world.connection.execute("SELECT fanfare.replay(\(event))")
        try world.emit("chat", #"{"u": "ann", "room": {"id": 5}}"#, key: "k")
        try world.emit("chat", #"{"u": "ann", "room": {"id": 5}}"#, key: "k")
        let cancelled = try world.emit("chat", #"{"u": "ann", "room": {"id": 5}}"#)
        try world.connection.execute("SELECT fanfare.cancel(\(cancelled))")
        for room in [#"{"a": 1}"#, "null", "[5]"] { try world.emit("chat", #"{"u": "ann", "room": {"id": \#(room)}}"#) }
        try world.plan()
        #expect(try world.connection.number(Self.values) == 2)
        // Nor do they take anything back.
        let receipt = try world.emit("read", #"{"room": {"id": 5}, "reader": "ann"}"#)
        try world.connection.execute("SELECT fanfare.cancel(\(receipt))")
        for reader in [#""undefined""#, "null", "[1]"] {
            try world.emit("read", #"{"room": {"id": 5}, "reader": \#(reader)}"#)
        }
        try world.plan()
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.value_retractions") == 0)
    }

    @Test func onlyTypesThatAnActiveRuleNamesAreStored() throws {
        let world = try World()
        try world.register(android: "ann", user: "ann")
        try world.rule("chat", event: "chat", to: Self.users, Self.collapse)
        _ = try send("5", on: world)
        try world.rule("chat", event: "chat", to: Self.users, "\(Self.collapse), \(Self.read)")
        _ = try send("5", on: world)
        try world.emit("other", #"{"room": {"id": 5}}"#)
        try world.plan()
        #expect(try world.connection.number(Self.values) == 1)
        var chores = world.chores()
        try chores.run(on: world.connection)
        #expect(try world.connection.number(Self.values) == 1)
        try world.connection.execute(
            "SELECT fanfare.drop_rule('shop', 'chat'); UPDATE fanfare.value_paths SET named_at = now() - interval '2 h'"
        )
        try chores.run(on: world.connection)
        #expect(try world.connection.number(Self.values) == 0)
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.value_paths") == 0)
    }

    @Test func eventsOlderThanTheWindowStay() throws {
        let world = try self.world(#""retract_on": {"event": "read", "by": "{{room.id}}", "within": "1h"}"#)
        _ = try send("5", on: world)
        try world.connection.execute("UPDATE fanfare.event_values SET created_at = now() - interval '61 min'")
        try read("5", on: world)
        #expect(try world.silentPushes().isEmpty)
        var chores = world.chores()
        try chores.run(on: world.connection)
        #expect(try world.connection.number(Self.values) == 0)
    }

    @Test(arguments: [
        (#"{"event": "read", "by": "room-{{room}}"}"#, "retract_on.by: is not one name of the payload", "a single tag"),
        (#"{"event": "read", "by": "{{uppercased(room)}}"}"#, "retract_on.by: is not one name", "a single tag"),
        (#"{"event": "read", "by": "{{room}}", "user": "me"}"#, "retract_on.user: is not one name", "{{user_id}}"),
        (#"{"event": "read", "by": "{{room"}"#, "retract_on.by", ""),
        (#"{"event": "", "by": "{{room}}"}"#, "retract_on.event", "order.shipped"),
        (#"{"event": "read"}"#, "retract_on.by", "{{room}}"),
        (#"{"by": "{{room}}"}"#, "retract_on.event", ""),
        (#"{"event": "read", "by": "{{room}}", "within": "31d"}"#, "retract_on.within", "24h"),
        (#"{"event": "read", "by": "{{room}}", "more": 1}"#, "retract_on.more", ""),
        (#""read""#, "retract_on: is not an object", "message.read"),
    ])
    func aWrongKeyIsRefusedWithPlaceAndHint(value: String, place: String, hint: String) throws {
        let problem = try problem(#""collapse": "c", "retract_on": \#(value)"#)
        #expect(problem?.description.contains(place) == true, "\(problem?.description ?? "")")
        #expect(problem?.description.contains(hint) == true, "\(problem?.description ?? "")")
    }

    @Test(arguments: [
        ("", "retract_on: needs collapse"),
        (#""collapse": "c", "to": {"fcm_topic": "all"}, "#, "retract_on: needs the devices that were reached"),
        (#""collapse": "c", "to": {"users": "$.u", "kind": "voip"}, "#, "retract_on: is for notifications"),
        (#""collapse": "c", "digest": {"every": "1m", "by": "{{u}}"}, "#, "retract_on: is beside digest"),
    ])
    func aRuleWhosePushesCannotBeTakenBackIsRefused(options: String, place: String) throws {
        let problem = try problem(#"\#(options)"retract_on": {"event": "read", "by": "{{room}}"}"#)
        #expect(problem?.description.contains(place) == true, "\(problem?.description ?? "")")
    }

    /// Returns the error of a rule with some members; its audience is the users of `$.u` unless they name another.
    private func problem(_ members: String) throws -> RuleProblem? {
        let to = members.contains(#""to""#) ? "" : #""to": {"users": "$.u"}, "#
        let json = #"{"app": "shop", "name": "n", "event": "e", \#(to)"message": {"data": {"a": "b"}}, \#(members)}"#
        let parsed = try JSONValue(parsing: json)
        do throws(RuleProblem) {
            _ = try CompiledRule(json: parsed)
            return nil
        } catch {
            return error
        }
    }
}
