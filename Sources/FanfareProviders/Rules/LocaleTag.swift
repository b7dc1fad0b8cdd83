internal import FanfareCore

/// A parsed language tag, with the script of its region or language if the language is written in several.
///
/// The tables are a subset of CLDR's supplemental data (`likelySubtags`, `languageAlias` and `parentLocales`): what
/// phones send for languages with several scripts or names.
struct LocaleTag: Equatable {
    var language: String
    /// Nil for a language with one script, unless the tag names it.
    var script: String?
    var region: String?
    /// Variants and extensions.
    var rest: String

    /// Parses a tag.
    ///
    /// - Parameter text: a tag as a provider writes it, in lower case with `-`: `zh-tw`, `zh-hant-tw`, and Java's
    ///   `zh-tw-#hant`.
    init(_ text: Substring) {
        let plain = text.prefix { $0 != "." && $0 != "@" }
        var subtags = plain.split(separator: "-").map { $0.hasPrefix("#") ? $0.dropFirst() : $0 }
        language = subtags.isEmpty ? "" : String(subtags.removeFirst())
        // zh-yue and zh-cmn are former extended language subtags of Chinese.
        if language == "zh", let first = subtags.first, ["yue", "cmn"].contains(first) {
            language = String(subtags.removeFirst())
        }
        let end = subtags.firstIndex { $0.utf8.count == 1 } ?? subtags.endIndex
        var own = subtags[..<end]
        script = own.firstIndex { $0.utf8.count == 4 && $0.allSatisfy(\.isLetter) }.map { String(own.remove(at: $0)) }
        let isRegion = { (subtag: Substring) in
            subtag.utf8.count == 2 || subtag.utf8.count == 3 && subtag.allSatisfy(\.isNumber)
        }
        region = own.firstIndex(where: isRegion).map { String(own.remove(at: $0)) }
        rest = (Array(own) + Array(subtags[end...])).joined(separator: "-")
        if let name = Self.names[language] {
            if name == "sr" { script = script ?? "latn" }
            language = name
        }
        if script == nil, let scripts = Self.scripts[language] {
            script = region.flatMap { scripts.regions[$0] } ?? scripts.usual
        } else if script != nil, Self.scripts[language] == nil {
            // The only script of a language adds no information.
            script = Self.plainScripts.contains(script ?? "") ? nil : script
        }
    }

    /// Returns whether a tag must be parsed; for all others, the RFC 4647 lookup is enough.
    static func isNeeded(for text: Substring) -> Bool {
        let language = text.prefix { $0 != "-" }
        return renamed.contains(String(language)) || scripts[String(language)] != nil
            || regions[String(language)] != nil
            || text.utf8.contains { $0 == UInt8(ascii: "#") || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "@") }
            || text.dropFirst(language.count + 1).prefix { $0 != "-" }.utf8.count == 4
    }

    /// The tags that match, the best first.
    var fallbacks: [LocaleTag] {
        var found = [self]
        func append(_ change: (inout LocaleTag) -> Void) {
            var tag = self
            tag.rest = ""
            change(&tag)
            if !found.contains(tag) { found.append(tag) }
        }
        append { _ in }
        if let region, let parent = Self.regions[language]?[region] { append { $0.region = parent } }
        append { $0.region = nil }
        switch language {
        case "yue", "cmn": append { ($0.language, $0.region) = ("zh", nil) }
        case "nn": append { ($0.language, $0.region) = ("nb", nil) }
        default: break
        }
        return found
    }

    /// Former and alternative codes of languages.
    private static let names = [
        "iw": "he", "in": "id", "ji": "yi", "no": "nb", "tl": "fil", "mo": "ro", "sh": "sr", "cmn": "zh", "jw": "jv",
    ]

    /// The languages with several codes, under each code, and nn, which falls back to nb.
    private static let renamed = Set(names.keys).union(names.values).union(["nn"])

    /// The languages with several scripts: the usual script, and the scripts of regions.
    private static let scripts: [String: (usual: String, regions: [String: String])] = [
        "zh": ("hans", ["tw": "hant", "hk": "hant", "mo": "hant"]), "yue": ("hant", ["cn": "hans"]),
        "sr": ("cyrl", ["me": "latn", "ro": "latn", "tr": "latn"]), "az": ("latn", ["ir": "arab", "ru": "cyrl"]),
        "uz": ("latn", ["af": "arab", "cn": "cyrl"]), "pa": ("guru", ["pk": "arab"]), "ms": ("latn", ["cc": "arab"]),
        "kk": ("cyrl", ["cn": "arab", "ir": "arab", "af": "arab"]), "ky": ("cyrl", ["cn": "arab", "tr": "latn"]),
        "mn": ("cyrl", ["cn": "mong"]), "ku": ("latn", ["iq": "arab", "ir": "arab", "lb": "arab"]),
        "ug": ("arab", ["kz": "cyrl", "mn": "cyrl"]), "tg": ("cyrl", ["pk": "arab"]), "sd": ("arab", ["in": "deva"]),
        "ha": ("latn", ["cm": "arab", "sd": "arab"]), "bs": ("latn", [:]), "tt": ("cyrl", [:]), "hi": ("deva", [:]),
        "ks": ("arab", [:]),
    ]

    /// The scripts that providers name although the language has only one.
    private static let plainScripts: Set<String> = ["latn", "cyrl", "arab", "jpan", "kore", "hebr", "grek", "thai"]

    /// The regions whose variety of the language is closer to another region's than to the language's default.
    private static let regions: [String: [String: String]] = [
        "es": Dictionary(
            uniqueKeysWithValues: [
                "ar", "bo", "br", "bz", "cl", "co", "cr", "cu", "do", "ec", "gt", "hn", "mx", "ni", "pa", "pe", "pr",
                "py", "sv", "us", "uy", "ve",
            ].map { ($0, "419") }
        ),
        "pt": Dictionary(
            uniqueKeysWithValues: ["ao", "ch", "cv", "fr", "gq", "gw", "lu", "mo", "mz", "st", "tl"].map { ($0, "pt") }
        ),
        "en": Dictionary(
            uniqueKeysWithValues: ["au", "gb", "hk", "ie", "in", "mt", "nz", "sg", "za"].map { ($0, "001") }
        ),
        "zh": ["mo": "hk"],
    ]
}
