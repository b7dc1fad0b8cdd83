package import FanfareCore

/// The compiled content that a rule sends to one provider for one locale.
package protocol ProviderContent: Sendable {
    /// Whether it refers to a device or user field, and is rendered for each device.
    var usesDevice: Bool { get }

    /// A likely mistake that is not an error, as it follows the rule's `message`; nil if there is none.
    var advice: String? { get }

    /// Renders headers and body for the devices of one variant.
    ///
    /// - Parameter request: the event and the variant.
    /// - Returns: the request that all devices of the variant share.
    /// - Throws: `RenderProblem` if a name is missing, a header value cannot be sent or the payload is too large.
    func render(_ request: ContentRequest) throws(RenderProblem) -> RenderedPush

    /// Renders the single request to an audience that the provider manages.
    ///
    /// Called only for providers with an address for such audiences (``Provider/address(of:as:)-(NativeTarget,_)``).
    ///
    /// - Parameters:
    ///   - audience: the audience.
    ///   - request: the event.
    /// - Returns: headers and body.
    /// - Throws: `RenderProblem` as for devices.
    func render(to audience: NativeTarget, _ request: ContentRequest) throws(RenderProblem) -> RenderedPush
}

extension ProviderContent {
    package var advice: String? { nil }
}

/// The event and the variant that a message is rendered for.
package struct ContentRequest {
    /// The scope for names; without ``DerivedValues``.
    package let scope: TemplateScope
    /// The kind of the tokens.
    package let kind: DeviceKind
    /// The app's identity at the provider.
    package let identity: ProviderIdentity
    /// The template of the rule's collapse id.
    package let collapse: TextTemplate?
    /// The rule's app, whose name is part of the hash of a collapse id.
    package let app: String

    /// Returns the scope with the derived values of collapse id and time.
    ///
    /// - Throws: `RenderProblem` if a name is missing.
    package func derivedScope() throws(RenderProblem) -> TemplateScope {
        var scope = scope
        if let collapse {
            let id = try collapse.text(in: scope)
            if let sent = CollapseID.sent(id, app: app) {
                scope.derived.collapse = sent
                scope.derived.collapseTopic = WebPushTopic.hash(collapse: id, app: app)
            }
        }
        guard let expiration = scope.context.expiration, let now = scope.context.now else { return scope }
        scope.derived.expiration = max(expiration, 0)
        scope.derived.secondsLeft = max(expiration.subtractingClamping(now), 0)
        return scope
    }
}
