extension WebPushService {
    /// Returns the service's response to a rejected request.
    func answer(_ rejection: WebPushRejection) -> ProviderAnswer {
        answer(status(of: rejection), rejection, reason: rejection.rawValue, text: text(of: rejection))
    }

    /// Creates a response with a given status in the service's format.
    ///
    /// - Parameters:
    ///   - status: the status.
    ///   - rejection: the sandbox's reason; nil for another one.
    ///   - reason: the name in the ledger and, for Apple, in the response.
    ///   - text: the text for people.
    /// - Returns: the response.
    func answer(_ status: Int, _ rejection: WebPushRejection?, reason: String?, text: String) -> ProviderAnswer {
        var answer: ProviderAnswer
        switch self {
        case .rfc, .fcm, .unifiedpush: answer = .raw(status, reason: reason, text + "\n")
        case .mozilla: answer = .raw(status, reason: reason, mozillaBody(status, rejection, text))
        case .apple:
            let name = rejection.map(appleReason) ?? reason ?? ""
            answer = .raw(status, reason: reason, name.isEmpty ? "" : #"{"reason":\#(JSONValue.quoted(name))}"#)
        case .wns:
            answer = ProviderAnswer(status: status, reason: reason)
            answer.headers.append((name: "x-wns-error-description", value: text))
        }
        if status == 401 {
            answer.headers.append((name: "www-authenticate", value: "vapid"))
        }
        if self == .mozilla, status == 410 {
            answer.headers.append((name: "cache-control", value: "max-age=86400"))
        }
        return answer
    }

    /// Returns the service's status for a reason.
    func status(of rejection: WebPushRejection) -> Int {
        switch (self, rejection) {
        case (.mozilla, _) where rejection.isAboutCredential: 401
        case (.apple, .unauthorized): 403
        case (.apple, .keyMismatch): 400
        case (.wns, .tooManyRequests): 406
        default: rejection.status
        }
    }

    private func text(of rejection: WebPushRejection) -> String {
        self == .mozilla && rejection == .keyMismatch ? "VAPID public key mismatch" : rejection.text
    }

    private func mozillaBody(_ status: Int, _ rejection: WebPushRejection?, _ text: String) -> String {
        let number = rejection.flatMap(Self.mozillaNumber).map(String.init) ?? "null"
        return #"{"code":\#(status),"errno":\#(number),"error":\#(JSONValue.quoted(Self.phrase(status))),"#
            + #""message":\#(JSONValue.quoted(text)),"#
            + #""more_info":"http://autopush.readthedocs.io/en/latest/http.html#error-codes"}"#
    }

    /// Returns Mozilla's `errno`; nil if it has none.
    private static func mozillaNumber(_ rejection: WebPushRejection) -> Int? {
        switch rejection {
        case .notFound: 102
        case .payloadTooLarge: 104
        case .gone: 106
        case .badEncryption: 110
        case .missingTTL: 111
        case .badTopic: 113
        case .badTTL: 114
        case .serviceUnavailable: 201
        case _ where rejection.isAboutCredential: 109
        default: nil
        }
    }

    private func appleReason(_ rejection: WebPushRejection) -> String {
        switch rejection {
        case .notFound: "BadPath"
        case .gone: "Unregistered"
        case .missingTTL, .badTTL: "BadTtl"
        case .badTopic: "BadWebPushTopic"
        case .unauthorized, .badAuthorization: "BadAuthorizationHeader"
        case .badToken, .expiredToken, .badAudience: "BadJwtToken"
        case .badKey: "BadVapidPublicKey"
        case .keyMismatch: "VapidPkHashMismatch"
        case .keyReused, .badEncryption, .badCachePolicy: "BadWebPushRequest"
        default: rejection.rawValue
        }
    }

    private static func phrase(_ status: Int) -> String {
        switch status {
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 410: "Gone"
        case 413: "Payload Too Large"
        case 429: "Too Many Requests"
        case 503: "Service Unavailable"
        case 502: "Bad Gateway"
        default: "Internal Server Error"
        }
    }
}
