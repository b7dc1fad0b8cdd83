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
    /// - Returns: the status for the page.
    func register(_ body: JSONValue) async -> HTTPResponse.Status {
        var device = Self.device(body)
        device["user_id"] = .string(Self.user)
        return await ask("PUT", "devices", device)
    }

    /// Unregisters a browser.
    ///
    /// - Parameter body: the body that the page sent.
    /// - Returns: the status for the page.
    func signOut(_ body: JSONValue) async -> HTTPResponse.Status {
        let device = Self.device(body)
        var named = JSONObject()
        for member in ["provider", "token"] { named[member] = device[member] }
        return await ask("POST", "devices/unregister", named)
    }

    private static func device(_ body: JSONValue) -> JSONObject {
        var device = JSONObject()
        for name in members { if case .string(let text)? = body[name] { device[name] = .string(text) } }
        return device
    }

    /// Sends a request to Fanfare; a rejection is the browser's error, an outage is not, and the page may retry.
    private func ask(_ method: String, _ path: String, _ body: JSONObject) async -> HTTPResponse.Status {
        let target = "/v1/apps/\(DevDemo.app)/\(path)"
        switch try? await DevRequest(api: api, method: method, target: target, body: JSONValue.object(body)).status() {
        case .some(200..<300): return .noContent
        case 422: return .unprocessableContent
        default: return .serviceUnavailable
        }
    }
}
