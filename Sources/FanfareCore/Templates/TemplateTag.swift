/// A name in a tag, split at its dots.
struct TemplatePath: Hashable, Sendable {
    /// The name as written, without transforms: `new.status`, `.`, `.title`.
    let text: String
    /// The parts; empty for `.`, the current element.
    let components: [String]
    /// Whether it starts with a dot, and is looked up in the current element only.
    let isRelative: Bool

    init(_ text: String) {
        self.text = text
        isRelative = text.hasPrefix(".")
        components = text.split(separator: ".").map(String.init)
    }

    /// Whether the name belongs to a device, so that the result cannot be shared by devices.
    var namesDevice: Bool {
        !isRelative && (components.first == "device" || components.first == "user")
    }

    /// Whether the name may be a column of a campaign's `audience_sql`.
    ///
    /// Rules of campaigns are then rendered for each device. In other rules, `recipient` is an ordinary name of the
    /// payload.
    var namesVariable: Bool {
        !isRelative
            && (components.first == "recipient" || components.first == "user" && components.dropFirst() != ["id"])
    }
}

/// The name of a variable with its transforms.
package struct TemplateExpression: Hashable, Sendable {
    let path: TemplatePath
    /// The transforms, in the order of application.
    let transforms: [TemplateTransform]
}

/// One tag of a template.
struct TemplateTag: Sendable {
    enum Kind: Equatable, Sendable {
        case variable, section, invertedSection, sectionEnd, comment
    }

    enum Content: Equatable, Sendable {
        case expression(TemplateExpression)
        /// `{{index()}}`: the position in the list of the enclosing section.
        case sequence(SequenceTransform)
        case comment
    }

    let kind: Kind
    let content: Content
    /// The tag's range in bytes of the template.
    let range: Range<Int>

    /// The name of a variable or section; nil for comments and positions.
    var expression: TemplateExpression? {
        if case .expression(let expression) = content { expression } else { nil }
    }
}
