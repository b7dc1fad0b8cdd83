import Foundation

/// Google's token endpoint, which issues access tokens for assertions signed by the service account.
struct OAuthSimulator: ProviderSimulator {
    static let path = "/token"

    let name = SimulatedService.oauth
    let streamLimit: Int
    let opensNarrow = false
    let account: ServiceAccount
    let tokens: AccessTokens
    /// The seconds for which an access token is accepted; the response always states `promisedLifetime`.
    let lifetime: Int64

    /// `expires_in` of every response, in seconds.
    static let promisedLifetime = 3599

    func serves(_ head: RequestHead) -> Bool {
        head.path == Self.path || head.host == "oauth2.googleapis.com"
    }

    func target(of head: RequestHead) -> String { "" }

    func makeSession(for client: TLSClient) -> any ProviderSession {
        OAuthSession(simulator: self)
    }
}

/// The token endpoint's side of one connection, which has no state.
final class OAuthSession: ProviderSession {
    static let grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer"

    private let simulator: OAuthSimulator

    init(simulator: OAuthSimulator) {
        self.simulator = simulator
    }

    func judge(_ request: PushRequest) -> Judgement {
        guard request.head.path == OAuthSimulator.path, request.head.method == "POST" else {
            let answer = ProviderAnswer.page(404, "Not Found")
            return Judgement(target: "", answer: answer, delivers: false)
        }
        let form = Self.form(request)
        let assertion = form["assertion"].flatMap(Assertion.init)
        var judgement = Judgement(
            target: assertion?.claims["iss"]?.text ?? "",
            answer: answer(to: request, form: form, assertion: assertion),
            delivers: false
        )
        judgement.shownBody = Self.shown(form, assertion)
        return judgement
    }

    private func answer(to request: PushRequest, form: [String: String], assertion: Assertion?) -> ProviderAnswer {
        guard form["grant_type"] == Self.grantType else { return Self.answer(.unsupportedGrantType) }
        guard form["assertion"] != nil else { return Self.answer(.missingParameter) }
        guard let assertion else { return Self.answer(.malformedAssertion) }
        let now = request.unixMicroseconds / 1_000_000
        let audiences: Set = [request.head.origin + OAuthSimulator.path, "https://oauth2.googleapis.com/token"]
        if let failure = assertion.failure(account: simulator.account, audiences: audiences, now: now) {
            return Self.answer(failure)
        }
        let token = simulator.tokens.issue(now: now, lifetime: simulator.lifetime)
        let lifetime = OAuthSimulator.promisedLifetime
        return .json(200, #"{"access_token":"\#(token)","expires_in":\#(lifetime),"token_type":"Bearer"}"#)
    }

    private static func answer(_ rejection: OAuthRejection) -> ProviderAnswer {
        answer(OAuthRejection.status(of: rejection.code) ?? 400, rejection.code, rejection.text)
    }

    private static func answer(_ status: Int, _ code: String, _ text: String) -> ProviderAnswer {
        let body = #"{"error":\#(JSONValue.quoted(code)),"error_description":\#(JSONValue.quoted(text))}"#
        return .json(status, reason: code, body)
    }

    func answer(_ fault: StatusFault, to judgement: Judgement, unixMicroseconds: Int64) -> ProviderAnswer {
        let status = fault.status ?? fault.reason.flatMap(OAuthRejection.status) ?? 500
        if let body = fault.body {
            return ProviderAnswer.raw(status, reason: fault.reason, body).adding(fault.headers)
        }
        guard let reason = fault.reason else {
            return ProviderAnswer.page(status, "Error \(status)").adding(fault.headers)
        }
        return Self.answer(status, reason, "as a fault wants").adding(fault.headers)
    }

    /// Returns the fields of an `application/x-www-form-urlencoded` body; none for another body.
    private static func form(_ request: PushRequest) -> [String: String] {
        let type = request.head.header("content-type") ?? ""
        guard type.lowercased().hasPrefix("application/x-www-form-urlencoded") else { return [:] }
        var fields: [String: String] = [:]
        for pair in String(decoding: request.bytes, as: UTF8.self).split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let decoded = parts.map { $0.replacing("+", with: " ").removingPercentEncoding ?? "" }
            fields[decoded[0]] = decoded.count > 1 ? decoded[1] : ""
        }
        return fields
    }

    /// Returns the form for the ledger without the assertion's signature, which would be usable to get access tokens.
    private static func shown(_ form: [String: String], _ assertion: Assertion?) -> [UInt8] {
        var object = JSONObject()
        if let grantType = form["grant_type"] {
            object.append("grant_type", .string(grantType))
        }
        if let assertion {
            object.append("header", .object(assertion.header))
            object.append("claims", .object(assertion.claims))
        }
        return Array(JSONValue.object(object).json.utf8)
    }
}
