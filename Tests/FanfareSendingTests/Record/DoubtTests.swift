import FanfareCore
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages

/// An answer that may be caused by the message disables a device only after a message of another rule failed as well.
@Suite(.flowSandbox, .database, .serialized, .timeLimit(.minutes(3)))
struct DoubtTests {
    private static let malformed =
        #"{\"error\":{\"code\":400,\"status\":\"INVALID_ARGUMENT\","#
        + #"\"message\":\"The registration token is not a valid FCM registration token\","#
        + #"\"details\":[{\"@type\":\"type.googleapis.com/google.firebase.fcm.v1.FcmError\",\"errorCode\":\"INVALID_ARGUMENT\"}]}}"#

    private static let state = """
        SELECT concat_ws(' ', r.name, d.disabled_reason)
        FROM fanfare.devices AS d LEFT JOIN fanfare.rules AS r ON r.id = d.doubted_by
        """

    private func emit(_ flow: Flow, _ type: String, becomes outcome: String, count: Int = 1) async throws {
        _ = try await flow.sql { world in try world.emit(type, #"{"u": "u"}"#) }
        try await flow.until(
            """
            SELECT count(*) = \(count) FROM fanfare.deliveries
            WHERE event_type = '\(type)' AND outcome || '/' || reason = '\(outcome)'
            """
        )
    }

    private func prepare(_ flow: Flow) async throws {
        try await blameTheToken(flow)
        try await flow.sql { world in
            try world.register(android: "doubt:APA91bOne", user: "u")
            for name in ["one", "two", "three"] { try world.rule(name, event: name, to: #"{"users": "$.u"}"#) }
        }
    }

    @Test func onlyAnotherRulesMessageTellsThatItIsTheToken() async throws {
        try await Flow.run { flow in
            try await prepare(flow)
            try await emit(flow, "one", becomes: "rejected/invalid_token")
            try await emit(flow, "one", becomes: "rejected/invalid_token", count: 2)
            #expect(try await flow.sql { try $0.connection.column(Self.state) } == ["one"])
            try await emit(flow, "two", becomes: "gone/invalid_token")
            #expect(try await flow.sql { try $0.connection.column(Self.state) } == ["one invalid_token"])
        }
    }

    @Test func aPushThatIsAcceptedClearsTheToken() async throws {
        try await Flow.run { flow in
            try await prepare(flow)
            try await emit(flow, "one", becomes: "rejected/invalid_token")
            try await flow.sandbox.setFaults("[]")
            try await emit(flow, "two", becomes: "accepted/accepted")
            #expect(try await flow.sql { try $0.connection.column(Self.state) } == [""])
            try await blameTheToken(flow)
            try await emit(flow, "three", becomes: "rejected/invalid_token")
            #expect(try await flow.sql { try $0.connection.column(Self.state) } == ["three"])
        }
    }

    private func blameTheToken(_ flow: Flow) async throws {
        try await flow.sandbox.setFaults(
            #"[{"match": {"token": "doubt"}, "do": "status", "status": 400, "body": "\#(Self.malformed)"}]"#
        )
    }
}
