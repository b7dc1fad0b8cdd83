import FanfareCore
import Foundation
import PostgresClient
import Programs
import PushTransport
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareConfiguration
@testable import FanfareFeedback
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages

/// Outcomes that daemons send to a receiver, which verifies signatures like the standard's own libraries.
@Suite(.flowSandbox, .database, .serialized, .timeLimit(.minutes(5)))
struct FeedbackFlowTests {
    /// A receiver, with its secret in a file.
    private struct Receiver {
        let name: String
        let device: SimulatedDevice
        let files: OpenSSL

        init(_ name: String) async throws {
            self.name = name
            let sandbox = try #require(FlowSandboxTrait.sandbox)
            device = try await sandbox.device(of: "webhook", named: name)
            files = try OpenSSL()
            // A new secret that the receiver does not know yet, and its current one.
            let fresh = "whsec_" + Data(repeating: 7, count: 32).base64EncodedString()
            try files.write("secret", "\(fresh)\n\(try #require(device.auth))\n")
        }

        var settings: Configuration.Feedback {
            get throws {
                var settings = Configuration.Feedback()
                settings.url = try HTTPSURL(device.token)
                settings.secretFile = files.path("secret")
                settings.caFile = FlowSandboxTrait.sandbox?.ready.caFile
                settings.allowedNetworks = ["127.0.0.1/32", "::1/128"]
                return settings
            }
        }
    }

    private static let rule = { @Sendable (world: World) in
        _ = try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
    }

    /// Emits an event for a user's new device; tokens that start with e410 are unregistered.
    private func push(_ token: String, in flow: Flow) async throws -> Int64 {
        try await flow.sql { world in
            let device = try world.device(token, user: "of-\(token)")
            try world.emit("e", #"{"u": "of-\#(token)"}"#)
            return device
        }
    }

    private func items(_ push: ReceivedPush) throws -> [JSONValue] {
        guard case .array(let items)? = try push.json("data", "items") else { return [] }
        return items
    }

    private func devices(_ pushes: [ReceivedPush]) throws -> [String] {
        try pushes.flatMap { try items($0).compactMap { $0["device_id"]?.stringValue } }
    }

    private func faults(_ more: String) async throws {
        let sandbox = try #require(FlowSandboxTrait.sandbox)
        try await sandbox.setFaults(
            more.isEmpty ? FlowSandboxTrait.faults : "[\(more), \(FlowSandboxTrait.faults.dropFirst(2))"
        )
    }

    @Test func aPruneIsToldAndSigned() async throws {
        let receiver = try await Receiver("crm-a")
        let settings = try receiver.settings
        try await Flow.run({ $0.feedback["crm"] = settings }) { flow in
            try await flow.sql(Self.rule)
            try await flow.until("SELECT owner IS NOT NULL FROM fanfare.feedback_cursors")
            _ = try await push("b41001", in: flow)
            let gone = try await push("e41001", in: flow)
            let told = try #require(try await flow.pushes(1, to: "crm-a").first)
            #expect(told.status == 204, "the receiver found its signature among both")
            #expect(told.headers["webhook-signature"]?.split(separator: " ").count == 2)
            #expect(try told.json("type")?.stringValue == "feedback.batch")
            let item = try #require(try items(told).first)
            #expect(try items(told).count == 1)
            #expect(item["type"]?.stringValue == "device.disabled")
            #expect(item["device_id"]?.stringValue == "\(gone)")
            #expect(item["user_id"]?.stringValue == "of-e41001")
            #expect(item["reason"]?.stringValue == "Unregistered")
            #expect(item["rule"]?.stringValue == "r")
            let hash = try await flow.sql { try $0.connection.text("SELECT encode(sha256('e41001'), 'hex')") }
            #expect(item["token_sha256"]?.stringValue == hash)
            #expect(told.body?.contains("\"e41001\"") == false, "never the token itself")
        }
    }

    @Test func aReceiverThatWasDownMissesNothingAndHoldsUpNothing() async throws {
        let (receiver, silent) = (try await Receiver("crm-b"), try await Receiver("mute-b"))
        let (settings, other) = (try receiver.settings, try silent.settings)
        try await faults(
            """
            {"match": {"token": "crm-b"}, "do": "status", "status": 503, "times": 1},
            {"match": {"token": "crm-b"}, "do": "close", "times": 1},
            {"match": {"token": "mute-b"}, "do": "silence"}
            """
        )
        let lines = try await Flow.run({
            $0.feedback["crm"] = settings
            $0.feedback["mute"] = other
        }) { flow in
            try await flow.sql(Self.rule)
            try await flow.until("SELECT count(owner) = 2 FROM fanfare.feedback_cursors")
            let first = try await push("e41002", in: flow)
            _ = try await flow.pushes(1, to: "mute-b")
            // While one hook does not answer and the other has refused, pushes continue.
            try await flow.until("SELECT failures > 0 FROM fanfare.feedback_cursors WHERE name = 'crm'")
            let second = try await push("e41003", in: flow)
            _ = try await push("b41003", in: flow)
            #expect(try await flow.pushes(1, to: "b41003").first?.status == 200)
            try await flow.until(
                "SELECT failures = 0 AND told_at IS NOT NULL AND waiting = 0 FROM fanfare.feedback_state WHERE name = 'crm'"
            )
            let pushes = try await flow.received(by: "crm-b")
            let taken = pushes.filter { $0.status == 204 }
            #expect(try devices(taken) == ["\(first)", "\(second)"])
            let tries = pushes.prefix { $0.status != 204 } + taken.prefix(1)
            #expect(tries.count > 1)
            #expect(Set(tries.map { $0.headers["webhook-id"] }).count == 1, "tried again it is the same delivery")
            #expect(Set(tries.map(\.body)).count == 1)
        }
        try await faults("")
        let ofHook = lines.filter { $0.contains(#""feedback.hook":"crm""#) }
        #expect(ofHook.count { $0.contains("a feedback hook fails") } == 1, "told once, not with each try")
        #expect(ofHook.count { $0.contains("a feedback hook works again") } == 1)
    }

    @Test func oneThatAnswers410IsLeftAloneUntilItIsResumed() async throws {
        let receiver = try await Receiver("crm-c")
        let settings = try receiver.settings
        try await faults(#"{"match": {"token": "crm-c"}, "do": "status", "status": 410, "times": 1}"#)
        try await Flow.run({ $0.feedback["crm"] = settings }) { flow in
            try await flow.sql(Self.rule)
            try await flow.until("SELECT owner IS NOT NULL FROM fanfare.feedback_cursors")
            let gone = try await push("e41004", in: flow)
            try await flow.until("SELECT state = 'ended' FROM fanfare.feedback_state")
            let health = try await flow.sql { world in
                try world.connection.text("SELECT detail FROM fanfare.health WHERE name = 'feedback: crm' AND NOT ok")
            }
            #expect(health?.contains("fanfare feedback resume crm") == true)
            try await flow.sql { try $0.connection.execute("SELECT fanfare.resume_feedback('crm')") }
            let pushes = try await flow.pushes(2, to: "crm-c")
            #expect(try devices(Array(pushes.suffix(1))) == ["\(gone)"])
            try await flow.until("SELECT state = 'ok' AND waiting = 0 FROM fanfare.feedback_state")
            // A replay sends everything once more, with other ids.
            try await flow.sql {
                try $0.connection.execute("SELECT fanfare.replay_feedback('crm', now() - interval '1 hour')")
            }
            let again = try #require(try await flow.pushes(3, to: "crm-c").last)
            #expect(try devices([again]) == ["\(gone)"])
            #expect(again.headers["webhook-id"] != pushes.last?.headers["webhook-id"])
        }
        try await faults("")
    }

    /// The hook answered, and the daemon was killed before it recorded that.
    @Test func aDeliveryThatWasNotWrittenDownIsSentAgainByTheSameID() async throws {
        let receiver = try await Receiver("crm-d")
        let flow = try Flow.idle()
        let file = flow.sandbox.ready.directory + "/feedback.yaml"
        let sandboxed = try String(contentsOfFile: flow.sandbox.ready.configFile, encoding: .utf8)
        let app = try #require(sandboxed.range(of: "apps:\n").map { String(sandboxed[$0.lowerBound...]) })
        let hook = """
            feedback:
              crm:
                url: \(receiver.device.token)
                secret_file: \(receiver.files.path("secret"))
                ca_file: \(flow.sandbox.ready.caFile)
                allowed_networks: [ "127.0.0.1/32", "::1/128" ]

            """
        try (hook + app.replacing("\"demo\":", with: "\"shop\":")).write(
            toFile: file,
            atomically: true,
            encoding: .utf8
        )
        // A single session, which keeps its lock between calls.
        let lock = PostgresPool(
            PostgresOptions(url: flow.database.url),
            limits: PostgresPoolOptions(connections: 1)
        )
        try await lock.run { connection throws(PostgresError) in
            try connection.execute(
                """
                SELECT fanfare.adopt();
                CREATE FUNCTION public.wait_here() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN PERFORM pg_advisory_xact_lock(4711); RETURN new; END $$;
                CREATE TRIGGER wait_here BEFORE UPDATE ON fanfare.feedback_cursors FOR EACH ROW
                    WHEN (new.told_at IS DISTINCT FROM old.told_at) EXECUTE FUNCTION public.wait_here();
                SELECT pg_advisory_lock(4711)
                """
            )
        }
        let start = {
            try await ProgramProcess(
                FanfareBinary.path(),
                ["serve", "--config", file, "--database-url", flow.database.url, "--log-format", "json"]
            )
        }
        let daemon = try await start()
        _ = try #require(await daemon.errors.lines(upTo: #""msg":"ready""#))
        try await flow.sql(Self.rule)
        try await flow.until("SELECT owner IS NOT NULL FROM fanfare.feedback_cursors")
        let gone = try await push("e41005", in: flow)
        let first = try #require(try await flow.pushes(1, to: "crm-d").first)
        try await flow.until(
            "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name = 'fanfare feedback')"
        )
        daemon.signal(SIGKILL)
        _ = await daemon.stop()
        try await lock.run { connection throws(PostgresError) in
            try connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'fanfare feedback'"
            )
            try connection.execute(
                "SELECT pg_advisory_unlock(4711); DROP TRIGGER wait_here ON fanfare.feedback_cursors"
            )
        }
        await lock.close()
        let next = try await start()
        let both = try await flow.pushes(2, to: "crm-d")
        #expect(first.status == 204 && both.last?.status == 204)
        #expect(both.last?.headers["webhook-id"] == first.headers["webhook-id"])
        #expect(both.last?.body == first.body)
        #expect(try devices(both) == ["\(gone)", "\(gone)"])
        #expect(await next.stop() == 0)
    }

    @Test func oneOfTwoDaemonsTellsAndTheOtherTakesOver() async throws {
        let receiver = try await Receiver("crm-e")
        let settings = try receiver.settings
        try await Flow.run { outer in
            try await outer.sql(Self.rule)
            var expected: [String] = []
            try await Flow.run({ $0.feedback["crm"] = settings }) { flow in
                try await flow.until("SELECT owner IS NOT NULL FROM fanfare.feedback_cursors")
                try outer.reload { $0.feedback["crm"] = settings }
                for token in ["e41061", "e41062"] { expected.append("\(try await push(token, in: flow))") }
                try await flow.until("SELECT waiting = 0 AND told_at IS NOT NULL FROM fanfare.feedback_state")
            }
            // The other daemon released the hook when it stopped.
            expected.append("\(try await push("e41063", in: outer))")
            try await outer.until(
                "SELECT (SELECT count(*) = 3 FROM fanfare.feedback) AND waiting = 0 FROM fanfare.feedback_state"
            )
            let pushes = try await outer.received(by: "crm-e")
            // Two daemons close the first two batches, in either order.
            let told = try devices(pushes)
            #expect(told.sorted() == expected.sorted() && told.last == expected.last, "\(told) \(expected)")
            #expect(Set(pushes.map { $0.headers["webhook-id"] }).count == pushes.count)

            try outer.reload { _ in }
            try await outer.until("SELECT owner IS NULL FROM fanfare.feedback_cursors")
        }
    }

    @Test func whoListensIsNotified() async throws {
        var settings = Configuration.Feedback()
        settings.channel = "fanfare_feedback"
        settings.outcomes = [.gone, .rejected]
        try await Flow.run({ [settings] in $0.feedback["ears"] = settings }) { flow in
            try await flow.sql(Self.rule)
            try await flow.until("SELECT owner IS NOT NULL FROM fanfare.feedback_cursors")
            let (listens, isListening) = AsyncStream.makeStream(of: Void.self)
            async let told = onThread { [database = flow.database] in
                let connection = try database.connect()
                try connection.listen(to: "fanfare_feedback")
                isListening.finish()
                return try Self.heard(on: connection, count: 2)
            }
            for await _ in listens {}
            let gone = try await push("e41007", in: flow)
            let refused = try await push("e40307", in: flow)
            #expect(try await told == ["\(gone)": "device.disabled", "\(refused)": "push.failed"])
        }
    }

    /// Returns the content of notifications about devices, once the given number has arrived.
    private static func heard(on connection: PostgresConnection, count: Int) throws -> [String: String] {
        var told: [String: String] = [:]
        while told.count < count {
            let heard = try connection.notifications(timeout: .seconds(60))
            try #require(!heard.isEmpty)
            for notification in heard {
                guard case .array(let items)? = try JSONValue(parsing: notification.payload)["items"] else { continue }
                for item in items { told[item["device_id"]?.stringValue ?? ""] = item["type"]?.stringValue }
            }
        }
        return told
    }

    @Test func aHookThatCannotBeToldChangesNothing() async throws {
        let receiver = try await Receiver("crm-f")
        let settings = try receiver.settings
        try await Flow.run { flow in
            let daemon = try #require(flow.daemon)
            for (change, complaint) in [
                ({ $0.secretFile = "/nowhere" }, "feedback.crm.secret_file"),
                ({ $0.secretFile = FlowSandboxTrait.sandbox?.ready.caFile }, "feedback.crm.secret_file"),
                ({ $0.caFile = "/nowhere.pem" }, "feedback.crm.ca_file"),
            ] as [((inout Configuration.Feedback) -> Void, String)] {
                var fresh = try flow.configuration()
                var changed = settings
                change(&changed)
                fresh.feedback["crm"] = changed
                let error = #expect(throws: DaemonError.self) { try daemon.apply(fresh) }
                #expect(error?.description.contains(complaint) == true)
                #expect(error?.description.contains(try #require(receiver.device.auth)) == false)
            }
        }
    }
}
