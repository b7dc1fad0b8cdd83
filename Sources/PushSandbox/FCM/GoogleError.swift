/// An error in the format of Google's APIs: `{"error": {code, message, status, details}}`.
struct GoogleError {
    /// An invalid field, in a `google.rpc.BadRequest` detail.
    struct Violation {
        let field: String
        let description: String
    }

    let status: Int
    let message: String
    /// FCM's own code, in a detail of its own; nil if the request did not reach FCM.
    var code: FCMErrorCode?
    var violations: [Violation] = []
    /// The exceeded quota, in a `google.rpc.QuotaFailure` detail.
    var quota: Violation?
    /// The seconds of a `Retry-After` header.
    var retryAfter: Int64?
    /// Google's name of the status, if it is not the usual one of the HTTP status.
    var statusName: String?

    /// Returns the error for a message over a rate limit.
    static func quota(_ subject: String, _ description: String, retryAfter: Int64?) -> GoogleError {
        GoogleError(
            status: 429,
            message: FCMErrorCode.quotaExceeded.text,
            code: .quotaExceeded,
            quota: Violation(field: subject, description: description),
            retryAfter: retryAfter
        )
    }

    /// Returns the error for an invalid field.
    static func invalid(_ field: String, _ description: String) -> GoogleError {
        GoogleError(
            status: 400,
            message: description,
            code: .invalidArgument,
            violations: [Violation(field: field, description: description)]
        )
    }

    /// The response, in two DATA frames so that no client relies on one.
    var answer: ProviderAnswer {
        var answer = ProviderAnswer.json(status, reason: code?.rawValue ?? name, body)
        answer.splitsBody = true
        if status == 401, code == nil {
            answer.headers.append((name: "www-authenticate", value: #"Bearer realm="https://accounts.google.com/""#))
        }
        if let retryAfter {
            answer.headers.append((name: "retry-after", value: String(retryAfter)))
        }
        return answer
    }

    private var name: String { statusName ?? GoogleStatus.name(of: status) }

    private var body: String {
        let details = [codeDetail, badRequestDetail, quotaDetail].compactMap(\.self).joined(separator: ",")
        return #"{"error":{"code":\#(status),"message":\#(JSONValue.quoted(message)),"#
            + #""status":"\#(name)""#
            + (details.isEmpty ? "}}" : #","details":[\#(details)]}}"#)
    }

    private var codeDetail: String? {
        code.map { Self.detail("google.firebase.fcm.v1.FcmError", #""errorCode":"\#($0.rawValue)""#) }
    }

    private var badRequestDetail: String? {
        guard !violations.isEmpty else { return nil }
        let list = violations.map {
            #"{"field":\#(JSONValue.quoted($0.field)),"description":\#(JSONValue.quoted($0.description))}"#
        }
        return Self.detail("google.rpc.BadRequest", #""fieldViolations":[\#(list.joined(separator: ","))]"#)
    }

    private var quotaDetail: String? {
        quota.map { quota in
            let (subject, text) = (JSONValue.quoted(quota.field), JSONValue.quoted(quota.description))
            return Self.detail(
                "google.rpc.QuotaFailure",
                #""violations":[{"subject":\#(subject),"description":\#(text)}]"#
            )
        }
    }

    private static func detail(_ type: String, _ members: String) -> String {
        #"{"@type":"type.googleapis.com/\#(type)",\#(members)}"#
    }
}

extension GoogleError {
    /// Returns the response to a fault.
    ///
    /// - Parameters:
    ///   - fault: the fault; its reason is a code of FCM or Google's name of a status.
    ///   - project: the project that an exhausted quota names.
    /// - Returns: the response, with FCM's detail if the reason is a code of FCM or none is given for a 5xx.
    static func answer(_ fault: StatusFault, project: String) -> ProviderAnswer {
        let code = fault.reason.flatMap(FCMErrorCode.init(rawValue:))
        let named = fault.reason.flatMap(GoogleStatus.status(of:))
        let status = fault.status ?? code?.status ?? named ?? 500
        if let body = fault.body {
            return ProviderAnswer.raw(status, reason: fault.reason, body).adding(fault.headers)
        }
        // Proxies between a client and Google respond with HTML.
        guard status != 502, status != 504, status >= 400 else {
            return ProviderAnswer.page(status, "Error \(status)").adding(fault.headers)
        }
        let isServers = status >= 500 && named == nil
        var error = GoogleError(
            status: status,
            message: code?.text ?? fault.reason ?? "Error \(status)",
            code: code ?? (isServers ? FCMErrorCode.allCases.first { $0.status == status } : nil)
        )
        if code == nil, named != nil { error.statusName = fault.reason }
        if code == .quotaExceeded {
            error.quota = Violation(field: "project:\(project)", description: "as a fault wants")
        }
        return error.answer.adding(fault.headers)
    }
}
