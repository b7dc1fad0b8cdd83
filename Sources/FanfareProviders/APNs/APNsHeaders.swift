internal import FanfareCore

/// The headers that a rule sets for APNs.
struct APNsHeaders: Sendable {
    /// A header value with its path in the rule.
    struct Value: Sendable {
        let path: String
        let template: TextTemplate

        /// Returns why a priority is invalid for a push that shows nothing; nil if it is valid.
        func silentProblem(_ type: APNsPushType) -> RuleProblem? {
            guard MessageChecks.areOn, let priority = template.literal, !type.priorities.contains(priority) else {
                return nil
            }
            return RuleProblem(
                path: path,
                reason: "priority \(priority) does not go with a push that shows nothing",
                hint: "write \"\(type.defaultPriority)\", or add notification"
            )
        }
    }

    static let topic = "apns-topic"
    static let pushType = "apns-push-type"
    static let priority = "apns-priority"
    static let expiration = "apns-expiration"
    static let collapseID = "apns-collapse-id"
    /// The header of broadcasts; its value comes from `to`.
    static let channelID = NativeAudience.channelHeader
    static let known = [topic, pushType, priority, expiration, collapseID]
    private static let ours = ["apns-id", "apns-request-id", channelID, "authorization"]

    private var values: [String: Value] = [:]

    /// The value of a header, by its lower-case name.
    subscript(name: String) -> Value? { values[name] }

    /// Whether a value refers to a device or user field.
    var usesDevice: Bool { values.values.contains { $0.template.usesDevice } }

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
            guard Self.known.contains(name) else {
                let hint = NearestName.hint(for: name, among: Self.known)
                throw RuleProblem(path: path, reason: "unknown header", hint: hint)
            }
            guard seen.insert(name).inserted else {
                throw RuleProblem(path: path, reason: "is given twice", hint: "case does not matter in header names")
            }
            guard let text = member.value.stringValue else {
                values[name] = nil
                continue
            }
            let value = Value(path: path, template: try TextTemplate(text, path: path))
            try Self.check(value, of: name)
            values[name] = value
        }
    }

    private static func check(_ value: Value, of name: String) throws(RuleProblem) {
        guard let literal = value.template.literal else {
            if name == pushType || name == priority {
                throw RuleProblem(path: value.path, reason: "is a template", hint: "it must be known at save")
            }
            if let reason = fault(inPart: value.template.fixedText, of: name) {
                throw RuleProblem(path: value.path, reason: reason, hint: "shorten or change the value")
            }
            return
        }
        switch name {
        case pushType where APNsPushType(rawValue: literal) == nil:
            let hint = NearestName.hint(for: literal, among: APNsPushType.allCases.map(\.rawValue))
            throw RuleProblem(path: value.path, reason: "is not a push type", hint: hint)
        case priority where !["10", "5", "1"].contains(literal):
            throw RuleProblem(path: value.path, reason: "is not a priority", hint: "write \"10\", \"5\" or \"1\"")
        default:
            if let reason = fault(in: literal, of: name) {
                let hint = name == expiration ? MessageForm.time.hint : "shorten or change the value"
                throw RuleProblem(path: value.path, reason: reason, hint: hint)
            }
        }
    }

    /// Returns why a value cannot be sent in a header.
    ///
    /// - Parameters:
    ///   - value: the value.
    ///   - name: the header's name.
    /// - Returns: a reason without the value; nil if it can be sent.
    static func fault(in value: String, of name: String) -> String? {
        let fault = name == collapseID ? CollapseID.fault(in: value) : HeaderText.fault(in: value)
        if let fault { return fault }
        return name == expiration ? MessageForm.timeError(in: value) : nil
    }

    /// Returns why a literal part makes a value invalid in a header, independent of the rest of the value.
    static func fault(inPart part: String, of name: String) -> String? {
        name == collapseID ? CollapseID.fault(inPart: part) : HeaderText.fault(inPart: part)
    }
}

extension DeliveryHeader {
    /// The APNs header with a UUID that APNs returns.
    public static let apnsID = DeliveryHeader("apns-id")
    /// The APNs broadcast header with a UUID that APNs returns.
    public static let apnsRequestID = DeliveryHeader("apns-request-id")
}
