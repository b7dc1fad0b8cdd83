package import FanfareCore

/// What a rule sends to one provider for one locale, compiled.
package protocol ProviderContent: Sendable {
    /// Whether it names a device or user field: then it is rendered for each device.
    var usesDevice: Bool { get }

    /// Renders headers and body for the devices of one variant.
    ///
    /// - Parameter request: the event, and for whom.
    /// - Returns: what every device of the variant gets.
    /// - Throws: `RenderProblem` if a name is missing, a header value cannot be sent or the payload is too large.
    func render(_ request: ContentRequest) throws(RenderProblem) -> RenderedPush

    /// Renders the one request that reaches an audience the provider keeps.
    ///
    /// Called only for providers that address such audiences (``Provider/address(of:as:)-(NativeTarget,_)``).
    ///
    /// - Parameters:
    ///   - audience: which.
    ///   - request: the event.
    /// - Returns: headers and body.
    /// - Throws: `RenderProblem` as for devices.
    func render(to audience: NativeTarget, _ request: ContentRequest) throws(RenderProblem) -> RenderedPush
}

/// What a message is rendered for.
package struct ContentRequest {
    /// Where names are looked up; without ``DerivedValues``.
    package let scope: TemplateScope
    /// The kind of the tokens.
    package let kind: DeviceKind
    /// What the app is called at the provider.
    package let identity: ProviderIdentity
    /// The rule's collapse id template.
    package let collapse: TextTemplate?
    /// The rule's app, whose name is in the hash of a collapse id.
    package let app: String

    /// The scope with what bodies and headers say of collapse id and time.
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
