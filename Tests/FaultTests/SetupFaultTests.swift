import Foundation
import PostgresClient
import TestKit
import Testing
import Threading

/// Tests with rules, events and environments that are wrong from the start.
@Suite(.rig, .serialized, .timeLimit(.minutes(5)))
struct SetupFaultTests {
    @Test func poisonStopsNobodyElse() async throws {
        let rig = try Rig.current
        let (audit, first) = try await rig.under("a poison event and poison rules") { audience in
            let moment = monotonicNanoseconds()
            try await rig.sql { connection in
                for rule in [
                    // Rules that are refused when they are checked, that fail at each planning, and that fail at each
                    // message.
                    #"{"app": "demo", "name": "bad-path", "event": "\#(audience.name)", "when": "$.n +", "to": {"topic": "t"}, "message": {"notification": {"title": "T"}}}"#,
                    #"{"app": "demo", "name": "bad-field", "event": "\#(audience.name)", "to": {"topic": "\#(audience.name)"}, "message": {"notification": {"title": "{{absent}}"}}}"#,
                ] {
                    // Some errors are refused by `put_rule` itself.
                    try? connection.execute("SELECT fanfare.put_rule('\(rule)')")
                }
                try connection.execute(
                    """
                    ALTER TABLE fanfare.event_keys ADD CONSTRAINT sound CHECK (key <> 'poison');
                    SELECT fanfare.emit('\(audience.name)', '{"poison": true}', 'poison')
                    """
                )
            }
            try await rig.until(
                "SELECT count(*) = 1 FROM fanfare.events WHERE key = 'poison' AND fate = 'refused'",
                seconds: 30
            )
            try await rig.sql {
                try $0.execute("SELECT fanfare.drop_rule('demo', 'bad-field')")
                try $0.execute("ALTER TABLE fanfare.event_keys DROP CONSTRAINT sound")
            }
            return moment
        }
        #expect(first.map { $0 < 5000 } == true)
        #expect(audit.duplicates == 0)
    }

    @Test func fewFileDescriptorsAreEnough() async throws {
        let rig = try Rig.current
        for daemon in rig.daemons { #expect(await rig.end(daemon, by: SIGTERM) == 0) }
        try await rig.serve(3, options: .init(descriptors: 64))
        let (audit, _) = try await rig.under("64 file descriptors") { _ in
            // The descriptors of new connections have to fit too.
            for daemon in rig.daemons {
                daemon.provider.reset()
                daemon.database.reset()
            }
            return monotonicNanoseconds()
        }
        #expect(audit.duplicates <= 3 * Rig.unrecorded)
        for daemon in rig.daemons { #expect(await rig.end(daemon, by: SIGTERM) == 0) }
    }

    /// The usual limit of a shell, a soft limit that the program can raise, and a limit that is too low.
    static let limits = [
        RigDaemon.Options(descriptors: 1024), RigDaemon.Options(descriptors: 4096, softDescriptors: 64),
        RigDaemon.Options(descriptors: 64),
    ]

    @Test(arguments: limits.indices) func manyAppsAreNeverTheEndOfADaemon(index: Int) async throws {
        let rig = try Rig.current
        for daemon in rig.daemons { #expect(await rig.end(daemon, by: SIGTERM) == 0) }
        var options = Self.limits[index]
        options.configuration = Self.eightyApps
        try await rig.serve(1, options: options)
        let daemon = try #require(rig.daemons.first)
        let (started, count) = (monotonicNanoseconds(), 80)
        try await rig.sql { connection in
            for app in 1...count {
                try connection.execute(
                    """
                    SELECT fanfare.register_device('app\(app)', 'apns', encode(sha256('many\(index)\(app)'), 'hex'), 'u\(index)');
                    SELECT fanfare.put_rule('{"app": "app\(app)", "name": "many", "event": "many\(index)", "to": {"users": "$.u"},
                        "message": {"notification": {"title": "T"}}}')
                    """
                )
            }
        }
        try await rig.until(
            "SELECT NOT EXISTS (SELECT FROM fanfare.rule_versions WHERE state = 'unchecked')",
            seconds: 30
        )
        try await rig.sql { try $0.execute("SELECT fanfare.emit('many\(index)', '{\"u\": \"u\(index)\"}')") }
        let accepted = """
            SELECT count(*) FROM fanfare.deliveries WHERE event_type = 'many\(index)' AND outcome = 'accepted'
            """
        if index < 2 {
            try await rig.until("SELECT (\(accepted)) = \(count)", seconds: 60)
        } else {
            let said = try await onThread {
                daemon.log.line(with: "a sender could not start", after: started, seconds: 60)
            }
            #expect(said?.text.contains("Too many open files") == true)
            try await rig.until("SELECT (\(accepted)) > 0", seconds: 30)
        }
        let sent = try await rig.sql { try $0.query(accepted).rows[0][0] ?? "" }
        report(
            "fault: 80 apps, descriptors \(options.softDescriptors ?? options.descriptors ?? 0): \(sent) of \(count) sent"
        )
        #expect(await rig.end(daemon, by: SIGTERM) == 0)
        try await rig.sql { try $0.execute("DELETE FROM fanfare.batches") }
    }

    /// Returns a configuration with the sandbox's own app, and 80 more like it.
    @Sendable private static func eightyApps(_ text: String) -> String {
        guard let start = text.firstRange(of: "  \"demo\":\n")?.lowerBound else { return text }
        let block = text[start...]
        return text + (1...80).map { block.replacing("\"demo\":", with: "app\($0):", maxReplacements: 1) }.joined()
    }

    /// A server that must not be trusted, or does not support HTTP/2.
    enum BadServer: String, Sendable, CaseIterable {
        case expired = "certificate expired"
        case otherHost = "certificate of another host"
        case noALPN = "no ALPN"
        case oldTLS = "TLS 1.1 only"
    }

    @Test(arguments: BadServer.allCases) func nothingIsSentToAServerThatProvesNothing(kind: BadServer) async throws {
        let rig = try Rig.current
        for daemon in rig.daemons { #expect(await rig.end(daemon, by: SIGTERM) == 0) }
        let audience = try await served(rig, kind)
        let server = try await BadTLSServer(
            isExpired: kind == .expired,
            host: kind == .otherHost ? "other.example" : "localhost",
            speaksALPN: kind != .noALPN,
            isOld: kind == .oldTLS
        )
        let (port, authority) = (server.port, server.authorityFile)
        try await rig.serve(
            1,
            options: .init(configuration: { text in
                text.replacing(/https:\/\/localhost:[0-9]+/, with: "https://localhost:\(port)")
                    .replacing("ca_file: ca.pem", with: "ca_file: \(authority)")
            })
        )
        let started = monotonicNanoseconds()
        let daemon = try #require(rig.daemons.first)
        try await rig.emit(1, to: audience)
        let said = try await onThread {
            daemon.log.line(with: "a provider could not be reached", after: started, seconds: 30)
        }
        await rig.end(daemon, by: SIGKILL)
        let heard = await server.stop()
        let requests = try await rig.ledger(of: audience).count
        report(
            "fault: \(kind.rawValue): said after \(said?.milliseconds ?? -1) ms: \(said?.text ?? ""), "
                + "bytes of requests \(heard)"
        )
        #expect(said != nil, "the daemon says so")
        #expect(heard == 0 && requests == 0, "nothing is sent")
        try await rig.sql { connection in
            _ = try connection.query("SELECT fanfare.cancel($1, $2)", audience.name, "\(audience.name)-1")
        }
        // The daemons of the next test must find an empty queue.
        try await rig.serve(3)
        try await rig.until(
            "SELECT count(*) = 5 FROM fanfare.deliveries WHERE rule = '\(audience.name)' AND outcome NOT IN ('pending', 'retrying')",
            seconds: 60
        )
    }

    /// Creates an audience, with the rule in force before the daemons end.
    private func served(_ rig: Rig, _ kind: BadServer) async throws -> Audience {
        try await rig.serve(1)
        let audience = try await rig.audience("bad-\(kind)", devices: 5)
        for daemon in rig.daemons { #expect(await rig.end(daemon, by: SIGTERM) == 0) }
        return audience
    }
}
