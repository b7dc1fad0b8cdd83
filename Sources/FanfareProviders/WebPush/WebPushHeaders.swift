internal import FanfareCore

/// The headers that a rule sets for Web Push.
struct WebPushHeaders: Sendable {
    /// A header value with its path in the rule.
    struct Value: Sendable {
        let path: String
        let template: TextTemplate
    }

    static let timeToLive = "ttl"
    static let urgency = "urgency"
    static let topic = "topic"
    /// The `TTL` if neither event nor rule has a `ttl`: a day, in seconds.
    static let defaultTimeToLive: Int64 = 86_400
    /// The longest time for which a service stores a push: 30 days, in seconds.
    static let timeToLiveLimit = MessageSchema.webTimeToLiveLimit
    static let urgencies = ["very-low", "low", "normal", "high"]
    /// The headers of the encryption and the transport.
    private static let ours = [
        "authorization", "connection", "content-encoding", "content-length", "content-type", "crypto-key", "encryption",
        "expect", "host", "te", "transfer-encoding", "upgrade",
        "x-wns-cache-policy",
    ]

    /// The values by lower-case name, in the order of their first mention.
    private(set) var values: [(name: String, value: Value)] = []

    /// The value of a header, by its lower-case name.
    subscript(name: String) -> Value? { values.first { $0.name == name }?.value }

    /// The headers that do not correspond to a field of the protocol.
    var others: [(name: String, value: Value)] {
        values.filter { ![Self.timeToLive, Self.urgency, Self.topic].contains($0.name) }
    }

    /// Whether a value refers to a device or user field.
    var usesDevice: Bool { values.contains { $0.value.template.usesDevice } }

    /// Merges the headers of a message, or a locale's changes to them.
    ///
    /// - Parameter block: the `headers` object; null removes a header.
    /// - Throws: `RuleProblem` if a name or a literal value cannot be sent.
    mutating func merge(_ block: RuleObject) throws(RuleProblem) {
        var seen: Set<String> = []
        for member in block.object.members {
            let name = member.key.lowercased()
            let path = block.path(member.key)
            if Self.ours.contains(name) {
                throw RuleProblem(path: path, reason: "is set by Fanfare", hint: "remove it")
            }
            guard Self.isName(name) else {
                throw RuleProblem(path: path, reason: "is not a header name", hint: "use letters, digits and -")
            }
            guard seen.insert(name).inserted else {
                throw RuleProblem(path: path, reason: "is given twice", hint: "case does not matter in header names")
            }
            let index = values.firstIndex { $0.name == name }
            guard let text = member.value.stringValue else {
                if let index { values.remove(at: index) }
                continue
            }
            let template = try TextTemplate(text, path: path)
            let fault =
                template.literal.map { Self.fault(in: $0, of: name) } ?? HeaderText.fault(inPart: template.fixedText)
            if let fault { throw RuleProblem(path: path, reason: fault, hint: Self.hint(name, template.literal)) }
            let value = Value(path: path, template: template)
            if let index { values[index].value = value } else { values.append((name, value)) }
        }
    }

    /// Renders a value and checks it.
    ///
    /// - Parameters:
    ///   - name: the header, in lower case.
    ///   - scope: resolves names.
    /// - Returns: the value; nil if the rule sets none.
    /// - Throws: `RenderProblem` if a name is missing or the value cannot be sent.
    func text(_ name: String, in scope: TemplateScope) throws(RenderProblem) -> String? {
        guard let template = self[name]?.template else { return nil }
        let text = try template.text(in: scope)
        if template.literal == nil, let reason = Self.fault(in: text, of: name) {
            throw .header(name: name, reason: reason)
        }
        return text
    }

    private static func fault(in value: String, of name: String) -> String? {
        if let reason = HeaderText.fault(in: value) { return reason }
        switch name {
        case timeToLive where value.utf8.count > 18 || !value.utf8.allSatisfy({ (48...57).contains($0) }):
            return "is not a time in whole seconds"
        case urgency where !urgencies.contains(value): return "is not an urgency"
        case topic where MessageChecks.areOn && !WebPushTopic.isValid(value): return "is not a topic"
        default: return nil
        }
    }

    /// Renders the topic.
    ///
    /// - Parameters:
    ///   - scope: resolves names.
    ///   - app: the app.
    /// - Returns: the topic, or a hash of a template's result that a service would refuse; nil if it is empty, or the
    ///   rule sets none.
    /// - Throws: `RenderProblem` if a name is missing.
    func topic(in scope: TemplateScope, app: String) throws(RenderProblem) -> String? {
        guard let text = try self[Self.topic]?.template.text(in: scope), !text.isEmpty else { return nil }
        return WebPushTopic.isValid(text) ? text : WebPushTopic.hash(collapse: text, app: app)
    }

    private static func hint(_ name: String, _ value: String?) -> String {
        if name == topic, let count = value?.utf8.count, count < WebPushTopic.lengthLimit,
            !WebPushTopic.hasWholeBytes(count)
        {
            let others = count == 1 ? "2" : "\(count - 1) or \(count + 1)"
            return "Apple takes none of \(count) characters; use \(others), or collapse, which is hashed"
        }
        return switch name {
        case timeToLive: "write seconds such as \"3600\""
        case urgency: "known are \(urgencies.joined(separator: ", "))"
        case topic: "use 1 to \(WebPushTopic.lengthLimit) of a-z A-Z 0-9 - _, or collapse, which is hashed"
        default: "shorten or change the value"
        }
    }

    private static func isName(_ name: String) -> Bool {
        !name.isEmpty
            && name.utf8.allSatisfy { (97...122).contains($0) || (48...57).contains($0) || $0 == 45 || $0 == 95 }
    }
}

extension DeliveryHeader {
    /// The Web Push topic: a repeat replaces a pending push with the same topic, and so its own first copy.
    public static let topic = DeliveryHeader(WebPushHeaders.topic, hasHyphens: false)
}
