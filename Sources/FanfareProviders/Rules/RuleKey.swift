internal import FanfareCore

/// One key of a rule, as described in the reference.
package struct RuleKey: Sendable {
    /// Dotted path, with `<tag>` for a name that the author chooses.
    let path: String
    let type: String
    /// The allowed values; nil if the type suffices.
    let range: String?
    let isRequired: Bool
    /// The default; nil if there is none.
    let standard: String?
    let meaning: String

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
    var name: String { String(path.split(separator: ".").last ?? "") }

    /// The key in the format of the configuration's reference, as one line of a Markdown list.
    package var reference: String {
        var facts = [type, isRequired ? "required" : "optional"]
        if !isRequired { facts.append("default: \(standard ?? "none")") }
        if let range { facts.append(range) }
        return "* `\(path)` (\(facts.joined(separator: ", "))): \(meaning)"
    }
}

extension MessageField {
    /// Returns the field and all fields within it, each with its path.
    func fields(at path: String) -> [(path: String, field: MessageField)] {
        var found = [(path: path, field: self)]
        switch self {
        case .object(let members), .open(let members), .similar(let members):
            for member in members { found += member.field.fields(at: "\(path).\(member.key)") }
        case .text, .form, .texts, .forms, .flag, .number, .time, .textOr, .textMap, .anything, .freeObject,
            .apnsPayload:
            break
        }
        return found
    }

    /// The name of the type, for the reference.
    var typeName: String {
        switch self {
        case .text, .form, .textOr: "string"
        case .texts, .forms: "list of strings"
        case .flag: "boolean"
        case .number, .time: "number"
        case .textMap: "object of strings"
        case .anything, .freeObject, .apnsPayload, .object, .open, .similar: "object"
        }
    }

    /// The allowed strings, for the reference; nil if any string is allowed.
    var rangeText: String? {
        switch self {
        case .form(let form), .forms(let form): form.rangeText
        case .text, .texts, .flag, .number, .time, .textOr, .textMap, .anything, .freeObject, .apnsPayload,
            .object, .open, .similar:
            nil
        }
    }
}

extension MessageForm {
    /// The strings of this form, for the reference.
    var rangeText: String {
        switch self {
        case .word(let words), .exactWord(let words): words.joined(separator: " | ")
        case .time: "whole seconds since 1970"
        case .duration(let limit): "seconds such as 3600s or 3.5s, at most \(limit)s"
        case .color: "#rrggbb"
        case .link: "https://…"
        case .label: "1 to 50 of a-z A-Z 0-9 - _ . ~ %"
        }
    }
}
