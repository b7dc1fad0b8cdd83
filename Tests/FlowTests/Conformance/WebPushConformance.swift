extension ConformanceTable {
    /// The cases of Web Push, from the RFCs and the documentation of the browsers' services.
    static let webPush = ConformanceTable(
        .webpush,
        independent: WebPush.independent,
        stopping: WebPush.stopping,
        holding: WebPush.holding,
        throttled: ("TooManyRequests", "device_throttled"),
        expired: #""reason": "ExpiredToken""#
    )
}

private enum WebPush {
    static let holding: [ConformanceCase] = [
        ConformanceCase(
            .webpush,
            "wns406",
            #""status": 406, "body": """#,
            "retrying/sender_throttled",
            "pending/not_attempted"
        )
    ]

    static let independent: [ConformanceCase] =
        ["BadTTL", "BadUrgency", "BadTopic", "BadEncryption", "BadCachePolicy", "KeyReused", "MissingTTL"].map {
            ConformanceCase(.webpush, $0, nil, "rejected/bad_request")
        } + [
            ConformanceCase(.webpush, "NotFound", nil, "gone/not_found"),
            ConformanceCase(.webpush, "Gone", nil, "gone/gone"),
            ConformanceCase(.webpush, "MethodNotAllowed", nil, "rejected/method_not_allowed"),
            ConformanceCase(.webpush, "PayloadTooLarge", nil, "rejected/payload_too_large"),
            ConformanceCase(.webpush, "KeyMismatch", nil, "rejected/vapid_key_mismatch"),
            ConformanceCase(.webpush, "TooManyRequests", nil, "retrying/device_throttled", "pending/not_attempted"),
            ConformanceCase(
                .webpush,
                "blocked",
                #""status": 410, "body": "Domain Blocked""#,
                "rejected/domain_blocked"
            ),
            ConformanceCase(
                .webpush,
                "errno108",
                #""status": 400, "body": "{\"errno\": 108, \"message\": \"router type\"}""#,
                "gone/invalid_subscription"
            ),
            ConformanceCase(
                .webpush,
                "apple",
                #""status": 400, "body": "{\"reason\": \"VapidPkHashMismatch\"}""#,
                "rejected/vapid_key_mismatch"
            ),
            ConformanceCase(
                .webpush,
                "redirect",
                #""status": 307, "location": "https://127.0.0.1:1/""#,
                "rejected/status_3xx"
            ),
            ConformanceCase(.webpush, "BadAudience", nil, "rejected/forbidden"),
            ConformanceCase(.webpush, "BadKey", nil, "rejected/forbidden"),
            ConformanceCase(.webpush, "nameless403", #""status": 403, "body": "no""#, "rejected/forbidden"),
            ConformanceCase.once(.webpush, "InternalServerError", "server_error"),
            ConformanceCase.once(.webpush, "ServiceUnavailable", "unavailable"),
        ]

    static let stopping: [ConformanceCase] =
        ["BadAuthorization", "BadToken"].map { ConformanceCase.refused(.webpush, $0, as: "forbidden") }
        + [ConformanceCase.refused(.webpush, "Unauthorized", as: "unauthorized")]
}
