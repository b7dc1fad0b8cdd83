internal import FanfareCore

/// What FCM takes in a field of a message, and how a template there is rendered.
indirect enum MessageField: Sendable {
    /// A string, whatever a template's name stands for.
    case text
    /// A string with a form of its own.
    case form(MessageForm)
    /// Strings.
    case texts
    /// Strings with a form of their own.
    case forms(MessageForm)
    /// `true` or `false`.
    case flag
    /// A number.
    case number
    /// Any keys with strings.
    case textMap
    /// An object the app itself reads.
    case freeObject
    /// These keys and no others.
    case object([(key: String, field: MessageField)])
    /// These keys, which may be null, and others with any value.
    case open([(key: String, field: MessageField)])

    /// Checks a field and compiles it.
    ///
    /// - Parameters:
    ///   - value: what the rule has there.
    ///   - path: where it stands in the rule.
    ///   - allowsNull: whether it may be null, as what a locale changes may: that removes.
    /// - Returns: the field with its templates.
    /// - Throws: `RuleProblem` if FCM would not take it, or a template is refused.
    func node(_ value: JSONValue, path: String, allowsNull: Bool) throws(RuleProblem) -> ContentNode {
        if allowsNull && value.isNull { return .literal(.null) }
        switch self {
        case .text, .form: return try string(value, path)
        case .texts: return try list(value, path, of: .text)
        case .forms(let form): return try list(value, path, of: .form(form))
        case .flag: return try typed(value, path, isLiteral: value.boolValue != nil, hint: "write true or false")
        case .number: return try typed(value, path, isLiteral: value.numberValue != nil, hint: "a number is needed")
        case .textMap:
            return try members(value, path) { member, memberPath throws(RuleProblem) in
                try MessageField.text.node(member.value, path: memberPath, allowsNull: allowsNull)
            }
        case .freeObject:
            return try ContentNode(.object(RuleObject(value, path: path).object), path: path, typing: .kept)
        case .object(let fields):
            try RuleObject(value, path: path).checkKeys(fields.map(\.key))
            return try object(value, path, fields, allowsNull: allowsNull)
        case .open(let fields): return try object(value, path, fields, allowsNull: true)
        }
    }

    private func object(
        _ value: JSONValue,
        _ path: String,
        _ fields: [(key: String, field: MessageField)],
        allowsNull: Bool
    ) throws(RuleProblem) -> ContentNode {
        try members(value, path) { member, memberPath throws(RuleProblem) in
            guard let field = fields.first(where: { $0.key == member.key })?.field else {
                return try ContentNode(member.value, path: memberPath, typing: .kept)
            }
            return try field.node(member.value, path: memberPath, allowsNull: allowsNull)
        }
    }

    private func string(_ value: JSONValue, _ path: String) throws(RuleProblem) -> ContentNode {
        guard value.stringValue != nil else {
            throw RuleProblem(
                path: path,
                reason: "is \(value.kindName)",
                hint: "a string is needed; put it in quotes"
            )
        }
        let node = try ContentNode(value, path: path, typing: .text)
        // What a template gives is not known before there is an event.
        if case .form(let form) = self, let text = node.literalValue?.stringValue, !form.matches(text) {
            throw RuleProblem(path: path, reason: "is \(form.fault)", hint: form.hint)
        }
        return node
    }

    private func list(_ value: JSONValue, _ path: String, of field: MessageField) throws(RuleProblem) -> ContentNode {
        guard let elements = value.arrayValue else {
            throw RuleProblem(path: path, reason: "is \(value.kindName)", hint: "a list is needed")
        }
        var nodes: [ContentNode] = []
        for (index, element) in elements.enumerated() {
            nodes.append(try field.string(element, "\(path)[\(index)]"))
        }
        return .array(nodes)
    }

    /// A literal of the type, or exactly one tag that stands for such a value.
    private func typed(
        _ value: JSONValue,
        _ path: String,
        isLiteral: Bool,
        hint: String
    ) throws(RuleProblem) -> ContentNode {
        if isLiteral { return .literal(value) }
        if value.stringValue != nil {
            let node = try ContentNode(value, path: path, typing: .kept)
            if case .value = node { return node }
        }
        throw RuleProblem(path: path, reason: "is \(value.kindName)", hint: hint)
    }

    private func members(
        _ value: JSONValue,
        _ path: String,
        _ compile: (JSONObject.Member, String) throws(RuleProblem) -> ContentNode
    ) throws(RuleProblem) -> ContentNode {
        let reader = try RuleObject(value, path: path)
        var members: [(key: String, value: ContentNode)] = []
        for member in reader.object.members {
            let memberPath = reader.path(member.key)
            guard !member.key.contains("{{") else {
                throw RuleProblem(path: memberPath, reason: "is a key with a template", hint: "use values only")
            }
            members.append((member.key, try compile(member, memberPath)))
        }
        return .object(members)
    }
}

/// The form of a string in a message.
enum MessageForm: Sendable {
    /// One of some words; of those in capitals also without. What goes out is what was written.
    case word([String])
    /// Decimal seconds ending in `s`, at most so many.
    case duration(atMost: Int64)
    /// `#rrggbb`.
    case color
    /// A URL with https.
    case link
    /// 1 to 50 of the characters of topic names.
    case label

    func matches(_ text: String) -> Bool {
        switch self {
        case .word(let words): words.contains(text) || words.contains(text.uppercased())
        case .duration(let limit): Self.isDuration(text, atMost: limit)
        case .color: text.wholeMatch(of: /#[0-9a-fA-F]{6}/) != nil
        case .link: text.lowercased().hasPrefix("https://")
        case .label: TopicName.isValid(text) && text.utf8.count <= 50
        }
    }

    var fault: String {
        switch self {
        case .word: "not one of its values"
        case .duration: "no duration"
        case .color: "no color"
        case .link: "no https URL"
        case .label: "no label"
        }
    }

    var hint: String {
        switch self {
        case .word(let words): "known are \(words.joined(separator: ", "))"
        case .duration(let limit): "write seconds as \"3600s\" or \"3.5s\", at most \"\(limit)s\""
        case .color: "write #rrggbb"
        case .link: "begin it with https://"
        case .label: "use 1 to 50 of a-z A-Z 0-9 - _ . ~ %"
        }
    }

    private static func isDuration(_ text: String, atMost limit: Int64) -> Bool {
        guard let match = text.wholeMatch(of: /([0-9]{1,9})(\.[0-9]{1,9})?s/), let seconds = Int64(match.1) else {
            return false
        }
        let hasFraction = match.2?.contains { $0 != "." && $0 != "0" } ?? false
        return seconds < limit || (seconds == limit && !hasFraction)
    }
}
