import FanfareCore
import Testing

@testable import FanfareProviders

extension JSONValue {
    /// Compiles the rule and renders it for a device.
    func push(
        _ provider: PushProvider,
        _ context: RenderContext = event(),
        kind: DeviceKind = .device,
        locale: String? = nil,
        device: DeviceContext? = nil
    ) throws -> RenderedPush {
        try CompiledRule(json: self)
            .render(
                context,
                provider: provider,
                kind: kind,
                locale: locale,
                identity: .init(topic: "com.example.shop"),
                device: device
            )
    }

    /// Returns the FCM message for a device, without its token.
    func message(_ context: RenderContext = event(), locale: String? = nil) throws -> JSONValue {
        let push = try push(.fcm, context, locale: locale)
        let request = try push.request(to: .token("t"))
        #expect(request["message"]?["token"] == "t")
        return request["message"]?.setting("token", to: nil) ?? .null
    }

    /// Returns the plaintext for a browser.
    func plaintext(_ context: RenderContext = event(), locale: String? = nil) throws -> JSONValue {
        try JSONValue(parsing: push(.webpush, context, locale: locale).body)
    }
}

extension RenderedPush {
    /// Returns the complete body of a request to FCM.
    func request(to target: FCMTarget) throws -> JSONValue {
        try JSONValue(parsing: body + target.insertion + bodySuffix)
    }

    /// The headers as lines, in order.
    var headerLines: [String] { headers.map { "\($0.name): \($0.value)" } }
}

/// Returns an event with the given time left.
func event(_ payload: JSONValue = [:], secondsLeft: Int64, now: Int64 = 1_800_000_000) -> RenderContext {
    var context = event(payload, expiration: now + secondsLeft)
    context.now = now
    return context
}
