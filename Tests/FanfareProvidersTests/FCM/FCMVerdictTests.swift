import FanfareCore
import Testing

@testable import FanfareProviders

/// Returns an error body in FCM's form.
private func body(
    _ status: String?,
    _ errorCode: String? = nil,
    message: String = "Something.",
    apns: (status: Int, reason: String)? = nil,
    fields: [String] = [],
    quota: String? = nil
) -> [UInt8] {
    let type = "type.googleapis.com/"
    var details: [JSONValue] = []
    if let errorCode {
        details.append(["@type": .string(type + "google.firebase.fcm.v1.FcmError"), "errorCode": .string(errorCode)])
    }
    if let apns {
        details.append([
            "@type": .string(type + "google.firebase.fcm.v1.ApnsError"), "statusCode": .number(JSONNumber(apns.status)),
            "reason": .string(apns.reason),
        ])
    }
    if !fields.isEmpty {
        let violations = fields.map { ["field": .string($0), "description": "wrong"] as JSONValue }
        details.append(["@type": .string(type + "google.rpc.BadRequest"), "fieldViolations": .array(violations)])
    }
    if let quota {
        let violation: JSONValue = ["subject": .string(quota), "description": "Too many."]
        details.append(["@type": .string(type + "google.rpc.QuotaFailure"), "violations": [violation]])
    }
    let error: JSONValue = [
        "code": 400, "message": .string(message), "status": status.map(JSONValue.string) ?? .null,
        "details": .array(details),
    ]
    return (["error": error] as JSONValue).encoded
}

private func verdict(
    _ status: Int,
    _ body: [UInt8] = [],
    retryAfter: String? = nil,
    in circumstances: AttemptContext = context()
) -> Verdict {
    FCMAnswer(status: status, body: body, retryAfter: retryAfter).verdict(in: circumstances)
}

/// The tables of the error codes and of the observed combinations, row by row.
struct FCMVerdictTests {
    @Test func acceptanceIsFinal() {
        #expect(verdict(200, Array(#"{"name":"projects/p/messages/1"}"#.utf8)) == .accepted)
        #expect(verdict(204).outcome == .accepted && verdict(204).isUnrecognized)
        #expect(verdict(200, body("NOT_FOUND", "UNREGISTERED")) == .accepted)
    }

    /// FCM does not say whether the device's token is dead, or that of the activity.
    @Test func aPushForALiveActivityPrunesNothing() {
        let circumstances = context(isForActivity: true)
        let answers = [
            verdict(404, body("NOT_FOUND", "UNREGISTERED"), in: circumstances),
            verdict(400, body(nil, "INVALID_ARGUMENT", apns: (410, "Unregistered")), in: circumstances),
            verdict(400, body(nil, "INVALID_ARGUMENT", fields: ["message.token"]), in: circumstances),
        ]
        #expect(answers.map(\.outcome) == [Outcome(rawValue: 157), Outcome(rawValue: 165), .fcmInvalidToken])
        #expect(answers.allSatisfy { $0.disposition == .final })
        #expect(verdict(404, body("NOT_FOUND", "UNREGISTERED")).outcome == .goneFCMUnregistered)
    }

    @Test(
        arguments: [
            (400, "UNSPECIFIED_ERROR", .fcmUnspecifiedError, .final),
            (500, "UNSPECIFIED_ERROR", .retryingServerError, .retry(Retry())),
            (400, "INVALID_ARGUMENT", .fcmInvalidArgument, .final),
            (404, "UNREGISTERED", .goneFCMUnregistered, evidence(.strong)),
            (403, "SENDER_ID_MISMATCH", .fcmSenderIDMismatch, .final),
            (
                429, "QUOTA_EXCEEDED", .retryingSenderThrottled,
                .retry(Retry(floor: Micros.minute, scope: .credential))
            ),
            (503, "UNAVAILABLE", .retryingUnavailable, .retry(Retry(scope: .credential))),
            (500, "INTERNAL", .retryingServerError, .retry(Retry())),
            (401, "THIRD_PARTY_AUTH_ERROR", .fcmThirdPartyAuthError, .callOperator),
            (401, "APNS_AUTH_ERROR", .fcmThirdPartyAuthError, .callOperator),
        ] as [(Int, String, Outcome, Disposition)]
    )
    func errorCodes(status: Int, code: String, outcome: Outcome, disposition: Disposition) {
        #expect(verdict(status, body("WHATEVER", code)) == Verdict(outcome, disposition))
    }

    /// FCM answers a malformed FID, and one that it does not know yet, like one that is gone.
    @Test func aFIDIsKeptForTenMinutesAfterItsRegistration() {
        let gone = body("NOT_FOUND", "UNREGISTERED")
        let answered = 2000 * Micros.second
        for (age, outcome, disposition) in [
            (0, .fcmUnregisteredNew, .final), (10 * Micros.minute - 1, .fcmUnregisteredNew, .final),
            // The phone's clock has no part in it, but the database's may have stepped back.
            (-Micros.minute, .fcmUnregisteredNew, .final),
        ] as [(Microseconds, Outcome, Disposition)] {
            let circumstances = context(registeredAt: answered - age, isInstallation: true)
            #expect(verdict(404, gone, in: circumstances) == Verdict(outcome, disposition), "\(age)")
        }
        let old = context(registeredAt: answered - 10 * Micros.minute, isInstallation: true)
        #expect(verdict(404, gone, in: old).outcome == .goneFCMUnregistered)
        // A token is believed at once.
        #expect(verdict(404, gone, in: context(registeredAt: answered)).outcome == .goneFCMUnregistered)
    }

    @Test func anErrorThatNamesTheFIDIsOneAboutTheAddress() {
        let answer = body("INVALID_ARGUMENT", "INVALID_ARGUMENT", fields: ["message.fid"])
        #expect(verdict(400, answer, in: context(isInstallation: true)).outcome == .goneFCMInvalidToken)
        let both = body("INVALID_ARGUMENT", "INVALID_ARGUMENT", fields: ["message.fid", "message.android"])
        #expect(verdict(400, both, in: context(isInstallation: true)).outcome == .fcmInvalidArgument)
    }

    @Test func addressesAreFIDsOrTokens() {
        func insertion(_ token: String, isInstallation: Bool) -> String? {
            let recipient = Recipient(token: token, p256dh: nil, auth: nil, isInstallation: isInstallation)
            guard case .shared(_, let bytes)? = FCMProvider().address(of: recipient, as: ProviderIdentity()) else {
                return nil
            }
            return String(decoding: bytes, as: UTF8.self)
        }
        #expect(insertion("cTmBeCwtQDuDsClbyr6d3z", isInstallation: true) == #""fid":"cTmBeCwtQDuDsClbyr6d3z""#)
        #expect(insertion("X:APA91b", isInstallation: false) == #""token":"X:APA91b""#)
        // FCM would answer these as gone, which would be no evidence.
        for text in ["", "X:APA91b", "a b", "a.b", "ä", "a\"b"] {
            #expect(insertion(text, isInstallation: true) == nil, "\(text)")
        }
    }

    @Test(
        arguments: [
            (401, "UNAUTHENTICATED", .fcmUnauthenticated, .renewCredential),
            (403, "PERMISSION_DENIED", .fcmPermissionDenied, .pause(.credential)),
            (404, "NOT_FOUND", .fcmNotFound, .pause(.credential)),
            (400, "INVALID_ARGUMENT", .fcmInvalidArgument, .final),
            (
                429, "RESOURCE_EXHAUSTED", .retryingSenderThrottled,
                .retry(Retry(floor: Micros.minute, scope: .credential))
            ),
            (503, "UNAVAILABLE", .retryingUnavailable, .retry(Retry(scope: .credential))),
            (500, "INTERNAL", .retryingServerError, .retry(Retry())),
            (504, "DEADLINE_EXCEEDED", .retryingStatus5xx, .retry(Retry())),
        ] as [(Int, String, Outcome, Disposition)]
    )
    func withoutAnErrorCode(status: Int, word: String, outcome: Outcome, disposition: Disposition) {
        #expect(verdict(status, body(word)) == Verdict(outcome, disposition))
    }

    @Test(
        arguments: [
            (400, .retryingForeignAnswer, .retry(Retry())), (401, .fcmUnauthenticated, .renewCredential),
            (403, .fcmPermissionDenied, .pause(.credential)), (404, .retryingForeignAnswer, .retry(Retry())),
            (405, .retryingForeignAnswer, .retry(Retry())), (410, .retryingForeignAnswer, .retry(Retry())),
            (429, .retryingSenderThrottled, .retry(Retry(floor: Micros.minute, scope: .credential))),
            (500, .retryingServerError, .retry(Retry())), (502, .retryingStatus5xx, .retry(Retry())),
            (503, .retryingUnavailable, .retry(Retry(scope: .credential))),
            (504, .retryingStatus5xx, .retry(Retry())), (599, .retryingStatus5xx, .retry(Retry())),
            (302, .fcmStatus3xx, .final), (0, .fcmStatusOther, .final), (700, .fcmStatusOther, .final),
        ] as [(Int, Outcome, Disposition)]
    )
    func bodiesThatSayNothing(status: Int, outcome: Outcome, disposition: Disposition) {
        let isListed = status == 502 || status == 504
        let expected = Verdict(outcome, disposition, isUnrecognized: !isListed)
        if outcome == .retryingForeignAnswer { #expect(expected.health == .failed) }
        for text in ["", "<html><title>Error \(status)</title></html>", "{}", "[]", #"{"error":"x"}"#, "{\"error\":"] {
            #expect(verdict(status, Array(text.utf8)) == expected)
        }
    }

    @Test(
        arguments: [
            (404, "NOT_FOUND", "UNREGISTERED", 410, "Unregistered", .goneFCMUnregistered),
            (400, "INVALID_ARGUMENT", "INVALID_ARGUMENT", 410, "Unregistered", .goneFCMAPNSUnregistered),
            (401, "UNAUTHENTICATED", "THIRD_PARTY_AUTH_ERROR", 403, "InvalidProviderToken", .fcmThirdPartyAuthError),
            (
                401, "UNAUTHENTICATED", "THIRD_PARTY_AUTH_ERROR", 403, "BadEnvironmentKeyInToken",
                .fcmThirdPartyAuthError
            ),
            (400, "INVALID_ARGUMENT", "INVALID_ARGUMENT", 400, "BadDeviceToken", .fcmAPNSBadDeviceToken),
        ] as [(Int, String, String, Int, String, Outcome)]
    )
    func combinationsWithAPNs(
        status: Int,
        word: String,
        code: String,
        apnsStatus: Int,
        reason: String,
        outcome: Outcome
    ) {
        let verdict = verdict(status, body(word, code, apns: (apnsStatus, reason)))
        #expect(verdict.outcome == outcome && !verdict.isUnrecognized)
        expectConsistent(verdict)
        if case .prune(let found) = verdict.disposition { #expect(found.strength == .strong) }
    }

    @Test(
        arguments: [
            ("The registration token is not a valid FCM registration token", [], true),
            ("Request contains an invalid argument.", ["message.token"], true),
            ("Request contains an invalid argument.", [], false),
            ("Android message is too big", [], false),
            ("Invalid value at 'message.data[0].value' (TYPE_STRING), 12", ["message.data[0].value"], false),
            ("The registration token is not a valid FCM registration token", ["message.android.ttl"], false),
            ("x", ["message.token", "message.apns.payload"], false), ("x", ["message.topic"], false),
            ("x", ["message.webpush.headers"], false), ("x", ["message.notification.image"], false),
        ] as [(String, [String], Bool)]
    )
    func invalidArgumentBlamesTheTokenOnlyWhereNothingElseIsNamed(message: String, fields: [String], isDead: Bool) {
        let verdict = verdict(400, body("INVALID_ARGUMENT", "INVALID_ARGUMENT", message: message, fields: fields))
        let blame = PruneEvidence(strength: .weak, registeredUpTo: 1_000_000_000, mayBlameMessage: true)
        let dead = Verdict(.goneFCMInvalidToken, .prune(blame))
        #expect(verdict == (isDead ? dead : Verdict(.fcmInvalidArgument, .final)))
    }

    @Test func theErrorCodeIsTrustedOverTheStatusButNotInAFault() {
        let odd = verdict(400, body("INVALID_ARGUMENT", "UNREGISTERED"))
        #expect(odd == Verdict(.goneFCMUnregistered, evidence(.strong), isUnrecognized: true))
        let fault = verdict(503, body("UNAVAILABLE", "UNREGISTERED"))
        #expect(fault == Verdict(.retryingStatus5xx, .retry(Retry()), isUnrecognized: true))
    }

    @Test func anUnknownErrorCodeIsNoConfigurationError() {
        #expect(verdict(404, body("NOT_FOUND", "FID_GONE")) == Verdict(.fcmStatus4xx, .final, isUnrecognized: true))
        #expect(verdict(403, body("PERMISSION_DENIED", "NEW")).disposition == .final)
        #expect(verdict(500, body("INTERNAL", "NEW")).outcome == .retryingStatus5xx)
        #expect(verdict(429, body("RESOURCE_EXHAUSTED", "NEW")).outcome == .retryingSenderThrottled)
    }

    @Test(
        arguments: [
            (nil, .retryingSenderThrottled, .credential),
            ("project:demo", .retryingSenderThrottled, .credential),
            ("device:abc", .retryingDeviceThrottled, .device),
            ("Per-device message rate", .retryingDeviceThrottled, .device),
            ("topics fanout of the project", .retryingTopicThrottled, .topic),
        ] as [(String?, Outcome, AnswerScope)]
    )
    func quotaIsClassified(subject: String?, outcome: Outcome, scope: AnswerScope) {
        let answer = body("RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED", message: "Quota exceeded.", quota: subject)
        #expect(verdict(429, answer) == Verdict(outcome, .retry(Retry(floor: Micros.minute, scope: scope))))
    }

    @Test func theMessageTellsWhoseQuotaWhereNoDetailDoes() {
        let device = body("RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED", message: "Device message rate exceeded.")
        #expect(verdict(429, device).outcome == .retryingDeviceThrottled)
    }

    @Test(
        arguments: [
            ("45", 45), ("0", 1), ("7200", 3600), ("Thu, 01 Jan 1970 00:34:20 GMT", 60),
            ("Thu, 01 Jan 1970 00:00:00 GMT", 1), ("junk", 60), (nil, 60),
        ] as [(String?, Int64)]
    )
    func retryAfterReplacesTheMinuteOf429(text: String?, seconds: Int64) {
        let answer = body("RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED")
        let expected = Retry(floor: seconds * Micros.second, scope: .credential)
        #expect(verdict(429, answer, retryAfter: text).disposition == .retry(expected))
    }

    @Test func retryAfterIsAFloorOfFaults() {
        let busy = verdict(503, body("UNAVAILABLE", "UNAVAILABLE"), retryAfter: "90")
        #expect(busy.disposition == .retry(Retry(floor: 90 * Micros.second, scope: .credential)))
        #expect(verdict(502, retryAfter: "5").disposition == .retry(Retry(floor: 5 * Micros.second)))
    }

    @Test(arguments: [-1, 0, 199, 301, 400, 401, 403, 404, 409, 418, 429, 500, 501, 503, 599, 600])
    func everyStatusIsJudgedWithEveryCode(status: Int) {
        let words = [
            nil, "NEW", "UNAUTHENTICATED", "NOT_FOUND", "INVALID_ARGUMENT", "PERMISSION_DENIED", "UNAVAILABLE",
        ]
        for code in [nil, "NEW"] + FCMErrorCode.allCases.map(\.rawValue) {
            for word in words {
                for marks in RetryHistory.Marks.combinations {
                    let verdict = verdict(status, body(word, code), in: context(marks))
                    expectConsistent(verdict)
                    #expect(verdict.outcome.kind != .accepted)
                    if case .prune = verdict.disposition {
                        #expect(code == "UNREGISTERED" && (400...499).contains(status))
                    }
                }
            }
        }
    }
}

struct FCMErrorBodyTests {
    private func parse(_ text: String) -> FCMErrorBody { FCMErrorBody(parsing: Array(text.utf8)) }

    @Test func everyDetailIsRead() {
        let parsed = FCMErrorBody(
            parsing: body(
                "INVALID_ARGUMENT",
                "INVALID_ARGUMENT",
                apns: (410, "Unregistered"),
                fields: ["message.token"]
            )
        )
        #expect(
            parsed
                == FCMErrorBody(
                    status: "INVALID_ARGUMENT",
                    errorCode: "INVALID_ARGUMENT",
                    apnsStatus: 410,
                    apnsReason: "Unregistered",
                    fields: ["message.token"],
                    namesToken: true
                )
        )
        #expect(parsed.words == "INVALID_ARGUMENT message.token Unregistered")
        #expect(parsed.reason == "INVALID_ARGUMENT" && parse(#"{"error":{"status":"X"}}"#).reason == "X")
    }

    @Test(arguments: [
        "", " ", "null", "{", "{\"error\":", "{\"error\":null}", "{\"error\":[]}", "<html>502</html>",
        String(repeating: "[", count: 5000), "{\"error\":{\"status\":7,\"details\":{\"a\":1}}}",
    ])
    func aBodyThatSaysNothingIsEmpty(text: String) {
        #expect(parse(text) == FCMErrorBody())
    }

    @Test func wordsAreCutAndLoggable() {
        #expect(parse(#"{"error":{"status":"\#(String(repeating: "A", count: 500))"}}"#).status?.count == 64)
        #expect(parse(#"{"error":{"status":"a\u001b\u202eb"}}"#).status == "ab")
        #expect(parse(#"{"error":{"status":"X"},"p":"\#(String(repeating: "x", count: 20_000))"}"#) == FCMErrorBody())
    }

    @Test(arguments: 0..<50)
    func garbageNeverCrashes(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var bytes = body("NOT_FOUND", "UNREGISTERED", apns: (410, "Unregistered"), quota: "device")
        for _ in 0..<Int.random(in: 1...8, using: &random) {
            bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
        }
        let cut = bytes.prefix(Int.random(in: 0...bytes.count, using: &random))
        expectConsistent(verdict(404, Array(cut)))
    }
}
