import FanfareCore
import Foundation
import PostgresClient
import Programs
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareConfiguration
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages

/// The settings that a running daemon adopts from a changed configuration.
@Suite(.flowSandbox, .database, .serialized, .timeLimit(.minutes(5)))
struct ReloadTests {
    private static let narrow = { @Sendable (configuration: inout Configuration) in
        configuration.send.threads = 1
        configuration.send.connections = 1
        configuration.send.streams = 10
    }

    @Test func fewerAttemptsAreMadeAtOnce() async throws {
        try await Flow.run { flow in
            let send = { @Sendable (token: String) in
                let event = try await flow.sql { world in
                    try world.device(token, user: token)
                    return try world.emit("e", #"{"u": "\#(token)"}"#)
                }
                try await flow.until("SELECT fate = 'planned' FROM fanfare.events WHERE id = \(event)")
                try await flow.untilIdle()
                return try await flow.sql { try $0.outcomes(event) }
            }
            try await flow.sql { _ = try $0.rule("r", event: "e", to: #"{"users": "$.u"}"#) }
            #expect(try await send("e50011") == ["retrying/server_error", "accepted/accepted"])
            try flow.reload { $0.retry.attempts = 1 }
            #expect(try await send("e50012") == ["exhausted/attempts_used_up"])
            try flow.reload { _ in }
            #expect(try await send("e50013") == ["retrying/server_error", "accepted/accepted"])
        }
    }

    /// A daemon without the key does not override the limits of other daemons.
    @Test func anAppsRulesAreLimitedUntilADaemonSaysOtherwise() async throws {
        try await Flow.run { flow in
            let fate = { @Sendable in
                let event = try await flow.sql { try $0.emit("e", #"{"u": "nobody"}"#) }
                try await flow.until("SELECT fate <> 'waiting' FROM fanfare.events WHERE id = \(event)")
                return try await flow.sql { try $0.fate(event) }
            }
            try await flow.sql { _ = try $0.rule("r", event: "e", to: #"{"users": "$.u"}"#) }
            #expect(try await fate() == "planned")
            try flow.reload { $0.apps["shop"]?.events = ["f.*"] }
            try await flow.until("SELECT events = '{f.*}' FROM fanfare.apps WHERE name = 'shop'")
            #expect(try await fate() == "unmatched")
            try flow.reload { _ in }
            #expect(try await fate() == "unmatched")
            try flow.reload { $0.apps["shop"]?.events = ["*"] }
            try await flow.until("SELECT events = '{*}' FROM fanfare.apps WHERE name = 'shop'")
            #expect(try await fate() == "planned")
        }
    }

    @Test func anAppComesAndGoes() async throws {
        try await Flow.run { flow in
            let event = { @Sendable (token: String) in
                try await flow.sql { world in
                    try world.connection.execute(
                        "SELECT fanfare.register_device('news', 'apns', '\(token)', '\(token)')"
                    )
                    return try world.emit("headline", #"{"u": "\#(token)"}"#)
                }
            }
            try await flow.sql { world in
                try world.connection.execute(
                    """
                    SELECT fanfare.put_rule('{"app": "news", "name": "r", "event": "headline", "to": {"users": "$.u"},
                        "message": {"notification": {"title": "T"}}}')
                    """
                )
                try world.connection.waitUntil("SELECT state = 'active' FROM fanfare.rule_versions")
            }
            _ = try await event("aa7100")
            try await flow.until("SELECT ready = 1 FROM fanfare.queue WHERE app = 'news'")
            try flow.reload { $0.apps["news"] = $0.apps["shop"] }
            #expect(try await flow.pushes(1, to: "aa7100").map(\.status) == [200])
            try await flow.untilIdle()

            try flow.reload { _ in }
            _ = try await event("aa7101")
            try await flow.until("SELECT ready = 1 FROM fanfare.queue WHERE app = 'news'")
            try flow.reload { $0.apps["news"] = $0.apps["shop"] }
            _ = try await flow.pushes(1, to: "aa7101")
            try await flow.untilIdle()
            #expect(try await flow.received(by: "aa71").count == 2)
        }
    }

    @Test func changedCredentialsReplaceTheSendersInTheMiddleOfABroadcast() async throws {
        try await Flow.run(Self.narrow) { flow in
            // The answers for these tokens are slow: with 10 at once, the broadcast takes seconds. From the 100th on
            // they take so long that the broadcast cannot end before the configuration is changed.
            try await flow.sandbox.setFaults(#"[{"do": "slow", "ms": 3000, "skip": 100}]"#)
            let copy = flow.sandbox.ready.directory + "/other-ca.pem"
            try FileManager.default.copyItem(atPath: flow.sandbox.ready.caFile, toPath: copy)
            try await flow.sql { world in
                try world.connection.execute(
                    """
                    SELECT fanfare.register_device('shop', 'apns', 'ef0077' || lpad(to_hex(g), 58, '0'))
                    FROM generate_series(1, 400) AS g
                    """
                )
                try world.rule("all", event: "all", to: #"{"everyone": true}"#)
                try world.emit("all")
            }
            _ = try await flow.pushes(50, to: "ef0077")
            try flow.reload { configuration in
                Self.narrow(&configuration)
                configuration.apps["shop"]?.apns?.caFile = copy
            }
            try await flow.sandbox.setFaults(FlowSandboxTrait.faults)
            let pushes = try await flow.pushes(400, to: "ef0077")
            try await flow.untilIdle()
            #expect(try await flow.received(by: "ef0077").count == 400, "none is sent twice")
            #expect(Set(pushes.map(\.token)).count == 400, "none is lost")
            #expect(Set(pushes.map(\.connection)).count == 2, "the old senders', then the new ones'")
            #expect(
                Set(pushes.map { $0.headers["authorization"] }).count == 1,
                "the key, and so its token, is the same"
            )
            let outcomes = try await flow.sql { world in
                try world.connection.column("SELECT DISTINCT outcome || attempt FROM fanfare.deliveries")
            }
            #expect(outcomes == ["accepted1"])
        }
    }

    @Test func whatCannotBeUsedChangesNothing() async throws {
        try await Flow.run { flow in
            let daemon = try #require(flow.daemon)
            for change in [
                { $0.apps["news"] = Configuration.App(APNsSettings()) },
                { $0.apps["shop"]?.apns?.keyFile = "/nowhere.p8" },
                { $0.apps["shop"]?.apns?.caFile = "/nowhere.pem" },
                { $0.database.passwordFile = "/nowhere" },
            ] as [(inout Configuration) -> Void] {
                var fresh = try flow.configuration()
                fresh.retry.attempts = 1
                change(&fresh)
                #expect(throws: DaemonError.self) { try daemon.apply(fresh) }
            }
            let event = try await flow.sql { world in
                try world.device("e50021", user: "u")
                try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
                return try world.emit("e", #"{"u": "u"}"#)
            }
            try await flow.until("SELECT fate = 'planned' FROM fanfare.events WHERE id = \(event)")
            try await flow.untilIdle()
            #expect(try await flow.sql { try $0.outcomes(event) } == ["retrying/server_error", "accepted/accepted"])
        }
    }

    @Test func everyKeyThatNeedsNoRestartIsTakenOver() throws {
        let app = "{ apns: { team_id: DEF123GHIJ, key_id: ABC123DEFG, key_file: /a.p8, topic: com.example } }"
        var old = try toolConfiguration("apps: { shop: \(app) }")
        let fresh = try toolConfiguration(
            """
            installation: other
            listen: [orders]
            apps: { news: \(app.replacing("/a.p8", with: "/b.p8")) }
            send: { threads: 3, connections: 3, streams: 9, batch: 8, unrecorded: 64 }
            retry: { attempts: 3 }
            retention: { keys: 2d, log: 3d, reports: 2d }
            feedback: { news: { url: "https://crm.example.com/a", secret_file: /a, app: shop } }
            api: { phone_topics: [ news ], origins: [ "https://shop.example" ] }
            log: { level: debug, format: text, deliveries: all }
            """
        )
        let changes = fresh.changes(from: old)
        let keys = Set(changes.map { $0.key.replacing("shop", with: "<name>").replacing("news", with: "<name>") })
        let live = ConfigurationSchema.all.keys.filter { $0.change == .reload }.map(\.name)
        let named = Set(live.filter { $0.contains("<name>") })
        #expect(Set(live).subtracting(keys).isSubset(of: named), "the rest is not set in these files")
        #expect(keys.isSuperset(of: ["apps.<name>.apns.key_file", "apps.<name>.apns.topic", "feedback.<name>.url"]))
        old.takeLive(from: fresh)
        #expect(fresh.changes(from: old) == changes.filter(\.needsRestart))
    }
}

/// A daemon as a separate process, with a configuration file and a real SIGHUP.
@Suite(.flowSandbox, .database, .serialized, .timeLimit(.minutes(5)))
struct HangUpTests {
    @Test func aBadFileChangesNothingAndAGoodOneIsTakenOver() async throws {
        let flow = try Flow.idle()
        let file = flow.sandbox.ready.directory + "/hup.yaml"
        let sandboxed = try String(contentsOfFile: flow.sandbox.ready.configFile, encoding: .utf8)
        let app = try #require(sandboxed.range(of: "apps:\n").map { String(sandboxed[$0.upperBound...]) })
        let shop = app.replacing("\"demo\":", with: "\"shop\":")
        let write = { (text: String) in try text.write(toFile: file, atomically: true, encoding: .utf8) }
        try await flow.sql { world in
            try world.connection.execute(
                "SELECT fanfare.adopt(), fanfare.register_device('news', 'apns', 'aa7200', 'u')"
            )
            try world.device("aa7201", user: "u")
            try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
            try world.connection.execute(
                """
                SELECT fanfare.put_rule('{"app": "news", "name": "r", "event": "headline", "to": {"users": "$.u"},
                    "message": {"notification": {"title": "T"}}}')
                """
            )
        }
        try write("apps:\n" + shop)
        let daemon = try await ProgramProcess(
            FanfareBinary.path(),
            ["serve", "--config", file, "--database-url", flow.database.url, "--log-format", "json"]
        )
        let unnamed = try #require(await daemon.errors.lines(upTo: #""msg":"ready""#)).filter {
            $0.contains("no installation")
        }
        #expect(unnamed.count == 1)
        try await flow.sql { world in
            try world.connection.waitUntil("SELECT count(*) = 2 FROM fanfare.rule_versions WHERE state = 'active'")
            try world.emit("headline", #"{"u": "u"}"#)
        }

        for bad in ["apps: [", "aps: {}", "apps:\n" + shop.replacing("AuthKey_", with: "NoKey_")] {
            try write(bad)
            daemon.signal(SIGHUP)
            let refusal = try #require(await daemon.errors.lines(upTo: "configuration not reloaded")?.last)
            #expect(refusal.contains(#""level":"error""#))
        }
        try await flow.sql { _ = try $0.emit("e", #"{"u": "u"}"#) }
        _ = try await flow.pushes(1, to: "aa7201")

        let news = shop.replacing("\"shop\":", with: "\"news\":")
        try write("send: { threads: 3, batch: 500 }\nretry: { attempts: 2 }\napps:\n" + shop + news)
        daemon.signal(SIGHUP)
        let reload = try #require(await daemon.errors.lines(upTo: #""msg":"configuration reloaded""#))
        let waiting = reload.filter { $0.contains("configuration changes wait for a restart") }
        #expect(waiting.count == 1)
        #expect(waiting.first?.contains(#""config.key":"send.threads, send.batch""#) == true)
        #expect(reload.contains { $0.contains(#""config.key":"retry.attempts","detail":"10 → 2""#) })
        _ = try await flow.pushes(1, to: "aa7200")
        #expect(await daemon.stop() == 0)
    }
}

extension AsyncStream<String> {
    /// Reads up to the line with a word in it.
    ///
    /// - Returns: all lines since the last call, that one included; nil if it never came.
    func lines(upTo word: String) async -> [String]? {
        var lines: [String] = []
        for await line in self {
            lines.append(line)
            if line.contains(word) { return lines }
        }
        return nil
    }
}
