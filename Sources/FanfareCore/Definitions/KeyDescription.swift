/// One key of a definition, as the articles describe it.
package struct KeyDescription: Sendable {
    /// Dotted path, with `<tag>` for a name that the author chooses.
    package let path: String
    let type: String
    /// The allowed values; nil if the type suffices.
    let range: String?
    package let isRequired: Bool
    /// The default; nil if there is none.
    let standard: String?
    package let meaning: String

    package init(
        _ path: String,
        _ type: String,
        range: String? = nil,
        isRequired: Bool = false,
        standard: String? = nil,
        _ meaning: String
    ) {
        (self.path, self.type, self.range) = (path, type, range)
        (self.isRequired, self.standard, self.meaning) = (isRequired, standard, meaning)
    }

    /// The last part of the path.
    package var name: String { String(path.split(separator: ".").last ?? "") }

    /// The key in the format of the configuration's reference, as one line of a Markdown list.
    package var reference: String {
        var facts = [type, isRequired ? "required" : "optional"]
        if !isRequired { facts.append("default: \(standard ?? "none")") }
        if let range { facts.append(range) }
        return "* `\(path)` (\(facts.joined(separator: ", "))): \(meaning)"
    }
}
