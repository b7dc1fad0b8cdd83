import FanfareCore
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareTools

/// A Live Activity from start to end: push-to-start, updates by the activity's own token, the end, and a broadcast.
@Suite(.flowSandbox, .database, .serialized, .timeLimit(.minutes(5)))
struct LiveActivityFlowTests {
    private static let start = #"""
        "message": {"apns": {"payload": {"aps": {
            "timestamp": "{{event.time}}", "event": "start", "attributes-type": "Delivery",
            "attributes": {"order": "{{order}}"}, "content-state": {"stage": "packed"}, "input-push-token": 1,
            "alert": {"title": "Order {{order}}", "body": "We are packing it"}}}}}
        """#
    private static let update = #"""
        "collapse": "order-{{order}}", "message": {"apns": {"payload": {"aps": {
            "timestamp": "{{event.time}}", "event": "update", "content-state": {"stage": "{{stage}}"}}}}}
        """#
    private static let end = #"""
        "message": {"apns": {"payload": {"aps": {
            "timestamp": "{{event.time}}", "event": "end", "dismissal-date": "{{until}}",
            "content-state": {"stage": "delivered"}}}}}
        """#

    private func rules(_ world: World) throws {
        try world.rule("start", event: "packed", to: #"{"users": "$.user", "kind": "live_activity_start"}"#, Self.start)
        let activity = #"{"topic": "activity-{{order}}", "kind": "live_activity"}"#
        try world.rule("update", event: "moved", to: activity, Self.update)
        try world.rule("end", event: "delivered", to: activity, Self.end)
    }

    /// FCM has one code for a dead registration and for an activity that has ended.
    @Test func aPushForAnActivityThroughFCMKeepsTheDevice() async throws {
        try await Flow.run { flow in
            try await flow.sql { world in
                try world.register(android: "gone-activity", user: "9")
                try world.rule(
                    "through-fcm",
                    event: "moved",
                    to: #"{"users": "$.user", "provider": "fcm"}"#,
                    #"""
                    "message": {"apns": {"live_activity_token": "{{token}}", "payload": {"aps": {
                        "timestamp": "{{event.time}}", "event": "update", "content-state": {"stage": "packed"}}}}}
                    """#
                )
                try world.emit("moved", #"{"user": "9", "token": "a1b2"}"#)
            }
            try await flow.untilIdle()
            let outcomes = try await flow.sql { world in
                try world.connection.column("SELECT outcome || ' ' || reason FROM fanfare.deliveries")
            }
            #expect(outcomes == ["rejected UNREGISTERED"])
            let disabled = "SELECT count(*) FROM fanfare.devices WHERE disabled_at IS NOT NULL"
            #expect(try await flow.sql { try $0.connection.number(disabled) } == 0)
        }
    }

    @Test func anActivityIsStartedUpdatedAndEnded() async throws {
        try await Flow.run { flow in
            try await flow.sql { world in
                try rules(world)
                try world.device("1a00", user: "8", "kind => 'live_activity_start'")
                try world.device("1a01", user: "8")
                try world.emit("packed", #"{"user": "8", "order": 7}"#)
            }
            let started = try #require(try await flow.pushes(1, to: "1a0").first)
            #expect(started.token == "1a00" && started.status == 200, "\(started.reason ?? "")")
            #expect(started.headers["apns-push-type"] == "liveactivity")
            #expect(started.headers["apns-topic"]?.hasSuffix(".push-type.liveactivity") ?? false)
            #expect(try started.json("aps", "attributes", "order") == 7, "a number stays one")
            #expect(try started.json("aps", "timestamp")?.numberValue?.integer ?? 0 > 1_700_000_000)
            // The app registers the token that iOS assigned to this activity.
            try await flow.sql { world in
                let device = try world.device("1b00", user: "8", "kind => 'live_activity'")
                _ = try world.connection.query("SELECT fanfare.subscribe($1::bigint, 'activity-7')", "\(device)")
                try world.emit("moved", #"{"order": 7, "stage": "on its way"}"#)
            }
            let moved = try #require(try await flow.pushes(1, to: "1b").first)
            #expect(try moved.json("aps", "content-state", "stage")?.stringValue == "on its way")
            #expect(moved.headers["apns-collapse-id"] == "order-7")
            try await flow.sql { _ = try $0.emit("delivered", #"{"order": 7, "until": 1900000000}"#) }
            try await flow.until("SELECT count(*) = 3 FROM fanfare.deliveries WHERE outcome = 'accepted'")
            let ended = try #require(try await flow.received(by: "1b").last)
            #expect(try ended.json("aps", "event")?.stringValue == "end")
            #expect(try ended.json("aps", "dismissal-date") == 1_900_000_000)
            #expect(try await flow.received(by: "1a01").isEmpty, "ordinary tokens get none of it")
        }
    }

    @Test func theNewestStateWins() async throws {
        try await Flow.run { flow in
            let events = try await flow.sql { world in
                try rules(world)
                let device = try world.device("1c00", user: "9", "kind => 'live_activity'")
                _ = try world.connection.query("SELECT fanfare.subscribe($1::bigint, 'activity-8')", "\(device)")
                return try world.connection.transaction { _ throws(PostgresError) in
                    (1...5).map { try? world.emit("moved", #"{"order": 8, "stage": "\#($0)"}"#) }.compactMap(\.self)
                }
            }
            try await flow.untilIdle()
            let outcomes = try await flow.sql { world in try events.map { try world.outcomes($0) } }
            #expect(outcomes.dropLast().allSatisfy { $0 == ["superseded/newer_event"] }, "\(outcomes)")
            #expect(outcomes.last == ["accepted/accepted"])
            let pushes = try await flow.received(by: "1c")
            #expect(try pushes.map { try $0.json("aps", "content-state", "stage")?.stringValue } == ["5"])
        }
    }

    @Test func aBroadcastReachesAChannelThatWasMade() async throws {
        try await Flow.run { flow in
            let configuration = try flow.configuration()
            let id = try await onThread {
                try ChannelManager(configuration, app: "shop", isSandbox: false, environment: [:]).create(.nothing)
            }
            try await flow.sql { world in
                try world.rule("match", event: "goal", to: #"{"channel": "{{channel}}"}"#, Self.broadcast)
                try world.emit("goal", #"{"channel": "\#(id)", "score": "2:1"}"#)
            }
            try await flow.until("SELECT count(*) = 1 FROM fanfare.deliveries WHERE outcome = 'accepted'")
            let push = try #require(try await flow.sandbox.received().last)
            #expect(push.path.hasPrefix("/4/broadcasts/apps/"))
            #expect(push.headers["apns-channel-id"] == id && push.headers["apns-expiration"] == "0")
            #expect(try push.json("aps", "content-state", "score")?.stringValue == "2:1")
        }
    }

    @Test(arguments: ["FeatureNotEnabled", "TopicMismatch"])
    func aBroadcastOfARefusedSenderWaits(reason: String) async throws {
        try await Flow.run { flow in
            try await flow.sandbox.setFaults(#"[{"provider": "apns", "do": "status", "reason": "\#(reason)"}]"#)
            let event = try await flow.sql { world in
                try world.rule("match", event: "goal", to: #"{"channel": "{{channel}}"}"#, Self.broadcast)
                return try world.emit("goal", #"{"channel": "AAAA", "score": "0:0"}"#)
            }
            try await flow.until(
                "SELECT EXISTS (SELECT FROM fanfare.health WHERE name ~ '^refused: shop/apns/' AND starts_with(detail, '\(reason): '))"
            )
            #expect(try await flow.sql { try $0.outcomes(event) } == ["pending/not_attempted"])
        }
    }

    /// From Apple, "Handling error responses from Apple Push Notification service".
    @Test(arguments: [
        [
            "BadChannelId", "BadRequestParams", "BadRequestPayload", "CannotCreateChannelConfig",
            "ChannelNotRegistered", "MissingChannelId", "MissingPushType", "PayloadEmpty", "InvalidPushType",
        ]
    ])
    func eachReasonOfABroadcastIsTakenAtItsWord(reasons: [String]) async throws {
        try await Flow.run { flow in
            // The sandbox has a channel for any valid Base64.
            let channels = reasons.map { $0 + String(repeating: "A", count: (4 - $0.utf8.count % 4) % 4) }
            let faults = zip(reasons, channels).map { reason, channel in
                #"{"provider": "apns", "match": {"token": "^\#(channel)$"}, "do": "status", "reason": "\#(reason)"}"#
            }
            try await flow.sandbox.setFaults("[\(faults.joined(separator: ","))]")
            let events = try await flow.sql { world in
                try world.rule("match", event: "goal", to: #"{"channel": "{{channel}}"}"#, Self.broadcast)
                return try channels.map { try world.emit("goal", #"{"channel": "\#($0)", "score": "0:0"}"#) }
            }
            try await flow.until(
                "SELECT count(*) = \(reasons.count) FROM fanfare.deliveries WHERE outcome = 'rejected'"
            )
            let outcomes = try await flow.sql { world in try events.map { try world.outcomes($0) } }
            #expect(outcomes == reasons.map { ["rejected/\($0)"] })
        }
    }

    private static let broadcast = #"""
        "message": {"apns": {"payload": {"aps": {
            "timestamp": "{{event.time}}", "event": "update", "content-state": {"score": "{{score}}"}}}}}
        """#
}
