import TestKit
import Testing

/// A fault that the simulated provider plays for a while.
struct PlayedFault: Sendable, CustomTestStringConvertible {
    let name: String
    let faults: String
    var provider = "apns"
    /// Whether no request may be repeated, because the provider reports unanswered ones as not processed.
    var repeatsNothing = false
    /// The duration.
    var seconds = Self.seconds

    var testDescription: String { name }

    /// The duration of most faults.
    static let seconds = Soak.choose(1.0, soak: 60)

    /// The faults of streams and connections.
    static let connections = [
        PlayedFault(name: "GOAWAY below what is in flight", faults: goAway("below"), repeatsNothing: true),
        PlayedFault(name: "GOAWAY at what is in flight", faults: goAway("at")),
        PlayedFault(name: "GOAWAY above what is in flight", faults: goAway("above")),
        PlayedFault(
            name: "REFUSED_STREAM for 20 %",
            faults: #"[{"match": {"share": 0.2}, "do": "refuse", "times": 3}]"#,
            repeatsNothing: true
        ),
        PlayedFault(name: "TCP reset after the body", faults: #"[{"skip": 40, "do": "reset", "total": 8}]"#),
        PlayedFault(
            name: "RST_STREAM after the body for 30 %",
            faults: #"[{"match": {"share": 0.3}, "do": "reset", "code": "INTERNAL_ERROR", "times": 1}]"#
        ),
        PlayedFault(name: "closed without an answer", faults: #"[{"skip": 40, "do": "close", "total": 8}]"#),
    ]

    /// The faults of responses and stream limits.
    static let answers = [
        PlayedFault(
            name: "503",
            faults: #"[{"do": "status", "status": 503, "reason": "ServiceUnavailable"}]"#,
            repeatsNothing: true
        ),
        PlayedFault(
            name: "HTML bodies with 502 for 30 %",
            faults:
                #"[{"match": {"share": 0.3}, "do": "status", "status": 502, "body": "<html>Bad Gateway", "times": 1}]"#,
            repeatsNothing: true
        ),
        PlayedFault(
            name: "HTML bodies with 502 for 30 %, FCM",
            faults:
                #"[{"match": {"share": 0.3}, "do": "status", "status": 502, "body": "<html>Bad Gateway", "times": 1}]"#,
            provider: "fcm",
            repeatsNothing: true
        ),
        PlayedFault(
            name: "410 with a proxy's page",
            faults: #"[{"do": "status", "status": 410, "body": "<html>gone fishing</html>"}]"#,
            repeatsNothing: true
        ),
        PlayedFault(
            name: "404 with a proxy's page, FCM",
            faults: #"[{"provider": "fcm", "do": "status", "status": 404, "body": "<html>gone fishing</html>"}]"#,
            provider: "fcm",
            repeatsNothing: true
        ),
        PlayedFault(
            name: "expired provider token",
            faults: #"[{"do": "status", "reason": "ExpiredProviderToken", "times": 1}]"#,
            repeatsNothing: true
        ),
        PlayedFault(
            name: "OAuth token not taken, FCM",
            faults: #"[{"provider": "fcm", "do": "status", "status": 401, "times": 1, "total": 100}]"#,
            provider: "fcm",
            repeatsNothing: true
        ),
        PlayedFault(name: "stream limit 1", faults: #"[{"do": "stream_limit", "value": 1}]"#, repeatsNothing: true),
        PlayedFault(name: "stream limit 0", faults: #"[{"do": "stream_limit", "value": 0}]"#, repeatsNothing: true),
        // In the long form, longer than a request's timeout.
        PlayedFault(
            name: "window 0",
            faults: #"[{"do": "window", "value": 0}]"#,
            repeatsNothing: true,
            seconds: Soak.choose(3, soak: 30)
        ),
    ]

    private static func goAway(_ last: String) -> String {
        #"[{"skip": 40, "do": "goaway", "last_stream": "\#(last)", "total": 8}]"#
    }
}

extension Rig {
    /// Plays a fault and audits the deliveries.
    func play(_ fault: PlayedFault) async throws {
        let (audit, _) = try await under(fault.name, provider: fault.provider) { _ in
            try await sandbox.setFaults(fault.faults)
            try await hold(seconds: fault.seconds)
            // A stream limit that is raised again has to be announced.
            try await sandbox.setFaults(
                fault.faults.contains("stream_limit") ? #"[{"do": "stream_limit", "value": 1000}]"# : "[]"
            )
            return monotonicNanoseconds()
        }
        try await sandbox.setFaults("[]")
        #expect(audit.acceptedTwice == 0, "what was answered is not sent again")
        if fault.repeatsNothing { #expect(audit.duplicates == 0) }
        #expect(audit.count("accepted") == audit.expected)
    }
}
