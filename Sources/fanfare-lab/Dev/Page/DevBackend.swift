internal import FanfareCore
internal import HTTPTypes

/// The backend of the demo's shop: it knows the page's user, has the API token, and registers devices by the HTTP API.
struct DevBackend: Sendable {
    /// The daemon's API, with a token of the scope `registrar` among others.
    let api: DevAPI
    /// The VAPID public key that browsers use to subscribe.
    let key: String

    /// The user of the page: a customer of the demo.
    static let user = "alice"
    /// The members that a browser may set; not the user.
    private static let members = ["provider", "token", "locale", "time_zone", "p256dh", "auth", "replaces"]

    /// Registers a browser.
    ///
    /// - Parameter body: the body that the page sent.
    /// - Returns: the response for the page, with the key for the reports of this browser.
    func register(_ body: JSONValue) async -> DevAnswer {
        var device = Self.device(body)
        device["user_id"] = .string(Self.user)
        guard let answer = await ask("PUT", "devices", device) else { return DevAnswer(.serviceUnavailable) }
        guard let key = (try? JSONValue(parsing: answer.content))?["report_key"], key != .null, answer.isSuccess else {
            return Self.shown(answer)
        }
        return DevAnswer(.ok, (["report_key": key] as JSONValue).encoded)
    }

    /// Unregisters a browser.
    ///
    /// - Parameter body: the body that the page sent.
    /// - Returns: the response for the page.
    func signOut(_ body: JSONValue) async -> DevAnswer {
        let device = Self.device(body)
        var named = JSONObject()
        for member in ["provider", "token"] { named[member] = device[member] }
        return await ask("POST", "devices/unregister", named).map(Self.shown) ?? DevAnswer(.serviceUnavailable)
    }

    /// Passes reports of a browser to Fanfare.
    ///
    /// - Parameters:
    ///   - body: the body that the page's worker sent.
    ///   - authorization: its header, with the key of the browser's device in place of the backend's token.
    /// - Returns: Fanfare's response.
    func report(_ body: JSONValue, _ authorization: String) async -> DevAnswer {
        await ask("POST", "reports", body, authorization) ?? DevAnswer(.serviceUnavailable)
    }

    private static func device(_ body: JSONValue) -> JSONObject {
        var device = JSONObject()
        for name in members { if case .string(let text)? = body[name] { device[name] = .string(text) } }
        return device
    }

    /// Returns what the page is told: a rejection is the browser's error, an outage is not, and the page may retry.
    private static func shown(_ answer: DevAnswer) -> DevAnswer {
        if answer.isSuccess { return DevAnswer(.noContent) }
        return DevAnswer(answer.status == .unprocessableContent ? .unprocessableContent : .serviceUnavailable)
    }

    private func ask(_ method: String, _ path: String, _ body: JSONObject) async -> DevAnswer? {
        await ask(method, path, .object(body), "Bearer \(api.token)")
    }

    /// Sends a request to Fanfare; returns nil if there is no response.
    private func ask(
        _ method: String,
        _ path: String,
        _ body: JSONValue,
        _ authorization: String
    ) async -> DevAnswer? {
        let target = "/v1/apps/\(DevDemo.app)/\(path)"
        let request = DevRequest(api: api, method: method, target: target, authorization: authorization, body: body)
        return try? await request.answer()
    }
}
