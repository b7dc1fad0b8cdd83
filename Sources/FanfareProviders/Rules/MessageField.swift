internal import FanfareCore

/// The allowed content of a message field in FCM, and how a template in it is rendered.
indirect enum MessageField: Sendable {
    /// A string; templates are rendered as text.
    case text
    /// A string with a given form.
    case form(MessageForm)
    /// An array of strings.
    case texts
    /// An array of strings with a given form.
    case forms(MessageForm)
    /// `true` or `false`.
    case flag
    /// `true` or `false`, and no template.
    case fixedFlag
    /// A number in a range.
    case number(ClosedRange<Double>, isWhole: Bool = false)
    /// Seconds since 1970.
    case time
    /// A string, or the content of another field.
    case textOr(MessageField)
    /// An object with any keys and string values; some keys, in lower case, have a form.
    case textMap(forms: [String: MessageForm] = [:])
    /// Any JSON.
    case anything
    /// An object for the app itself.
    case freeObject
    /// The payload for iOS: ``APSSchema``.
    case apnsPayload
    /// An object with only these keys.
    case object([(key: String, field: MessageField)])
    /// An object with these keys, which may be null, and other keys with any value.
    case open([(key: String, field: MessageField)])
    /// Like `open`, but keys that are nearly identical to one of these are rejected.
    case similar([(key: String, field: MessageField)])

    /// Checks a field and compiles it.
    ///
    /// - Parameters:
    ///   - value: the field's value in the rule.
    ///   - path: its path in the rule.
    ///   - allowsNull: whether null is allowed, as in a locale's changes, where it removes the field.
    /// - Returns: the compiled field.
    /// - Throws: `RuleProblem` if FCM would reject the field, or a template is invalid.
    func node(_ value: JSONValue, path: String, allowsNull: Bool) throws(RuleProblem) -> ContentNode {
        if allowsNull && value.isNull { return .literal(.null) }
        switch self {
        case .text, .form: return try string(value, path)
        case .texts: return try list(value, path, of: .text)
        case .forms(let form): return try list(value, path, of: .form(form))
        case .flag: return try typed(value, path, .flag)
        case .fixedFlag:
            if value == true || value == false { return .literal(value) }
            throw RuleProblem(
                path: path,
                reason: "is \(value.kindName)",
                hint: "write true or false, without a template"
            )
        case .number(let range, let isWhole): return try typed(value, path, .number(range, isWhole: isWhole))
        case .time: return try typed(value, path, .time)
        case .textOr(let other):
            return try (value.stringValue == nil ? other : .text).node(value, path: path, allowsNull: allowsNull)
        case .textMap(let forms):
            return try members(value, path) { member, memberPath throws(RuleProblem) in
                let field = forms[member.key.lowercased()].map(MessageField.form) ?? .text
                return try field.node(member.value, path: memberPath, allowsNull: allowsNull)
            }
        case .anything: return try ContentNode(value, path: path, typing: .kept)
        case .apnsPayload: return try APSSchema.payload.node(value, path: path, allowsNull: allowsNull)
        case .freeObject:
            return try ContentNode(.object(RuleObject(value, path: path).object), path: path, typing: .kept)
        case .object(let fields):
            if fields.isEmpty, let key = value.objectValue?.keys.first {
                throw RuleProblem(
                    path: "\(path).\(key)",
                    reason: "unknown key",
                    hint: "the object has no keys; write {}"
                )
            }
            try RuleObject(value, path: path).checkKeys(fields.map(\.key))
            return try object(value, path, fields, allowsNull: allowsNull)
        case .open(let fields): return try object(value, path, fields, allowsNull: true)
        case .similar(let fields):
            let reader = try RuleObject(value, path: path)
            let known = fields.map(\.key)
            for key in reader.object.keys where MessageChecks.areOn && !known.contains(key) {
                guard let near = NearestName.suggestion(for: key, among: known) else { continue }
                throw RuleProblem(path: reader.path(key), reason: "unknown key", hint: "did you mean '\(near)'?")
            }
            return try object(value, path, fields, allowsNull: true)
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
        guard case .form(let form) = self else { return node }
        if case .text(let template) = node {
            return .checked(CheckedTemplate(template: template, check: .form(form), path: path))
        }
        if MessageChecks.areOn, let text = node.literalValue?.stringValue, !form.matches(text) {
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

    /// Compiles a literal that the provider accepts, or a template whose result is checked.
    private func typed(_ value: JSONValue, _ path: String, _ check: ContentCheck) throws(RuleProblem) -> ContentNode {
        if check.takes(value) { return .literal(value) }
        if let text = value.stringValue {
            let template = try TextTemplate(text, path: path)
            if template.literal == nil {
                return .checked(CheckedTemplate(template: template, check: check, path: path))
            }
        }
        guard MessageChecks.areOn else { return .literal(value) }
        var reason = "is \(value.kindName)"
        if let number = value.numberValue, check.isNumeric { reason = "is \(number.literal.prefix(20))" }
        throw RuleProblem(path: path, reason: reason, hint: "write \(check.needed)")
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
    /// One of a set of words; words in capitals may also be written in lower case, and are sent as written.
    case word([String])
    /// Decimal seconds ending in `s`, up to a maximum.
    case duration(atMost: Int64)
    /// `#rrggbb`.
    case color
    /// An https URL.
    case link
    /// 1 to 50 characters of those allowed in topic names.
    case label
    /// One of a set of words, exactly as given.
    case exactWord([String])
    /// Whole seconds since 1970; a number as large as milliseconds is rejected.
    case time
    /// An absolute URL of http or https.
    case address
    /// Any text that is not empty.
    case filled
    /// Any text.
    case any

    func matches(_ text: String) -> Bool {
        switch self {
        case .word(let words): words.contains(text) || words.contains(text.uppercased())
        case .duration(let limit): Self.isDuration(text, atMost: limit)
        case .color: text.wholeMatch(of: /#[0-9a-fA-F]{6}/) != nil
        case .link: text.lowercased().hasPrefix("https://")
        case .label: TopicName.isValid(text) && text.utf8.count <= 50
        case .exactWord(let words): words.contains(text)
        case .time: Self.timeError(in: text) == nil
        case .address: WebAddress.isAbsolute(text)
        case .filled: !text.isEmpty
        case .any: true
        }
    }

    /// Returns why a text is not whole seconds since 1970; nil if it is.
    static func timeError(in text: String) -> String? {
        guard (1...18).contains(text.utf8.count), text.utf8.allSatisfy({ (48...57).contains($0) }) else {
            return "is not a time in whole seconds since 1970"
        }
        let isTooLarge = Double(text).map { $0 >= ContentCheck.milliseconds } ?? true
        return MessageChecks.areOn && isTooLarge ? "is in milliseconds" : nil
    }

    /// The requirement, as it follows `must be`.
    var needed: String {
        switch self {
        case .word(let words), .exactWord(let words): "one of \(words.joined(separator: ", "))"
        case .duration(let limit): "seconds such as 3600s, at most \(limit)s"
        case .color: "#rrggbb"
        case .link: "a URL that begins with https://"
        case .label: "1 to 50 of a-z A-Z 0-9 - _ . ~ %"
        case .time: "whole seconds since 1970, not milliseconds"
        case .address: "an absolute URL that begins with https:// or http://"
        case .filled: "a text that is not empty"
        case .any: "a text"
        }
    }

    var fault: String {
        switch self {
        case .word, .exactWord: "not one of its values"
        case .time: "not a time in whole seconds since 1970"
        case .duration: "not a duration"
        case .color: "not a color"
        case .link: "not an https URL"
        case .label: "not a label"
        case .address: "not an absolute URL"
        case .filled: "empty"
        case .any: "not a text"
        }
    }

    var hint: String {
        switch self {
        case .word(let words), .exactWord(let words): "known are \(words.joined(separator: ", "))"
        case .time: "write seconds such as \"1800000000\", not milliseconds"
        case .duration(let limit): "write seconds as \"3600s\" or \"3.5s\", at most \"\(limit)s\""
        case .color: "write #rrggbb"
        case .link: "begin it with https://"
        case .label: "use 1 to 50 of a-z A-Z 0-9 - _ . ~ %"
        case .address, .filled, .any: "write \(needed)"
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
