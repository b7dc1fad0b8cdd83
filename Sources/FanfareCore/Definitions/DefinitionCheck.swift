extension DefinitionObject {
    /// Checks an object and all objects within it against ``keys``: unknown keys first, then each key in order.
    ///
    /// - Parameters:
    ///   - object: the object.
    ///   - parent: its path with a dot at the end; empty for a whole definition.
    /// - Throws: `RuleProblem` with the first error.
    package func check(_ object: JSONObject, below parent: String = "") throws(RuleProblem) {
        let known = keys
        for name in object.keys where !known.contains(where: { $0.name == name }) {
            throw RuleProblem(
                path: parent + name,
                reason: "unknown key",
                hint: NearestName.hint(for: name, among: known.map(\.name))
            )
        }
        for key in known {
            if let value = object[key.name] {
                try key.check(value, at: parent + key.name)
            } else if key.isRequired {
                throw RuleProblem(path: parent + key.name, reason: "is missing", hint: key.hint)
            }
        }
    }
}

extension DefinitionKey {
    fileprivate func check(_ value: JSONValue, at path: String) throws(RuleProblem) {
        switch form {
        case .keysOr(let kind, _) where value.objectValue != nil:
            try kind.check(object(value, at: path), below: "\(path).")
        case .keysOr(_, .speed), .speed: _ = try Speed.read(value, path: path)
        case .keysOr(_, let other): if !other.allows(value) { throw problem(path) }
        case .keys(let kind): try kind.check(object(value, at: path), below: "\(path).")
        case .list(let kind, let limit):
            guard let elements = value.arrayValue else { throw problem(path) }
            try checkCount(elements.count, from: 1, to: limit, at: path)
            for (index, element) in elements.enumerated() {
                try kind.check(object(element, at: "\(path)[\(index)]"), below: "\(path)[\(index)].")
            }
        case .named(let kind, let limit):
            let members = try object(value, at: path).members
            try checkCount(members.count, from: 0, to: limit, at: path)
            for member in members {
                guard RuleNames.isLabel(member.key) else {
                    let reason = DefinitionForm.label.reason
                    throw RuleProblem(path: "\(path).\(member.key)", reason: reason, hint: RuleNames.labelHint)
                }
                try kind.check(object(member.value, at: "\(path).\(member.key)"), below: "\(path).\(member.key).")
            }
        case .providers(let kind):
            for member in try object(value, at: path).members {
                try kind.check(object(member.value, at: "\(path).\(member.key)"), below: "\(path).\(member.key).")
            }
        default: try check(value, as: form, at: path)
        }
    }

    private func check(_ value: JSONValue, as form: DefinitionForm, at path: String) throws(RuleProblem) {
        guard !form.allows(value) else { return }
        guard let text = value.stringValue else {
            throw form.isNamedByItsReason ? problem(path) : problem(path, reason: DefinitionForm.noString)
        }
        guard case .word(let words) = form, !hasOwnHint else { throw problem(path) }
        let hint = NearestName.hint(for: text, among: words)
        throw RuleProblem(path: path, reason: "'\(text.prefix(80))' \(reason)", hint: hint)
    }

    private func object(_ value: JSONValue, at path: String) throws(RuleProblem) -> JSONObject {
        guard let object = value.objectValue else { throw problem(path, reason: "is not an object") }
        return object
    }

    private func checkCount(_ count: Int, from least: Int, to most: Int64, at path: String) throws(RuleProblem) {
        guard count >= least else { throw problem(path, reason: "is empty") }
        guard count <= most else {
            throw RuleProblem(path: path, reason: "has \(count)", hint: "give at most \(most)")
        }
    }

    private func problem(_ path: String, reason: String? = nil) -> RuleProblem {
        RuleProblem(path: path, reason: reason ?? self.reason, hint: hint)
    }
}

extension DefinitionForm {
    /// Whether the reason names the form, and so fits a value of any JSON type.
    fileprivate var isNamedByItsReason: Bool {
        switch self {
        case .boolean, .yes, .whole, .duration, .share, .timeOfDay, .wallTime, .names, .object, .ids, .words: true
        default: false
        }
    }

    /// Whether a value has this form, as far as is possible without PostgreSQL.
    fileprivate func allows(_ value: JSONValue) -> Bool {
        switch self {
        case .boolean: value.boolValue != nil
        case .yes: value.boolValue == true
        case .whole(let range): value.numberValue?.integer.map(range.contains) ?? false
        case .names: value.arrayValue?.allSatisfy { $0.stringValue != nil } ?? false
        case .ids: value.arrayValue.map { !$0.isEmpty && $0.allSatisfy(Self.isID) } ?? Self.isID(value)
        case .words(let words):
            (value.arrayValue ?? [value]).allSatisfy { $0.stringValue.map(words.contains) ?? false } && value != []
        case .object: value.objectValue != nil
        default: value.stringValue.map(allows) ?? false
        }
    }

    private static func isID(_ value: JSONValue) -> Bool {
        value.numberValue != nil || value.stringValue.map { !NothingText.matches($0) } ?? false
    }

    private func allows(_ text: String) -> Bool {
        switch self {
        case .filledTemplate, .text: !text.isEmpty
        case .appName: RuleNames.isApp(text)
        case .ruleName: RuleNames.isRule(text)
        case .eventType: RuleNames.isEventType(text)
        case .label: RuleNames.isLabel(text)
        case .word(let words): words.contains(text)
        case .duration(let range): TimeSpan(text).map { range.contains($0.seconds) } ?? false
        case .share(let range): Percentage(text).map { range.contains($0.perMillion) } ?? false
        case .timeOfDay: text.wholeMatch(of: /([01][0-9]|2[0-3]):[0-5][0-9]/) != nil
        case .wallTime: text.wholeMatch(of: /[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2})?/) != nil
        default: true
        }
    }
}
