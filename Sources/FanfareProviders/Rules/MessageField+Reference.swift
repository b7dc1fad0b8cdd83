internal import FanfareCore

extension MessageField {
    /// Returns the field and all fields within it, each with its path.
    func fields(at path: String) -> [(path: String, field: MessageField)] {
        var found = [(path: path, field: self)]
        switch self {
        case .object(let members), .open(let members), .similar(let members):
            for member in members { found += member.field.fields(at: "\(path).\(member.key)") }
        case .text, .form, .texts, .forms, .flag, .fixedFlag, .number, .time, .textOr, .textMap, .anything, .freeObject,
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
        case .flag, .fixedFlag: "boolean"
        case .number, .time: "number"
        case .textMap: "object of strings"
        case .anything, .freeObject, .apnsPayload, .object, .open, .similar: "object"
        }
    }

    /// The allowed strings, for the reference; nil if any string is allowed.
    var rangeText: String? {
        switch self {
        case .form(let form), .forms(let form): form.rangeText
        case .text, .texts, .flag, .fixedFlag, .number, .time, .textOr, .textMap, .anything, .freeObject, .apnsPayload,
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
        case .address: "https://… | http://…"
        case .filled: "not empty"
        case .any: "any text"
        }
    }
}
