extension ConformanceTable {
    /// The cases of webhooks: only the status counts, and no answer affects another webhook.
    static let webhook = ConformanceTable(
        .webhook,
        independent: Webhook.independent,
        throttled: ("TooManyRequests", "device_throttled"),
        tooMuch: 20_480
    )
}

extension ProviderUnderTest {
    static let webhook = ProviderUnderTest(rawValue: "webhook")
}

private enum Webhook {
    static let independent: [ConformanceCase] = [
        ConformanceCase(.webhook, "MissingHeader", nil, "rejected/bad_request"),
        ConformanceCase(.webhook, "BadTimestamp", nil, "rejected/unauthorized"),
        ConformanceCase(.webhook, "BadSignature", nil, "rejected/unauthorized"),
        ConformanceCase(.webhook, "Forbidden", nil, "rejected/forbidden"),
        ConformanceCase(.webhook, "NotFound", nil, "rejected/not_found"),
        ConformanceCase(.webhook, "MethodNotAllowed", nil, "rejected/method_not_allowed"),
        ConformanceCase(.webhook, "Gone", nil, "gone/gone"),
        ConformanceCase(.webhook, "PayloadTooLarge", nil, "rejected/payload_too_large"),
        ConformanceCase(.webhook, "TooManyRequests", nil, "retrying/device_throttled", "pending/not_attempted"),
        ConformanceCase(
            .webhook,
            "redirect",
            #""status": 307, "location": "https://127.0.0.1:1/""#,
            "rejected/status_3xx"
        ),
        ConformanceCase(.webhook, "waited", #""status": 408, "times": 1"#, "retrying/unavailable", "accepted/accepted"),
        ConformanceCase(.webhook, "talkative", #""status": 201, "body": "thanks""#, "accepted/accepted"),
        .once(.webhook, "InternalServerError", "server_error"), .once(.webhook, "ServiceUnavailable", "unavailable"),
    ]
}
