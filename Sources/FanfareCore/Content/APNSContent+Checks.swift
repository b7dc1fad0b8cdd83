extension APNSContent {
    /// Refuses what APNs would refuse, delay or silently drop, as far as it shows when a rule is saved.
    func check(_ body: ContentNode, part: MessagePart, rule: RuleDefinition) throws(RuleProblem) {
        try checkGivenTwice(rule)
        let type = pushType(for: rule.audience.kind)
        let typePath = headers[APNSHeaders.pushType]?.path
        let payloadPath = part.apnsPayload?.path ?? part.path
        try checkPriority(type, payloadPath)
        try checkTopic(type)
        if let fault = Self.disagreement(type, body["aps"]) {
            throw RuleProblem(
                path: typePath ?? payloadPath,
                reason: "push type \(type.rawValue) disagrees with the payload: \(fault.reason)",
                hint: fault.hint
            )
        }
        guard self.body.minimumSize <= type.payloadLimit else {
            throw RuleProblem(
                path: payloadPath,
                reason: "the payload has at least \(self.body.minimumSize) bytes",
                hint: "APNs takes at most \(type.payloadLimit)"
            )
        }
    }

    private func checkGivenTwice(_ rule: RuleDefinition) throws(RuleProblem) {
        if rule.collapse != nil, let header = headers[APNSHeaders.collapseID] {
            throw RuleProblem(path: header.path, reason: "is given beside collapse", hint: "remove one of the two")
        }
        if rule.ttl != nil, let header = headers[APNSHeaders.expiration] {
            throw RuleProblem(path: header.path, reason: "is given beside ttl", hint: "remove one of the two")
        }
    }

    private func checkPriority(_ type: APNSPushType, _ payloadPath: String) throws(RuleProblem) {
        guard let header = headers[APNSHeaders.priority], let priority = header.template.literal,
            !type.priorities.contains(priority)
        else { return }
        throw RuleProblem(
            path: header.path,
            reason: "priority \(priority) does not go with push type \(type.rawValue)",
            hint: "write \"\(type.priorities[0])\", or leave it out"
        )
    }

    private func checkTopic(_ type: APNSPushType) throws(RuleProblem) {
        guard let header = headers[APNSHeaders.topic], let topic = header.template.literal,
            !topic.hasSuffix(type.topicSuffix)
        else { return }
        throw RuleProblem(
            path: header.path,
            reason: "has not the suffix of push type \(type.rawValue)",
            hint: "end it with \(type.topicSuffix), or leave it out"
        )
    }

    private static func disagreement(_ type: APNSPushType, _ aps: ContentNode?) -> (reason: String, hint: String)? {
        let isSilent = aps?["content-available"] != nil && !(aps.map(hasVisiblePart) ?? false)
        switch type {
        case .background:
            if let aps, hasVisiblePart(aps) {
                return ("it has alert, badge or sound", "use alert, or remove what is visible")
            }
            if aps?["content-available"] == nil {
                return ("it has no content-available", "add aps.content-available: 1")
            }
            if let flag = aps?["content-available"]?.literalValue, flag != 1 {
                return ("content-available is not 1", "write content-available: 1")
            }
        case .alert:
            if isSilent { return ("it has only content-available", "use background, or leave the header out") }
            if aps?["content-state"] != nil || aps?["attributes-type"] != nil {
                return ("it is that of a Live Activity", "use liveactivity, or to.kind: live_activity")
            }
        case .liveactivity:
            for key in ["timestamp", "event"] where aps?[key] == nil {
                return ("aps has no \(key)", "add aps.\(key)")
            }
            if let event = aps?["event"]?.literalValue, !(["start", "update", "end"] as [JSONValue]).contains(event) {
                return ("aps.event is not start, update or end", "write one of them")
            }
        case .widgets, .controls:
            if let flag = aps?["content-changed"]?.literalValue, flag == true { break }
            return ("aps.content-changed is not true", "add aps.content-changed: true")
        case .location, .voip, .complication, .fileprovider, .mdm, .pushtotalk: break
        }
        return nil
    }
}
