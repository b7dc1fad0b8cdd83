import PostgresClient
import TestKit
import Testing

/// Tests of faults of streams and connections at providers.
@Suite(.rig, .serialized, .timeLimit(.minutes(Soak.choose(5, soak: 60))))
struct ProviderConnectionTests {
    @Test(arguments: PlayedFault.connections) func theProviderFails(fault: PlayedFault) async throws {
        try await Rig.current.play(fault)
    }
}

/// Tests of providers' responses.
@Suite(.rig, .serialized, .timeLimit(.minutes(Soak.choose(5, soak: 60))))
struct ProviderAnswerTests {
    @Test(arguments: PlayedFault.answers) func theProviderFails(fault: PlayedFault) async throws {
        try await Rig.current.play(fault)
    }
}

/// Tests of faults on the network to providers.
@Suite(.rig, .serialized, .timeLimit(.minutes(Soak.choose(5, soak: 60))))
struct ProviderLinkTests {
    @Test(arguments: LinkFault.toProvider)
    func theWayToItIsBad(link: LinkFault) async throws {
        let rig = try Rig.current
        let (audit, _) = try await rig.under("provider link of one daemon: \(link.name)") { _ in
            let moment = monotonicNanoseconds()
            try await link.harm(rig.daemons[rig.random(0...2)].provider, rig)
            return moment
        }
        #expect(audit.duplicates <= Rig.unrecorded, "each unanswered request at most once")
        #expect(audit.count("accepted") == audit.expected)
    }

    /// The tolerance in milliseconds; higher in daily runs, because other suites use the machine too.
    private static let slack = Soak.choose(5000, soak: 1000)

    @Test(arguments: ["half-open", "one byte a second"])
    func theWayToItGoesSilent(how: String) async throws {
        let rig = try Rig.current
        var found: Int?
        let (audit, _) = try await rig.under(
            "provider link of one daemon \(how)",
            more: { "found after \(found ?? -1) ms" }
        ) { _ in
            let daemon = try await rig.busyDaemon()
            let moment = monotonicNanoseconds()
            daemon.provider.behaviour = how == "half-open" ? .blackHole : .trickle
            found = try await onThread {
                daemon.log.line(with: "provider connection lost", after: moment, seconds: 30)?.milliseconds
            }
            daemon.provider.behaviour = .pass
            daemon.provider.reset()
            return moment
        }
        // 15 s, and the time until the log line is seen.
        #expect(found.map { $0 <= 15_000 + Self.slack } == true, "a dead peer is found")
        #expect(audit.duplicates <= Rig.unrecorded)
        #expect(audit.count("accepted") == audit.expected)
    }

    /// Pushes wait in their batches; connection attempts notice when the provider is back.
    @Test func nobodyIsThere() async throws {
        let rig = try Rig.current
        let seconds = Soak.choose(8, soak: 45)
        let (audit, firstPush) = try await rig.under("provider link of all daemons refused for \(seconds) s") { _ in
            for daemon in rig.daemons {
                daemon.provider.behaviour = .refuse
                daemon.provider.reset()
            }
            try await rig.hold(seconds: Double(seconds))
            for daemon in rig.daemons { daemon.provider.behaviour = .pass }
            return monotonicNanoseconds()
        }
        #expect(firstPush.map { $0 <= 2000 + Self.slack } == true, "\(firstPush ?? -1) ms after it was back")
        #expect(audit.duplicates <= Rig.unrecorded)
        #expect(audit.count("accepted") == audit.expected)
        let tried = try await rig.sql {
            try $0.query("SELECT count(*) FROM fanfare.deliveries WHERE reason = 'not_sent'").rows
        }
        #expect(tried == [["0"]])
    }

    @Test func theProviderFallsSilent() async throws {
        let rig = try Rig.current
        let (audit, _) = try await rig.under("the provider never answers on a connection of each daemon") { _ in
            let moment = monotonicNanoseconds()
            try await rig.sandbox.setFaults(#"[{"skip": 20, "do": "silence", "total": 3}]"#)
            try await rig.hold(seconds: PlayedFault.seconds)
            try await rig.sandbox.setFaults("[]")
            return moment
        }
        // Some responses were on their way when the provider fell silent.
        #expect(audit.duplicates <= 3 * Rig.unrecorded)
        #expect(audit.count("accepted") == audit.expected)
    }
}
