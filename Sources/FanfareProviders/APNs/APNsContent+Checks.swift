internal import FanfareCore

extension APNsContent {
    /// Rejects what APNs would refuse, delay or silently drop, as far as it can be detected when a rule is saved.
    func check(_ body: ContentNode, part: MessagePart, rule: RuleDefinition) throws(RuleProblem) {
        try checkGivenTwice(rule)
        let type = pushType(for: rule.audience.kind)
        let isBroadcast = rule.audience.isChannel
        let typePath = headers[APNsHeaders.pushType]?.path
        let payloadPath = part.apnsPayload?.path ?? part.path
        try checkPriority(type, isBroadcast: isBroadcast)
        try checkExpiration(type)
        if isBroadcast { try checkBroadcast() } else { try checkTopic(type) }
        if let fault = disagreement(type, rule, body) {
            throw RuleProblem(
                path: typePath ?? payloadPath,
                reason: "push type \(type.rawValue) disagrees with the payload: \(fault.reason)",
                hint: fault.hint
            )
        }
        let limit = isBroadcast ? APNsPushType.broadcastLimit : type.payloadLimit
        guard self.body.minimumSize <= limit else {
            throw RuleProblem(
                path: payloadPath,
                reason: "the payload has at least \(self.body.minimumSize) bytes",
                hint: "APNs takes at most \(limit)"
            )
        }
    }

    private func checkGivenTwice(_ rule: RuleDefinition) throws(RuleProblem) {
        if rule.collapse != nil, let header = headers[APNsHeaders.collapseID] {
            throw RuleProblem(path: header.path, reason: "is given beside collapse", hint: "remove one of the two")
        }
        if rule.ttl != nil, let header = headers[APNsHeaders.expiration] {
            throw RuleProblem(path: header.path, reason: "is given beside ttl", hint: "remove one of the two")
        }
    }

    private func checkPriority(_ type: APNsPushType, isBroadcast: Bool) throws(RuleProblem) {
        guard let header = headers[APNsHeaders.priority], let priority = header.template.literal else { return }
        let known = isBroadcast ? ["10", "5", "1"] : type.priorities
        guard !known.contains(priority) else { return }
        throw RuleProblem(
            path: header.path,
            reason: "priority \(priority) does not go with push type \(type.rawValue)",
            hint: "write \"\(known[0])\", or leave it out"
        )
    }

    private func checkExpiration(_ type: APNsPushType) throws(RuleProblem) {
        guard type.isNeverStored, let header = headers[APNsHeaders.expiration], header.template.literal != "0" else {
            return
        }
        throw RuleProblem(
            path: header.path,
            reason: "only \"0\" goes with push type \(type.rawValue)",
            hint: "leave it out"
        )
    }

    /// Rejects headers that broadcasts set themselves (Apple, "Sending broadcast push notification requests to APNs").
    private func checkBroadcast() throws(RuleProblem) {
        for name in [APNsHeaders.topic, APNsHeaders.collapseID] {
            guard let header = headers[name] else { continue }
            throw RuleProblem(path: header.path, reason: "is not used with a channel", hint: "remove it")
        }
    }

    private func checkTopic(_ type: APNsPushType) throws(RuleProblem) {
        guard let header = headers[APNsHeaders.topic], let topic = header.template.literal,
            !topic.hasSuffix(type.topicSuffix)
        else { return }
        throw RuleProblem(
            path: header.path,
            reason: "has not the suffix of push type \(type.rawValue)",
            hint: "end it with \(type.topicSuffix), or leave it out"
        )
    }

    private func disagreement(
        _ type: APNsPushType,
        _ rule: RuleDefinition,
        _ body: ContentNode
    ) -> (reason: String, hint: String)? {
        let aps = body["aps"]
        switch type {
        case .background: return Self.backgroundError(aps)
        case .alert: return Self.alertError(aps)
        case .liveactivity: return LiveActivityCheck(aps, audience: rule.audience).fault
        case .widgets, .controls:
            if let flag = aps?["content-changed"]?.literalValue, flag == true { return nil }
            return ("aps.content-changed is not true", "add aps.content-changed: true")
        case .fileprovider:
            if body["container-identifier"] != nil { return nil }
            return ("it has no container-identifier", "add container-identifier and domain beside aps")
        case .mdm:
            if aps != nil { return ("it has aps", "send mdm alone") }
            return body["mdm"] == nil ? ("it has no mdm", "add mdm with the device's PushMagic") : nil
        case .location, .voip, .complication, .pushtotalk: return nil
        }
    }

    private static func backgroundError(_ aps: ContentNode?) -> (reason: String, hint: String)? {
        if let aps, hasVisiblePart(aps) {
            return ("it has alert, badge or sound", "use alert, or remove what is visible")
        }
        guard let flag = aps?["content-available"] else {
            return ("it has no content-available", "add aps.content-available: 1")
        }
        if let value = flag.literalValue, value != 1 {
            return ("content-available is not 1", "write content-available: 1")
        }
        return nil
    }

    private static func alertError(_ aps: ContentNode?) -> (reason: String, hint: String)? {
        guard let aps else { return nil }
        if aps["content-available"] != nil && !hasVisiblePart(aps) {
            return ("it has only content-available", "use background, or leave the header out")
        }
        if aps["content-state"] != nil || aps["attributes-type"] != nil {
            return ("it is that of a Live Activity", "use liveactivity, or to.kind: live_activity")
        }
        return nil
    }
}
