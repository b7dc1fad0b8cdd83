package import FanfareCore
internal import Foundation

/// The content that a rule posts to webhooks for one locale: `{"type": …, "timestamp": …, "data": …}`, with `report` if the push has a handle (Standard
/// Webhooks 1.0.0).
///
/// `data` is `{"notification": …, "data": …}` of the message and its locale, merged as JSON merge patches (RFC 7396),
/// or the content of the block `webhook` in its place.
package struct WebhookContent: ProviderContent {
    /// The maximum body in bytes, as the standard recommends.
    static let payloadLimit = 20_480

    /// The type; nil for the event's type.
    private let type: BodyTemplate?
    private let data: BodyTemplate
    package let usesDevice: Bool

    /// Compiles the content.
    ///
    /// - Parameter parts: the message, and the locale's overlay if there is one.
    /// - Returns: nil if the message has nothing for webhooks.
    /// - Throws: `RuleProblem` if the body is too large.
    static func compile(_ parts: [MessagePart]) throws(RuleProblem) -> WebhookContent? {
        let own = parts.compactMap { $0.ownBlocks[MessageBlock.webhook.key] }
            .reduce(ContentNode.object([])) { $0.mergePatched(with: $1) }
        let common = parts.map(\.node).reduce(ContentNode.object([])) { $0.mergePatched(with: $1) }
        let shown = ["notification", "data"].compactMap { key in
            common[key].flatMap { $0.mergeMembers?.isEmpty == false ? (key: key, value: $0) : nil }
        }
        let data = own["data"] ?? .object(shown)
        guard data.mergeMembers?.isEmpty == false else { return nil }
        let content = WebhookContent(
            type: own["type"].map { BodyTemplate($0) },
            data: BodyTemplate(data),
            usesDevice: data.usesDevice || own["type"]?.usesDevice == true
        )
        guard content.data.minimumSize <= payloadLimit else {
            throw RuleProblem(
                path: parts[parts.count - 1].path,
                reason: "has at least \(content.data.minimumSize) bytes for webhook",
                hint: "a webhook gets at most \(payloadLimit); shorten it, or leave webhooks out by to.provider"
            )
        }
        return content
    }

    /// Renders the body.
    ///
    /// - Parameter request: the event and the variant.
    /// - Returns: the request that all webhooks of the variant share, without signature.
    /// - Throws: `RenderProblem` if a name is missing or the body is too large.
    package func render(_ request: ContentRequest) throws(RenderProblem) -> RenderedPush {
        let scope = try request.derivedScope()
        var body = Array(#"{"type":"#.utf8)
        if let type {
            body = try type.render(in: scope, after: body)
        } else {
            JSONValue.string(scope.context.eventType).encode(into: &body)
        }
        // The time of the event, not of sending, which is webhook-timestamp.
        let time = Date(timeIntervalSince1970: TimeInterval(scope.context.time ?? scope.context.now ?? 0))
        body += Array(#","timestamp":"\#(time.ISO8601Format())","data":"#.utf8)
        body = try data.render(in: scope, after: body)
        if let handle = scope.context.report { body += Array(#","report":"\#(handle)""#.utf8) }
        body.append(UInt8(ascii: "}"))
        guard body.count <= Self.payloadLimit else {
            throw .tooLarge(bytes: body.count, limit: Self.payloadLimit)
        }
        return RenderedPush(headers: [], body: body, bodySuffix: [], deliveryHeader: .webhookID, endsAt: nil)
    }

    /// Throws, because webhooks have no managed audiences.
    package func render(
        to audience: NativeTarget,
        _ request: ContentRequest
    ) throws(RenderProblem) -> RenderedPush {
        throw .noContent(.webhook)
    }
}

extension MessageBlock {
    /// The block of a message for webhooks.
    static let webhook = MessageBlock(
        key: "webhook",
        field: .object([("type", .text), ("data", .freeObject)]),
        meanings: [
            "webhook": "The block for webhooks only.",
            "webhook.type": "The body's `type`. By default it is the event's type.",
            "webhook.data":
                "The body's `data`. It replaces the `data` that Fanfare makes from the message's `notification` and `data`. If a string consists of only one tag, such as `{{new.id}}`, the inserted value keeps its type.",
        ]
    )
}
