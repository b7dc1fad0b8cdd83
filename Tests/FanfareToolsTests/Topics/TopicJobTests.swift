import FanfareCore
import Foundation
import PostgresClient
import TestKit
import Testing
import Threading

@testable import DaemonKit
@testable import FanfareConfiguration
@testable import FanfareProviders
@testable import FanfareTools

/// Changes of FCM's own topics, against the simulated FCM and the database.
@Suite(.flowSandbox, .database, .serialized, .timeLimit(.minutes(5)))
struct TopicJobTests {
    private let world: TopicWorld

    init() throws {
        world = try TopicWorld()
    }

    // MARK: Answers

    @Test func eachMembershipIsRequestedAndEachAnswerCounted() async throws {
        let full = #"{\"error\":{\"status\":\"FAILED_PRECONDITION\",\"message\":\"Too many topics.\"}}"#
        try await world.flow.sandbox.setFaults(
            #"""
            [{"provider": "fcm_topics", "match": {"token": "^mix-7$"}, "do": "status", "reason": "UNREGISTERED"},
             {"provider": "fcm_topics", "match": {"token": "^mix-8$"}, "do": "status", "status": 400, "body": "\#(full)"},
             {"provider": "fcm_topics", "match": {"token": "^mix-9$"}, "do": "status", "reason": "SENDER_ID_MISMATCH"},
             {"provider": "fcm_topics", "match": {"token": "^mix-1.$"}, "do": "status", "reason": "UNAVAILABLE", "times": 2},
             {"provider": "fcm_topics", "match": {"token": "^mix-2.$"}, "do": "status", "reason": "RESOURCE_EXHAUSTED", "times": 1},
             {"provider": "fcm_topics", "match": {"token": "^mix-30$"}, "do": "reset", "code": "INTERNAL_ERROR", "times": 1},
             {"provider": "fcm_topics", "match": {"token": "^mix-31$"}, "do": "refuse", "times": 1},
             {"provider": "fcm_topics", "match": {"token": "^mix-32$"}, "do": "status", "reason": "UNAUTHENTICATED", "times": 1},
             {"provider": "fcm_topics", "match": {"token": "^mix-33$"}, "do": "status", "reason": "INTERNAL"}]
            """#
        )
        try await world.devices(1500, named: "mix")
        try await world.flow.sql { world in
            try world.connection.execute(
                """
                SELECT fanfare.unregister_device('shop', 'fcm', 'mix-3');
                SELECT fanfare.register_device('shop', 'apns', 'aabb', 'u1');
                SELECT fanfare.register_device('shop', 'fcm', '..', 'u1');
                """
            )
        }
        let mark = try await world.mark()
        let report = try await world.apply(world.change(.subscribe))
        let tally = report.tally
        #expect(tally.done == 1495 && tally.gone == 1 && tally.unserved == 1 && !report.isStopped)
        #expect(tally.refused == ["TOO_MANY_TOPICS": 1, "SENDER_ID_MISMATCH": 1, "INVALID_ARGUMENT": 1])
        #expect(!tally.isComplete && tally.devices == 1500)
        // Two of each of ten, one of each of ten, the reset and the renewed token, and all but one of the unserved.
        #expect(tally.repeated == 20 + 10 + 1 + 1 + 6)
        #expect(try world.stored() == ["subscribe stores 1502 finished"])
        let requests = try await world.requests(after: mark)
        let perTarget = Dictionary(grouping: requests, by: \.target)
        #expect(perTarget.count == 1499, "of all but the disabled device and the one without a path")
        #expect(perTarget["mix-15"]?.map(\.status) == [503, 503, 200])
        #expect(perTarget["mix-25"]?.map(\.status) == [429, 200])
        #expect(perTarget["mix-30"]?.map(\.status) == [nil, 409], "FCM had processed it")
        #expect(perTarget["mix-33"]?.count == FCMTopicPace().attempts)
        #expect(requests.allSatisfy { $0.method == "POST" && $0.body == "{}" })
        #expect(requests.allSatisfy { $0.path.hasSuffix("/topicSubscriptions?topic_name=stores") })
        #expect(Set(requests.map { $0.headers["authorization"] }).count == 2, "the token was renewed once")
        let connections = Dictionary(grouping: requests, by: \.connection).mapValues(\.count)
        #expect(connections.count <= world.configuration.send.connections + 1, "a reset stream ends no connection")

        try await world.flow.sandbox.setFaults("[]")
        let last = try await world.mark()
        let ended = try await world.apply(world.change(.unsubscribe))
        #expect(ended.tally.done == 1499 && ended.tally.refused == ["INVALID_ARGUMENT": 1])
        let deletions = try await world.requests(after: last)
        #expect(deletions.count == 1499 && deletions.allSatisfy { $0.method == "DELETE" && $0.status == 200 })
        #expect(deletions.allSatisfy { $0.path.hasSuffix("/topicSubscriptions/stores?allow_missing=true") })
        #expect(deletions.allSatisfy { $0.body?.isEmpty ?? true })
        #expect(try world.stored().last == "unsubscribe stores 1502 finished")
    }

    @Test func aSelectionIsSubscribersAndUsers() async throws {
        try await world.devices(20, named: "some")
        try await world.flow.sql { world in
            try world.connection.execute(
                "SELECT fanfare.subscribe(ARRAY(SELECT id FROM fanfare.devices WHERE token ~ '-(5|6|7)$'), 'news')"
            )
        }
        var filter = FCMDeviceFilter(app: "shop")
        (filter.topic, filter.users) = ("news", ["u1"])
        let mark = try await world.mark()
        let change = try TopicChange(.subscribe, topic: "100%", of: filter)
        #expect(try await world.apply(change).tally.done == 2)
        let requests = try await world.requests(after: mark)
        #expect(Set(requests.map(\.target)) == ["some-5", "some-7"])
        #expect(requests.allSatisfy { $0.path.hasSuffix("?topic_name=100%25") })
        let counted = try await toolDatabase().whileOpen { [filter] database throws(ToolError) in
            try await database.countTokens(filter)
        }
        #expect(counted == 2)
    }

    // MARK: Errors that end the job

    @Test(
        arguments: [
            (
                #""status": 403, "reason": "PERMISSION_DENIED""#, "FCM says 403 PERMISSION_DENIED",
                "cloudmessaging.topicSubscriptions.create"
            ),
            (#""status": 302, "location": "https://example.com/""#, "FCM says 302", "is apps.shop.fcm.endpoint right?"),
            (#""status": 401"#, "FCM refuses the access token, also after it was renewed", "fanfare check --online"),
            (#""status": 503"#, "FCM serves no changes of topics, also after repeats", "it continues where it stopped"),
        ]
    )
    func whatEveryRequestWouldMeetStopsTheJob(fault: String, reason: String, hint: String) async throws {
        // Each case has devices of its own, because the sandbox keeps subscriptions.
        let prefix = "stop" + fault.filter(\.isNumber)
        try await world.devices(300, named: prefix)
        // The first hundred are served.
        try await world.flow.sandbox.setFaults(
            #"[{"provider": "fcm_topics", "match": {"token": "-([12][0-9][0-9]|300)$"}, "do": "status", \#(fault)}]"#
        )
        var change = try world.change(.subscribe)
        change.devicesAtOnce = 99
        let error = await #expect(throws: ToolError.self) { try await world.apply(change) }
        #expect(
            error?.reason.hasPrefix(reason) == true && error?.hint.contains(hint) == true,
            "\(error?.description ?? "")"
        )
        #expect(error?.description.contains(prefix) == false, "no token in errors")
        #expect(try world.stored() == ["subscribe stores 99"])
        try await world.flow.sandbox.setFaults("[]")
        #expect(try await world.apply(change).tally.done == 300)
    }

    /// What a command undoes has to begin anew, although it was stopped half-way.
    @Test func theOppositeCommandForgetsProgress() async throws {
        try await world.devices(6, named: "opposite")
        try await world.flow.sandbox.setFaults(
            #"[{"provider": "fcm_topics", "match": {"token": "-[456]$"}, "do": "status", "status": 403}]"#
        )
        var change = try world.change(.subscribe)
        change.devicesAtOnce = 3
        await #expect(throws: ToolError.self) { try await world.apply(change) }
        #expect(try world.stored() == ["subscribe stores 3"])
        try await world.flow.sandbox.setFaults("[]")
        #expect(try await world.apply(world.change(.unsubscribe)).tally.done == 6)
        #expect(try await world.apply(change).tally.done == 6)
        let paths = try await world.flow.sandbox.received().filter {
            $0.method == "POST" && $0.path.contains("opposite-1/")
        }
        #expect(paths.count == 2, "also the devices before the stop")
    }

    /// FCM tells a missing membership, an unknown registration and a missing project by the same words.
    @Test func aMissingProjectIsNoSuccess() async throws {
        try await world.devices(5, named: "lost")
        try await world.flow.sandbox.setFaults(#"[{"provider": "fcm_topics", "do": "status", "reason": "NOT_FOUND"}]"#)
        let report = try await world.apply(world.change(.unsubscribe))
        #expect(report.tally.done == 5, "FCM knows the project, so the memberships were missing")
        let gone = try await world.apply(world.change(.subscribe))
        #expect(gone.tally.gone == 5 && gone.tally.done == 0, "and these registrations")
        try await world.flow.sandbox.setFaults("[]")
        try await withNewFolder { folder in
            var other = world.configuration
            other.apps["shop"]?.fcm?.serviceAccountFile = try world.accountFile(folder, project: "no-such-project")
            for operation in FCMTopicOperation.allCases {
                let error = await #expect(throws: ToolError.self) {
                    try await world.apply(world.change(operation), other)
                }
                #expect(error?.reason.hasPrefix("FCM says 404 NOT_FOUND") == true)
                #expect(error?.hint.contains("Firebase project no-such-project") == true)
            }
            other.apps["shop"]?.fcm?.serviceAccountFile = try world.accountFile(folder, project: "foreign-project")
            let error = await #expect(throws: ToolError.self) {
                try await world.apply(world.change(.unsubscribe), other)
            }
            #expect(error?.reason.contains("'cloudmessaging.topicSubscriptions.delete' denied") == true)
            #expect(error?.hint.contains("a role with cloudmessaging.topicSubscriptions.delete") == true)
        }
    }
}
