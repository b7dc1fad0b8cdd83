import TestKit
import Testing

/// What providers do to streams and connections.
@Suite(.rig, .serialized, .timeLimit(.minutes(Soak.choose(5, soak: 60))))
struct ProviderConnectionTests {
    @Test(arguments: PlayedFault.connections) func theProviderFails(fault: PlayedFault) async throws {
        try await Rig.current.play(fault)
    }
}

/// What providers answer.
@Suite(.rig, .serialized, .timeLimit(.minutes(Soak.choose(5, soak: 60))))
struct ProviderAnswerTests {
    @Test(arguments: PlayedFault.answers) func theProviderFails(fault: PlayedFault) async throws {
        try await Rig.current.play(fault)
    }
}

/// What happens on the way to providers.
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

    @Test(arguments: ["half-open", "one byte a second"])
    func theWayToItGoesSilent(how: String) async throws {
        let rig = try Rig.current
        var found: UInt64 = 0
        let (audit, _) = try await rig.under(
            "provider link of one daemon \(how)",
            more: { "a new connection after \(found) ms" }
        ) { _ in
            let link = rig.daemons[rig.random(0...2)].provider
            let before = link.accepted
            let moment = monotonicNanoseconds()
            link.behaviour = how == "half-open" ? .blackHole : .trickle
            try await onThread { link.awaitConnection(after: before, seconds: 30) }
            found = (monotonicNanoseconds() - moment) / 1_000_000
            link.behaviour = .pass
            link.reset()
            return moment
        }
        #expect(found <= 20_000, "a dead peer is found")
        #expect(audit.duplicates <= Rig.unrecorded)
        #expect(audit.count("accepted") == audit.expected)
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
        #expect(audit.acceptedTwice == 0)
        #expect(audit.count("accepted") == audit.expected)
    }
}
