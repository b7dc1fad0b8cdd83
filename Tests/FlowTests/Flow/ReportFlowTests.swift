import FanfareCore
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit

/// The handle of a push on its way through a daemon and back.
@Suite(.flowSandbox, .database, .serialized, .timeLimit(.minutes(5)))
struct ReportFlowTests {
    private func prepare(_ flow: Flow, _ name: String, _ more: String) async throws {
        let browser = try await flow.sandbox.subscription("report")
        try await flow.sql { world in
            try world.device("\(name)0", user: "ann")
            try world.register(android: "\(name)-android", user: "ann")
            try world.register(browser, user: "ann")
            try world.rule(
                "chat",
                event: "chat",
                to: #"{"users": "$.u"}"#,
                #""message": {"notification": {"title": "Hello"}}"# + more
            )
        }
    }

    /// Returns the handles of the pushes of one event, by provider.
    private func handles(_ flow: Flow) async throws -> [String: String?] {
        try await flow.until("SELECT count(*) = 3 FROM fanfare.deliveries WHERE outcome = 'accepted'")
        var handles: [String: String?] = [:]
        for push in try await flow.sandbox.received() where push.problem == nil {
            switch push.provider {
            case "apns": handles["apns"] = try push.json("fanfare_report")?.stringValue
            case "fcm": handles["fcm"] = try push.json("message", "data", "fanfare_report")?.stringValue
            default: handles["webpush"] = try push.json("data", "fanfare_report")?.stringValue
            }
        }
        return handles
    }

    @Test func theHandleOfAPushComesBackAsAReport() async throws {
        try await Flow.run { flow in
            try await prepare(flow, "cba", #", "report": true"#)
            let event = try await flow.sql { try $0.emit("chat", #"{"u": "ann"}"#) }
            let handles = try await handles(flow)
            let handle = try #require(handles["apns"] ?? nil)
            #expect(Set(handles.values.compactMap(\.self)) == [handle], "equal for all recipients")
            try await flow.sql { world in
                for device in try world.connection.column("SELECT id FROM fanfare.devices ORDER BY id") {
                    try world.report(2, of: Int64(device) ?? 0, event: event, handle: "'\(handle)'")
                }
            }
            try await flow.until("SELECT count(*) = 3 FROM fanfare.deliveries WHERE 'opened' = ANY (reports)")
            try await flow.until("SELECT NOT EXISTS (SELECT FROM fanfare.reports_pending)")
        }
    }

    @Test func withoutReportAPushHasNoHandle() async throws {
        try await Flow.run { flow in
            try await prepare(flow, "cbb", "")
            _ = try await flow.sql { try $0.emit("chat", #"{"u": "ann"}"#) }
            #expect(try await handles(flow).values.allSatisfy { $0 == nil })
        }
    }
}
