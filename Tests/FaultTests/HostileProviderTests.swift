import Foundation
import Programs
import TestKit
import Testing

/// Tests of a malicious provider that violates HTTP/2.
@Suite(.rig, .serialized, .timeLimit(.minutes(Soak.choose(5, soak: 60))))
struct HostileProviderTests {
    @Test(arguments: HostileServer.Speech.allCases)
    func oneDaemonMeetsIt(speech: HostileServer.Speech) async throws {
        let rig = try Rig.current
        let server = try await HostileServer(speech, sandbox: rig.sandbox.ready.directory)
        let victim = rig.daemons[rig.random(0...2)]
        let before = try Vitals(of: victim.process.processID)
        var most = before
        var met = 0
        let (audit, _) = try await rig.under(
            "\(speech.rawValue) from the provider of one daemon",
            more: { "\(met) connections, the daemon had \(before.description), then at most \(most.description)" }
        ) { _ in
            let connections = victim.provider.accepted
            victim.provider.redirect(to: server.port)
            for _ in 1...Soak.choose(30, soak: 300) {
                try await rig.hold(seconds: 0.2)
                let now = try Vitals(of: victim.process.processID)
                if now.megabytes > most.megabytes { most = now }
            }
            met = victim.provider.accepted - connections
            victim.provider.redirect(to: rig.sandbox.ready.tlsPort)
            return monotonicNanoseconds()
        }
        await server.stop()
        #expect(met > 0, "it was met")
        #expect(rig.daemons.contains { $0.number == victim.number && kill($0.process.processID, 0) == 0 }, "it lives")
        #expect(most.megabytes <= before.megabytes + 32, "it takes no memory")
        #expect(audit.duplicates <= Rig.unrecorded)
        #expect(audit.count("accepted") == audit.expected)
    }
}
