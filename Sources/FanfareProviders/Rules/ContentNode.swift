internal import FanfareCore

/// JSON whose strings are templates.
indirect enum ContentNode: Sendable {
    /// A scalar, or a string without tags.
    case literal(JSONValue)
    /// A string that is rendered as text, for values of any type.
    case text(TextTemplate)
    /// A string that is exactly one tag and takes the type of the tag's value.
    case value(TextTemplate)
    /// A string whose value must have a certain type or form.
    case checked(CheckedTemplate)
    /// A string that Fanfare computes.
    case derived(DerivedValue)
    /// The user's badge count: a number, or text if the provider requires strings.
    case badge(isText: Bool)
    case array([ContentNode])
    case object([(key: String, value: ContentNode)])

    /// The type to which a string that is exactly one tag is rendered.
    enum Typing {
        /// The type of the tag's value: a badge stays a number.
        case kept
        /// Text: titles and data are strings by their schema.
        case text
    }

    /// Compiles JSON.
    ///
    /// - Parameters:
    ///   - value: the JSON.
    ///   - path: its path in the rule.
    ///   - typing: the type to which strings that are exactly one tag are rendered.
    /// - Throws: `RuleProblem` if a template is invalid, or a key looks like a template.
    init(_ value: JSONValue, path: String, typing: Typing) throws(RuleProblem) {
        switch value {
        case .null, .bool, .number: self = .literal(value)
        case .string(let text):
            let template = try TextTemplate(text, path: path)
            switch (template.literal, typing) {
            case (.some, _): self = .literal(value)
            case (.none, .kept) where template.soleVariable != nil: self = .value(template)
            case (.none, _): self = .text(template)
            }
        case .array(let elements):
            var nodes: [ContentNode] = []
            for (index, element) in elements.enumerated() {
                nodes.append(try ContentNode(element, path: "\(path)[\(index)]", typing: typing))
            }
            self = .array(nodes)
        case .object(let object):
            var members: [(key: String, value: ContentNode)] = []
            for member in object.members {
                let memberPath = "\(path).\(member.key)"
                guard !member.key.contains("{{") else {
                    throw RuleProblem(path: memberPath, reason: "is a key with a template", hint: "use values only")
                }
                members.append((member.key, try ContentNode(member.value, path: memberPath, typing: typing)))
            }
            self = .object(members)
        }
    }

    /// The value of an object's member.
    subscript(key: String) -> ContentNode? { mergeMembers?.first { $0.key.isExactly(key) }?.value }

    /// The JSON value, if the node is a scalar without templates.
    var literalValue: JSONValue? {
        if case .literal(let value) = self { value } else { nil }
    }

    /// Whether the node has nothing but the handle for reports.
    var isOnlyReport: Bool {
        switch self {
        case .derived(.report): true
        case .object(let members): members.count == 1 && members[0].value.isOnlyReport
        default: false
        }
    }

    /// Returns the node with the handle for reports at the end of a path.
    ///
    /// - Parameters:
    ///   - path: the keys of the object that gets the member; a value that is no object is left as it is.
    ///   - rule: the rule; the pushes that take something back have no handle.
    /// - Returns: the node with the member ``reportKey``.
    func reporting(at path: [String] = [], of rule: RuleDefinition) -> ContentNode {
        let place = path.isEmpty ? self : self[path]
        guard !rule.isRetraction, place == nil || place?.mergeMembers != nil else { return self }
        return setting((path + [Self.reportKey])[...], to: .derived(.report))
    }

    /// The key of the handle in payloads.
    static var reportKey: String { "fanfare_report" }

    /// Whether a template in the node refers to a device or user field.
    var usesDevice: Bool {
        switch self {
        case .literal, .derived, .badge: false
        case .text(let template), .value(let template): template.usesDevice
        case .checked(let checked): checked.template.usesDevice
        case .array(let nodes): nodes.contains(where: \.usesDevice)
        case .object(let members): members.contains { $0.value.usesDevice }
        }
    }
}

extension ContentNode {
    /// The node at a path of keys.
    subscript(path: [String]) -> ContentNode? {
        path.reduce(self as ContentNode?) { $0?[$1] }
    }

    /// Returns the node with another value at the end of a path; missing objects on the path are created.
    ///
    /// - Parameters:
    ///   - path: the keys, relative to this node; at least one.
    ///   - value: the new value; nil removes the member, and objects that become empty.
    /// - Returns: the changed node.
    func setting(_ path: ArraySlice<String>, to value: ContentNode?) -> ContentNode {
        guard let key = path.first else { return value ?? self }
        var members = mergeMembers ?? []
        let index = members.firstIndex { $0.key.isExactly(key) }
        var child = value
        if path.count > 1 {
            guard index != nil || value != nil else { return self }
            let old = index.map { members[$0].value } ?? .object([])
            let new = old.setting(path.dropFirst(), to: value)
            child = value == nil && new.mergeMembers?.isEmpty ?? false ? nil : new
        }
        switch (index, child) {
        case (.some(let index), .some(let child)): members[index].value = child
        case (.some(let index), .none): members.remove(at: index)
        case (.none, .some(let child)): members.append((key, child))
        case (.none, .none): return self
        }
        return .object(members)
    }
}

extension ContentNode: MergePatchable {
    var mergeMembers: [(key: String, value: ContentNode)]? {
        if case .object(let members) = self { members } else { nil }
    }

    var removesMember: Bool { literalValue?.isNull ?? false }

    static func merged(_ members: [(key: String, value: ContentNode)]) -> ContentNode { .object(members) }
}
