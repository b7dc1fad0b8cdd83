internal import FanfareCore
internal import HTTPTypes

/// What a shop's backend does for its pages: it knows its user, has the token, and registers devices by the HTTP API.
struct DevBackend: Sendable {
    /// The daemon's API, with a token of the scope `registrar` among others.
    let api: DevAPI
    /// The VAPID public key with which browsers subscribe.
    let key: String

    /// Whoever opens the page: a customer of the demo.
    static let user = "alice"
    /// What a browser may say of itself; above all not whose it is.
    private static let members = ["provider", "token", "locale", "time_zone", "p256dh", "auth", "replaces"]

    /// Registers a browser.
    ///
    /// - Parameter body: what the page sent.
    /// - Returns: what the page is told.
    func register(_ body: JSONValue) async -> HTTPResponse.Status {
        var device = Self.device(body)
        device["user_id"] = .string(Self.user)
        return await ask("PUT", "devices", device)
    }

    /// Has a browser get nothing any more.
    ///
    /// - Parameter body: what the page sent.
    /// - Returns: what the page is told.
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

    /// What Fanfare refuses is the browser's fault; that it is away is not, and the page may come again.
    private func ask(_ method: String, _ path: String, _ body: JSONObject) async -> HTTPResponse.Status {
        let target = "/v1/apps/\(DevDemo.app)/\(path)"
        switch try? await DevRequest(api: api, method: method, target: target, body: JSONValue.object(body)).status() {
        case .some(200..<300): return .noContent
        case 422: return .unprocessableContent
        default: return .serviceUnavailable
        }
    }
}
