package import FanfareCore

extension APNsContent {
    package func render(_ request: ContentRequest) throws(RenderProblem) -> RenderedPush {
        let scope = request.scope
        let type = pushType(for: request.kind)
        var result: [(name: String, value: String)] = []
        result.reserveCapacity(5)
        let givenTopic = try value(APNsHeaders.topic, headers[APNsHeaders.topic]?.template, scope)
        let topic = request.identity.topic + type.topicSuffix
        result.append((APNsHeaders.topic, givenTopic ?? topic))
        result.append((APNsHeaders.pushType, type.rawValue))
        let priority = headers[APNsHeaders.priority]?.template.literal
        result.append((APNsHeaders.priority, priority ?? type.defaultPriority))
        let expiration = try expiration(type, scope)
        if let expiration { result.append((APNsHeaders.expiration, expiration)) }
        if let collapse = request.collapse ?? headers[APNsHeaders.collapseID]?.template,
            let id = CollapseID.sent(try collapse.text(in: scope), app: request.app)
        {
            result.append((APNsHeaders.collapseID, id))
        }
        let bytes = try body.render(in: scope)
        guard bytes.count <= type.payloadLimit else {
            throw .tooLarge(bytes: bytes.count, limit: type.payloadLimit)
        }
        return RenderedPush(
            headers: result,
            body: bytes,
            bodySuffix: [],
            deliveryHeader: .apnsID,
            endsAt: end(expiration, scope),
            hasOwnTopic: givenTopic.map { $0 != topic } ?? false
        )
    }

    /// Renders a push to a broadcast channel (Apple, "Sending broadcast push notification requests to APNs").
    package func render(
        to audience: NativeTarget,
        _ request: ContentRequest
    ) throws(RenderProblem) -> RenderedPush {
        guard case .channel(let channel) = audience else { throw .noContent(.apns) }
        let scope = request.scope
        let type = APNsPushType.liveactivity
        let priority = headers[APNsHeaders.priority]?.template.literal ?? type.defaultPriority
        // The header is required, and a channel without storage accepts only 0 (deliver now or never).
        let expiration = try expiration(type, scope) ?? "0"
        let result: [(name: String, value: String)] = [
            (APNsHeaders.channelID, channel), (APNsHeaders.pushType, type.rawValue), (APNsHeaders.priority, priority),
            (APNsHeaders.expiration, expiration),
        ]
        let bytes = try body.render(in: scope)
        guard bytes.count <= APNsPushType.broadcastLimit else {
            throw .tooLarge(bytes: bytes.count, limit: APNsPushType.broadcastLimit)
        }
        return RenderedPush(
            headers: result,
            body: bytes,
            bodySuffix: [],
            deliveryHeader: .apnsRequestID,
            endsAt: end(expiration, scope)
        )
    }

    /// Returns the earlier of the event's deadline and the rule's header; a header of 0 (never store) is kept.
    private func expiration(_ type: APNsPushType, _ scope: TemplateScope) throws(RenderProblem) -> String? {
        if type.isNeverStored { return type.defaultExpiration }
        let given = try value(APNsHeaders.expiration, headers[APNsHeaders.expiration]?.template, scope)
        guard let deadline = scope.context.expiration else { return given ?? type.defaultExpiration }
        guard let given, let seconds = Int64(given) else { return String(max(deadline, 0)) }
        return String(min(seconds, max(deadline, 0)))
    }

    /// Returns the time at which the push expires by its `apns-expiration`; nil if that only repeats the event's
    /// deadline.
    private func end(_ expiration: String?, _ scope: TemplateScope) -> Microseconds? {
        guard let seconds = expiration.flatMap({ Int64($0) }) else { return nil }
        if seconds == 0 { return scope.context.end(ofLifetime: 0) }
        if let deadline = scope.context.expiration, deadline <= seconds { return nil }
        return seconds.multipliedClamping(by: Micros.second)
    }

    private func value(
        _ name: String,
        _ template: TextTemplate?,
        _ scope: TemplateScope
    ) throws(RenderProblem) -> String? {
        guard let template else { return nil }
        let text = try template.text(in: scope)
        // Literal values were checked when the rule was saved.
        if template.literal == nil, let reason = APNsHeaders.fault(in: text, of: name) {
            throw .header(name: name, reason: reason)
        }
        return text
    }
}
