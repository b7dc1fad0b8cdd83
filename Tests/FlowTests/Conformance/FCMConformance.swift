extension ConformanceTable {
    /// The cases of FCM: its error codes, and Google's where FCM has none.
    static let fcm = ConformanceTable(
        .fcm,
        independent: FCM.independent,
        stopping: FCM.stopping,
        holding: FCM.holding,
        throttled: ("QUOTA_EXCEEDED", "sender_throttled"),
        expired: #""status": 401"#
    )
}

private enum FCM {
    static let holding: [ConformanceCase] = [
        ConformanceCase(.fcm, "QUOTA_EXCEEDED", nil, "retrying/sender_throttled", "pending/not_attempted"),
        ConformanceCase(
            .fcm,
            "busy",
            #""reason": "UNAVAILABLE", "retry_after": 120"#,
            "retrying/unavailable",
            "pending/not_attempted"
        ),
    ]

    static let independent: [ConformanceCase] = [
        ConformanceCase(.fcm, "INVALID_ARGUMENT", nil, "rejected/INVALID_ARGUMENT"),
        ConformanceCase(.fcm, "UNREGISTERED", nil, "gone/UNREGISTERED"),
        ConformanceCase(.fcm, "SENDER_ID_MISMATCH", nil, "rejected/SENDER_ID_MISMATCH"),
        ConformanceCase(.fcm, "THIRD_PARTY_AUTH_ERROR", nil, "rejected/THIRD_PARTY_AUTH_ERROR"),
        ConformanceCase(.fcm, "APNS_AUTH_ERROR", nil, "rejected/THIRD_PARTY_AUTH_ERROR"),
        ConformanceCase(
            .fcm,
            "unspecified",
            #""status": 400, "reason": "UNSPECIFIED_ERROR""#,
            "rejected/UNSPECIFIED_ERROR"
        ),
        ConformanceCase(
            .fcm,
            "malformed",
            body(400, "INVALID_ARGUMENT", malformed),
            "rejected/invalid_token"
        ),
        ConformanceCase(
            .fcm,
            "relayed410",
            body(400, "INVALID_ARGUMENT", "Disabled", apns: (410, "Unregistered")),
            "gone/APNs_Unregistered"
        ),
        ConformanceCase(
            .fcm,
            "relayed400",
            body(400, "INVALID_ARGUMENT", "Bad", apns: (400, "BadDeviceToken")),
            "rejected/APNs_BadDeviceToken"
        ),
        ConformanceCase.once(.fcm, "INTERNAL", "server_error"),
        ConformanceCase.once(.fcm, "UNAVAILABLE", "unavailable"),
        ConformanceCase.once(.fcm, "UNSPECIFIED_ERROR", "server_error"),
    ]

    static let stopping: [ConformanceCase] = [
        // Without an FCM error code, the error concerns the sender and never a token.
        ConformanceCase.refused(.fcm, "api-not-enabled", #""status": 403"#, as: "PERMISSION_DENIED"),
        ConformanceCase.refused(.fcm, "no-such-project", #""status": 404"#, as: "NOT_FOUND"),
        ConformanceCase.refused(.fcm, "still-unauthenticated", #""status": 401"#, as: "UNAUTHENTICATED"),
    ]

    private static let malformed = "The registration token is not a valid FCM registration token"

    /// Returns an answer of FCM, verbatim.
    private static func body(
        _ status: Int,
        _ code: String,
        _ message: String,
        apns: (status: Int, reason: String)? = nil
    ) -> String {
        let type = #"\"@type\":\"type.googleapis.com/google.firebase.fcm.v1."#
        let relayed = apns.map {
            #",{\#(type)ApnsError\",\"statusCode\":\#($0.status),\"reason\":\"\#($0.reason)\"}"#
        }
        let details = #"{\#(type)FcmError\",\"errorCode\":\"\#(code)\"}\#(relayed ?? "")"#
        let error =
            #"\"code\":\#(status),\"status\":\"\#(code)\",\"message\":\"\#(message)\",\"details\":[\#(details)]"#
        return #""status": \#(status), "body": "{\"error\":{\#(error)}}""#
    }
}
