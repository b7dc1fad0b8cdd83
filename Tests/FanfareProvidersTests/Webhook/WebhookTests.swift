import FanfareCore
import Testing

@testable import FanfareProviders

struct WebhookContentTests {
    private let message: JSONValue = ["notification": ["title": "Order {{n}}"], "data": ["k": "{{n}}"]]

    private func body(_ source: JSONValue, _ context: RenderContext? = nil, locale: String? = nil) throws -> JSONValue {
        var event = context ?? event(["n": 7])
        event.time = 1_800_000_000
        return try JSONValue(parsing: source.push(.webhook, event, locale: locale).body)
    }

    @Test func theMessageBecomesTheData() throws {
        let source = rule(message: message, ["locales": ["es": ["notification": ["title": "Pedido"]]]])
        let body = try body(source)
        #expect(body["timestamp"] == "2027-01-15T08:00:00Z")
        #expect(body["type"]?.stringValue == event().eventType)
        #expect(body["data"] == ["notification": ["title": "Order 7"], "data": ["k": "7"]])
        #expect(try self.body(source, locale: "es")["data"]?["notification"] == ["title": "Pedido"])
        let push = try source.push(.webhook, event(["n": 7]))
        #expect(push.headers.isEmpty && push.bodySuffix.isEmpty && push.deliveryHeader == .webhookID)
        #expect(push.endsAt == nil)
    }

    @Test func anOwnBlockTakesItsPlaceAndReachesNobodyElse() throws {
        let block: JSONValue = ["type": "order.{{n}}", "data": ["n": "{{n}}", "lines": [["id": "{{n}}"]]]]
        let source = rule(message: message.setting("webhook", to: block))
        #expect(try body(source)["type"] == "order.7")
        #expect(try body(source)["data"] == ["n": 7, "lines": [["id": 7]]], "values keep their types")
        #expect(try source.message(event(["n": 7]))["webhook"] == nil, "FCM knows no such field")
        #expect(try source.plaintext(event(["n": 7]))["webhook"] == nil)
        let alone = rule(message: ["webhook": ["data": ["a": 1]]])
        #expect(throws: RenderProblem.self) { try alone.push(.fcm) }
        let changed = rule(
            message: ["webhook": ["data": ["a": 1, "b": 2]]],
            ["locales": ["es": ["webhook": ["data": ["b": nil]]]]]
        )
        #expect(try body(changed, locale: "es")["data"] == ["a": 1])
    }

    @Test func aMessageForOthersAloneHasNothingForWebhooks() throws {
        let apple = rule(message: ["apns": ["payload": ["aps": ["alert": "x"]]]])
        #expect(throws: RenderProblem.self) { try apple.push(.webhook) }
    }

    @Test func whatIsTooLargeOrUnknownIsRefused() throws {
        let long = JSONValue.string(String(repeating: "x", count: WebhookContent.payloadLimit))
        let parts = JSONValue.array(Array(repeating: .string(String(repeating: "x", count: 2048)), count: 10))
        let large = problem(rule(message: ["webhook": ["data": ["x": parts]]]))
        #expect(large?.reason.hasSuffix("bytes for webhook") == true, "\(String(describing: large))")
        let rendered = rule(message: ["webhook": ["data": ["x": "{{x}}"]]])
        #expect(throws: RenderProblem.self) { try rendered.push(.webhook, event(["x": long])) }
        #expect(problem(rule(message: ["webhook": ["url": "https://x"]]))?.path == "message.webhook.url")
        #expect(problem(rule(message: ["webhook": ["data": "x"]]))?.path == "message.webhook.data")
    }

    @Test func whoIsNamedGetsABodyOfHisOwn() throws {
        #expect(try CompiledRule(json: rule(message: ["webhook": ["data": ["u": "{{user.id}}"]]])).needsDevice)
        #expect(
            try CompiledRule(json: rule(message: ["webhook": ["type": "{{user.id}}", "data": ["u": 1]]])).needsDevice
        )
        #expect(try !CompiledRule(json: rule(message: message)).needsDevice)
    }
}

struct WebhookSignatureTests {
    /// The example that the standard's libraries test with.
    @Test func signsAsTheStandardsLibrariesDo() throws {
        let secret = try #require(WebhookSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))
        let signed = try WebhookSignature().value(
            id: Array("msg_p5jXN8AQM9LWM0D4loKWxJek".utf8),
            timestamp: "1614265330",
            body: Array(#"{"test": 2432232314}"#.utf8),
            secret: secret
        )
        #expect(signed == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
    }

    @Test(arguments: [
        ("whsec_" + String(repeating: "A", count: 32), true),
        ("whsec_" + String(repeating: "A", count: 84) + "AA==", true),
        ("whsec_" + String(repeating: "A", count: 30) + "==", false),
        ("whsec_" + String(repeating: "A", count: 88), false),
        ("whsec_" + String(repeating: "-", count: 32), false), (String(repeating: "A", count: 32), false),
        ("whsec_", false), ("", false), ("whsec_" + String(repeating: "A", count: 33), false),
    ])
    func secretsAreBase64OfTheRightSize(text: String, isSecret: Bool) {
        #expect((WebhookSecret(text) != nil) == isSecret)
    }

    @Test func nothingPrintsASecretOrAURL() throws {
        let recipient = Recipient(
            token: "https://hooks.example.com/marked?k=v",
            p256dh: nil,
            auth: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
        )
        let address = try #require(WebhookProvider().address(of: recipient, as: ProviderIdentity()))
        for text in ["\(address)", String(reflecting: address), String(describing: [address])] {
            #expect(!text.contains("marked") && !text.contains("49"), "\(text)")
        }
    }

    @Test func aWebhookNeedsAnURLAndASecret() throws {
        let secret = "whsec_" + String(repeating: "A", count: 32)
        func isAddress(_ url: String, _ auth: String?) -> Bool {
            let recipient = Recipient(token: url, p256dh: nil, auth: auth)
            return WebhookProvider().address(of: recipient, as: ProviderIdentity()) != nil
        }
        #expect(isAddress("https://hooks.example.com/a?b=c", secret))
        #expect(!isAddress("https://hooks.example.com/a", nil))
        #expect(!isAddress("http://hooks.example.com/a", secret))
        #expect(!isAddress("https://user@hooks.example.com/a", secret))
    }
}

struct WebhookVerdictTests {
    @Test(
        arguments: [
            (200, .accepted, .final), (201, .accepted, .final), (204, .accepted, .final), (299, .accepted, .final),
            (301, .webhookStatus3xx, .final), (308, .webhookStatus3xx, .final), (400, .webhookBadRequest, .final),
            (401, .webhookUnauthorized, .final), (403, .webhookForbidden, .final), (404, .webhookNotFound, .final),
            (405, .webhookMethodNotAllowed, .final), (408, .retryingUnavailable, .retry(Retry())),
            (410, .goneWebhook, evidence(.strong)), (413, .webhookPayloadTooLarge, .final),
            (425, .retryingUnavailable, .retry(Retry())),
            (429, .retryingDeviceThrottled, .retry(Retry(floor: Micros.minute))),
            (500, .retryingServerError, .retry(Retry())), (502, .retryingStatus5xx, .retry(Retry())),
            (503, .retryingUnavailable, .retry(Retry())), (504, .retryingStatus5xx, .retry(Retry())),
        ] as [(Int, Outcome, Disposition)]
    )
    func theStatusDecides(status: Int, outcome: Outcome, disposition: Disposition) {
        #expect(WebhookAnswer(status: status).verdict(in: context()) == Verdict(outcome, disposition))
    }

    @Test func everyStatusHasAVerdictThatStopsNobodyElse() {
        for status in 0...999 {
            let verdict = WebhookAnswer(status: status).verdict(in: context())
            switch verdict.disposition {
            case .final, .prune: break
            case .retry(let retry): #expect(retry.scope == .device, "\(status)")
            default: Issue.record("\(status): \(verdict)")
            }
        }
    }

    @Test func retryAfterIsALeastWait() {
        let answer = WebhookAnswer(status: 503, retryAfter: "90")
        #expect(answer.verdict(in: context()).disposition == .retry(Retry(floor: 90 * Micros.second)))
    }
}
