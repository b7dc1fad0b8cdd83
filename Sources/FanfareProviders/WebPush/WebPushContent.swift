package import FanfareCore

/// The content that a rule sends to browsers for one locale, before encryption.
///
/// The body is `{"notification": …, "data": …}`, merged as JSON merge patches (RFC 7396): notification, data, the webpush
/// block, then the same three of the locale. ``DeclarativeMessage`` adds to it if the message asks for that.
package struct WebPushContent: ProviderContent {
    /// The maximum plaintext in bytes: one record of 4096 bytes without its header, tag and delimiter (RFC 8291 section
    /// 4).
    static let payloadLimit = 3993
    /// The plaintext in bytes that Mozilla's service passes on to Firefox on Android through FCM.
    static let androidFirefoxLimit = 2744

    private let headers: WebPushHeaders
    private let body: BadgedBody
    /// The urgency if the rule sets none.
    private let urgency: String
    package let usesDevice: Bool

    package var advice: String? {
        guard body.minimumSize > Self.androidFirefoxLimit else { return nil }
        return "has at least \(body.minimumSize) bytes for webpush, but Firefox on Android gets about "
            + "\(Self.androidFirefoxLimit); shorten it if these users matter"
    }

    /// Compiles the content.
    ///
    /// - Parameters:
    ///   - parts: the message, and the locale's overlay if there is one.
    ///   - rule: the rule, for its options outside the message.
    /// - Returns: nil if the message has nothing for Web Push.
    /// - Throws: `RuleProblem` if a header cannot be sent or the body is too large.
    static func compile(_ parts: [MessagePart], rule: RuleDefinition) throws(RuleProblem) -> WebPushContent? {
        var headers = WebPushHeaders()
        for part in parts {
            if let block = part.webPushHeaders { try headers.merge(block) }
        }
        let patches = parts.flatMap { Self.patches(of: $0.node) }
        // A message that consists only of the block passes unchanged, including nulls.
        let isBlockOnly = parts.count == 1 && patches.count == 1
        var node = isBlockOnly ? patches[0] : patches.reduce(.object([])) { $0.mergePatched(with: $1) }
        let declarative = DeclarativeMessage(parts)
        let isDeclarative = declarative.isAsked
        guard ["notification", "data"].contains(where: { node[$0]?.mergeMembers?.isEmpty == false }) else {
            if isDeclarative { throw declarative.nothingShown }
            return nil
        }
        node = node.reporting(at: ["data"], of: rule)
        // The page's service worker passes it to navigator.setAppBadge; data are strings, as in FCM.
        var badges = [BadgedBody.Place(path: ["data", "badge"], isText: true)]
        if isDeclarative {
            badges += DeclarativeMessage.badgePlaces(node)
            node = try declarative.body(node)
        }
        let body = BadgedBody(node, badgeAt: rule.badgeSQL == nil ? [] : badges)
        guard body.minimumSize <= payloadLimit else {
            throw RuleProblem(
                path: parts[parts.count - 1].path,
                reason: "has at least \(body.minimumSize) bytes for webpush",
                hint: "Web Push takes at most \(payloadLimit); shorten it, or leave browsers out by to.provider"
            )
        }
        let message = parts.dropFirst().reduce(parts[0].node) { $0.mergePatched(with: $1.node) }
        return WebPushContent(
            headers: headers,
            body: body,
            urgency: AndroidBlock.isUrgent(message) ? "high" : "normal",
            usesDevice: headers.usesDevice || node.usesDevice
        )
    }

    /// Renders headers and body.
    ///
    /// - Parameter request: the event and the variant.
    /// - Returns: the request that all devices of the variant share, before encryption.
    /// - Throws: `RenderProblem` if a name is missing, a header value cannot be sent or the body is too large.
    package func render(_ request: ContentRequest) throws(RenderProblem) -> RenderedPush {
        let scope = try request.derivedScope()
        let given = try headers.text(WebPushHeaders.timeToLive, in: scope).flatMap { Int64($0) }
        var result = [(name: WebPushHeaders.timeToLive, value: String(timeToLive(given, scope)))]
        result.append((WebPushHeaders.urgency, try headers.text(WebPushHeaders.urgency, in: scope) ?? urgency))
        let topic = try headers.topic(in: scope, app: request.app) ?? scope.derived.collapseTopic
        if let topic { result.append((WebPushHeaders.topic, topic)) }
        for (name, _) in headers.others {
            if let value = try headers.text(name, in: scope) { result.append((name, value)) }
        }
        let bytes = try body.render(in: scope)
        guard bytes.count <= Self.payloadLimit else {
            throw .tooLarge(bytes: bytes.count, limit: Self.payloadLimit)
        }
        return RenderedPush(
            headers: result,
            body: bytes,
            bodySuffix: [],
            deliveryHeader: topic == nil ? .topic : nil,
            endsAt: given.flatMap { scope.context.end(ofLifetime: $0) }
        )
    }

    /// Throws, because no push service manages an audience.
    package func render(
        to audience: NativeTarget,
        _ request: ContentRequest
    ) throws(RenderProblem) -> RenderedPush {
        throw .noContent(.webpush)
    }

    /// Returns the rest of the event's lifetime, or of the header's if that is shorter; without either, of a day.
    private func timeToLive(_ given: Int64?, _ scope: TemplateScope) -> Int64 {
        let left: Int64 = scope.derived.secondsLeft ?? .max
        let own = given ?? (left == .max ? WebPushHeaders.defaultTimeToLive : .max)
        let ownLeft = max(own.subtractingClamping(scope.context.secondsSpent), 0)
        return min(ownLeft, left, WebPushHeaders.timeToLiveLimit)
    }

    /// Returns the patches of one message, in the order in which they are merged.
    private static func patches(of message: ContentNode) -> [ContentNode] {
        let block = message["webpush"]
        let own: [(key: String, value: ContentNode)] = ["notification", "data"].compactMap { key in
            block?[key].map { (key, $0) }
        }
        // The page to open on a click; FCM's own library expects it here.
        let link = block?[["fcm_options", "link"]].map { [(key: "link", value: $0)] }
        let options = link.map { [(key: "fcm_options", value: ContentNode.object($0))] } ?? []
        let common = ["notification", "data"].compactMap { key in
            message[key].map { ContentNode.object([(key, $0)]) }
        }
        let ofBlock = own + options
        return common.filter { $0.mergeMembers?.first?.value.mergeMembers?.isEmpty == false }
            + (ofBlock.isEmpty ? [] : [.object(ofBlock)])
    }
}
