/// A name in a tag, taken apart at its dots.
struct TemplatePath: Hashable, Sendable {
    /// The name as it was written, without transforms: `new.status`, `.`, `.title`.
    let text: String
    /// The parts; none for `.`, the current element.
    let components: [String]
    /// Whether it starts with a dot: looked up in the current element only.
    let isRelative: Bool

    init(_ text: String) {
        self.text = text
        isRelative = text.hasPrefix(".")
        components = text.split(separator: ".").map(String.init)
    }

    /// Whether the name belongs to one device, so that no two devices can share what is rendered.
    var namesDevice: Bool {
        !isRelative && (components.first == "device" || components.first == "user")
    }

    /// Whether the name may belong to what a campaign says of one user.
    ///
    /// Rules of campaigns are then rendered for each device. In others `recipient` is a name of the payload as any other.
    var namesVariable: Bool {
        !isRelative
            && (components.first == "recipient" || components.first == "user" && components.dropFirst() != ["id"])
    }
}

/// A variable's name with what is to be done to its value.
package struct TemplateExpression: Hashable, Sendable {
    let path: TemplatePath
    /// In the order they are applied.
    let transforms: [TemplateTransform]
}

/// One tag of a template.
struct TemplateTag: Sendable {
    enum Kind: Equatable, Sendable {
        case variable, section, invertedSection, sectionEnd, comment
    }

    enum Content: Equatable, Sendable {
        case expression(TemplateExpression)
        /// `{{index()}}`: the position in the list of the section around it.
        case sequence(SequenceTransform)
        case comment
    }

    let kind: Kind
    let content: Content
    /// Where it stands, in bytes of the template.
    let range: Range<Int>

    /// The name of a variable or section; nil for comments and positions.
    var expression: TemplateExpression? {
        if case .expression(let expression) = content { expression } else { nil }
    }
}
