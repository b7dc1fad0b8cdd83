import Foundation
import TestKit
import Testing

/// What providers do wrong, and the way to them.
@Suite(.rig, .serialized, .timeLimit(.minutes(Soak.choose(5, soak: 60))))
struct ProviderFaultTests {
    /// How long it lasts.
    private static let seconds = Soak.choose(2.0, soak: 60)

    /// A fault that the simulated provider plays for a while.
    struct Played: Sendable, CustomTestStringConvertible {
        let name: String
        let faults: String
        var platform = "apns"
        /// The provider said that it did not process what it left unanswered: nothing may be repeated.
        var repeatsNothing = false

        var testDescription: String { name }
    }

    static let played = [
        Played(name: "GOAWAY below what is in flight", faults: goAway("below"), repeatsNothing: true),
        Played(name: "GOAWAY at what is in flight", faults: goAway("at")),
        Played(name: "GOAWAY above what is in flight", faults: goAway("above")),
        Played(
            name: "REFUSED_STREAM for 20 %",
            faults: #"[{"match": {"share": 0.2}, "do": "refuse", "times": 3}]"#,
            repeatsNothing: true
        ),
        Played(name: "TCP reset after the body", faults: #"[{"skip": 40, "do": "reset", "total": 8}]"#),
        Played(
            name: "RST_STREAM after the body for 30 %",
            faults: #"[{"match": {"share": 0.3}, "do": "reset", "code": "INTERNAL_ERROR", "times": 1}]"#
        ),
        Played(name: "closed without an answer", faults: #"[{"skip": 40, "do": "close", "total": 8}]"#),
        Played(
            name: "503",
            faults: #"[{"do": "status", "status": 503, "reason": "ServiceUnavailable"}]"#,
            repeatsNothing: true
        ),
        Played(
            name: "HTML bodies with 502 for 30 %",
            faults:
                #"[{"match": {"share": 0.3}, "do": "status", "status": 502, "body": "<html>Bad Gateway", "times": 1}]"#,
            repeatsNothing: true
        ),
        Played(
            name: "HTML bodies with 502 for 30 %, FCM",
            faults:
                #"[{"match": {"share": 0.3}, "do": "status", "status": 502, "body": "<html>Bad Gateway", "times": 1}]"#,
            platform: "fcm",
            repeatsNothing: true
        ),
        Played(
            name: "expired provider token",
            faults: #"[{"do": "status", "reason": "ExpiredProviderToken", "times": 1}]"#,
            repeatsNothing: true
        ),
        Played(
            name: "OAuth token not taken, FCM",
            faults: #"[{"provider": "fcm", "do": "status", "status": 401, "times": 1, "total": 100}]"#,
            platform: "fcm",
            repeatsNothing: true
        ),
        Played(name: "stream limit 1", faults: #"[{"do": "stream_limit", "value": 1}]"#, repeatsNothing: true),
        Played(name: "stream limit 0", faults: #"[{"do": "stream_limit", "value": 0}]"#, repeatsNothing: true),
    ]

    private static func goAway(_ last: String) -> String {
        #"[{"skip": 40, "do": "goaway", "last_stream": "\#(last)", "total": 8}]"#
    }

    @Test(arguments: played) func theProviderFails(fault: Played) async throws {
        let rig = try Rig.current
        let (audit, _) = try await rig.under(fault.name, platform: fault.platform) { _ in
            try await rig.sandbox.setFaults(fault.faults)
            try await rig.hold(seconds: Self.seconds)
            // A limit that is raised again has to be said.
            try await rig.sandbox.setFaults(
                fault.faults.contains("stream_limit") ? #"[{"do": "stream_limit", "value": 1000}]"# : "[]"
            )
            return monotonicNanoseconds()
        }
        try await rig.sandbox.setFaults("[]")
        #expect(audit.acceptedTwice == 0, "what was answered is not sent again")
        if fault.repeatsNothing { #expect(audit.duplicates == 0) }
        #expect(audit.count("accepted") == audit.expected.count)
    }

    @Test(arguments: LinkFault.toProvider)
    func theWayToItIsBad(link: LinkFault) async throws {
        let rig = try Rig.current
        let (audit, _) = try await rig.under("provider link of one daemon: \(link.name)") { _ in
            let moment = monotonicNanoseconds()
            try await link.harm(rig.daemons[rig.random(0...2)].provider, rig)
            return moment
        }
        #expect(audit.duplicates <= Rig.unrecorded, "each unanswered request at most once")
        #expect(audit.count("accepted") == audit.expected.count)
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
        #expect(audit.count("accepted") == audit.expected.count)
    }

    @Test func theProviderFallsSilent() async throws {
        let rig = try Rig.current
        let (audit, _) = try await rig.under("the provider never answers on a connection of each daemon") { _ in
            let moment = monotonicNanoseconds()
            try await rig.sandbox.setFaults(#"[{"skip": 20, "do": "silence", "total": 3}]"#)
            try await rig.hold(seconds: Self.seconds)
            try await rig.sandbox.setFaults("[]")
            return moment
        }
        #expect(audit.acceptedTwice == 0)
        #expect(audit.count("accepted") == audit.expected.count)
    }
}
