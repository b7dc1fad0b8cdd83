internal import FanfareCore

/// The content that a rule sends to APNs for one locale.
///
/// The body is the result of JSON merge patches (RFC 7396), in this order: notification, data, the apns block, then the
/// same three of the locale. A message with only `apns.payload` passes unchanged except for nulls, because Apple Watch
/// drops a push that contains a null.
package struct APNsContent: ProviderContent {
    let headers: APNsHeaders
    let body: BadgedBody
    /// The push type if neither a header nor the device kind determines it.
    let inferredPushType: APNsPushType
    package let usesDevice: Bool

    /// Compiles the content.
    ///
    /// - Parameters:
    ///   - parts: the message, and the locale's overlay if there is one.
    ///   - rule: the rule, for its options outside the message.
    /// - Returns: nil if the message has nothing for APNs.
    /// - Throws: `RuleProblem` if a template is invalid, or headers and payload contradict each other.
    static func compile(_ parts: [MessagePart], rule: RuleDefinition) throws(RuleProblem) -> APNsContent? {
        var headers = APNsHeaders()
        var patches: [ContentNode] = []
        for part in parts {
            if let block = part.apnsHeaders { try headers.merge(block) }
            patches += try notificationPatch(part) + dataPatch(part) + optionsPatch(part)
            if part.apnsPayload != nil, let payload = part.node[["apns", "payload"]] { patches.append(payload) }
        }
        guard !patches.isEmpty else { return nil }
        var node: ContentNode = patches.reduce(.object([])) { $0.mergePatched(with: $1) }
        if try isSilent(node, parts, headers, rule: rule) { node = node.mergePatched(with: Self.wakeUp) }
        let inferred = inferPushType(node)
        let type = pushType(headers, inferred, for: rule.audience.kind)
        let content = APNsContent(
            headers: headers,
            // Silent pushes must show nothing, and other push types have no badge.
            body: BadgedBody(node.reporting(of: rule), badgeAt: Self.badgePlaces(rule, type)),
            inferredPushType: inferred,
            usesDevice: headers.usesDevice || node.usesDevice
        )
        try content.check(node, part: parts[parts.count - 1], rule: rule)
        return content
    }

    /// Returns the push type for a kind of token.
    ///
    /// - Parameter kind: the kind.
    /// - Returns: the type in the header; without one, the kind's type; otherwise the type inferred from the payload.
    func pushType(for kind: DeviceKind) -> APNsPushType {
        Self.pushType(headers, inferredPushType, for: kind)
    }

    /// The payload of a background push, which wakes the app and shows nothing.
    private static let wakeUp = ContentNode.object([("aps", .object([("content-available", .literal(1))]))])

    /// Returns whether the message is data for the app only, like an FCM message without `notification`.
    ///
    /// An `aps` of the rule's own, or a push type in a header, takes precedence. The phone would ignore such a push if
    /// its type were alert.
    private static func isSilent(
        _ body: ContentNode,
        _ parts: [MessagePart],
        _ headers: APNsHeaders,
        rule: RuleDefinition
    ) throws(RuleProblem) -> Bool {
        let hasData = parts.contains { $0.data?.object.isEmpty == false }
        let isGiven = parts.contains { $0.apnsPayload?.object["aps"] != nil }
        guard hasData, !isGiven, body["aps"] == nil else { return false }
        let type = pushType(headers, .background, for: rule.audience.kind)
        if MessageChecks.areOn, type == .alert, let header = headers[APNsHeaders.pushType] {
            let hint = "add notification, or leave the header out"
            throw RuleProblem(path: header.path, reason: "push type alert has nothing to show", hint: hint)
        }
        guard type == .background else { return false }
        if let header = headers[APNsHeaders.priority], let problem = header.silentProblem(type) { throw problem }
        return true
    }

    /// Returns the places of the badge count; a silent push that takes something back has it where only the app reads it.
    private static func badgePlaces(_ rule: RuleDefinition, _ type: APNsPushType) -> [BadgedBody.Place] {
        guard rule.badgeSQL != nil else { return [] }
        if rule.isRetraction { return [BadgedBody.Place(path: ["badge"])] }
        return type == .alert ? [BadgedBody.Place(path: ["aps", "badge"])] : []
    }

    private static func pushType(
        _ headers: APNsHeaders,
        _ inferred: APNsPushType,
        for kind: DeviceKind
    ) -> APNsPushType {
        let given = headers[APNsHeaders.pushType]?.template.literal.flatMap(APNsPushType.init)
        return given ?? kind.apnsPushType ?? inferred
    }

    private static func notificationPatch(_ part: MessagePart) throws(RuleProblem) -> [ContentNode] {
        guard let notification = part.notification, !notification.object.isEmpty else { return [] }
        var alert: [(key: String, value: ContentNode)] = []
        var aps: [(key: String, value: ContentNode)] = []
        var root: [(key: String, value: ContentNode)] = []
        for member in notification.object.members {
            let node = try ContentNode(member.value, path: notification.path(member.key), typing: .text)
            if member.key != "image" {
                alert.append((member.key, node))
                continue
            }
            // The app's service extension downloads the image; FCM's SDK expects its URL here.
            if !node.removesMember { aps.append(("mutable-content", .literal(1))) }
            root.append(("fcm_options", .object([("image", node)])))
        }
        if !alert.isEmpty { aps.insert(("alert", .object(alert)), at: 0) }
        if !aps.isEmpty { root.insert(("aps", .object(aps)), at: 0) }
        return [.object(root)]
    }

    private static func dataPatch(_ part: MessagePart) throws(RuleProblem) -> [ContentNode] {
        guard let data = part.data, !data.object.isEmpty else { return [] }
        return [try ContentNode(.object(data.object), path: data.path, typing: .text)]
    }

    private static func optionsPatch(_ part: MessagePart) throws(RuleProblem) -> [ContentNode] {
        guard let options = part.apnsOptions, let image = options.object["image"] else { return [] }
        let node = try ContentNode(image, path: options.path("image"), typing: .text)
        return [.object([("fcm_options", .object([("image", node)]))])]
    }

    private static func inferPushType(_ body: ContentNode) -> APNsPushType {
        guard let aps = body["aps"], aps["content-available"] != nil, !hasVisiblePart(aps) else { return .alert }
        return .background
    }

    /// Returns whether `aps` has anything that a user sees or hears.
    static func hasVisiblePart(_ aps: ContentNode) -> Bool {
        ["alert", "badge", "sound"].contains { aps[$0] != nil }
    }
}
