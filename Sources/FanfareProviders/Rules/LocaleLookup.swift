internal import FanfareCore

/// Finds the best language tag for a locale by RFC 4647 section 3.4 lookup, and by ``LocaleTag`` where a language has
/// several names or scripts.
struct LocaleLookup: Sendable {
    /// The tags as written.
    let tags: [String]
    private let normalized: [String]
    private let parts: [LocaleTag]

    /// Creates a lookup in a rule's tags.
    ///
    /// - Parameters:
    ///   - tags: language tags (RFC 5646).
    ///   - path: their path in the rule.
    /// - Throws: `RuleProblem` if a tag is invalid, or two are equal.
    init(tags: [String], path: String) throws(RuleProblem) {
        var normalized: [String] = []
        for tag in tags {
            let form = Self.normalize(tag)
            let tagPath = "\(path).\(tag)"
            guard Self.isTag(form) else {
                throw RuleProblem(path: tagPath, reason: "is not a language tag", hint: "write es, es-MX, zh-Hant")
            }
            guard !normalized.contains(form) else {
                throw RuleProblem(path: tagPath, reason: "is there twice", hint: "case does not matter in tags")
            }
            normalized.append(form)
        }
        self.tags = tags
        self.normalized = normalized
        parts = normalized.map { LocaleTag($0[...]) }
    }

    /// Finds the tag for a device.
    ///
    /// - Parameter locale: the device's locale, such as `es-MX` or `es_MX`; nil if it has none.
    /// - Returns: the index of the tag; nil if none matches.
    func index(for locale: String?) -> Int? {
        guard let locale, !tags.isEmpty else { return nil }
        if let exact = tags.firstIndex(of: locale) { return exact }
        let form = Self.normalize(locale)
        if let exact = normalized.firstIndex(of: form) { return exact }
        var range = form[...]
        if LocaleTag.isNeeded(for: range) {
            let wanted = LocaleTag(range)
            for tag in wanted.fallbacks { if let index = parts.firstIndex(of: tag) { return index } }
            // The language in another script is preferred to another language.
            return parts.indices.first { parts[$0].language == wanted.language && !normalized[$0].contains("-") }
        }
        while !range.isEmpty {
            if let index = normalized.firstIndex(where: { $0 == range }) { return index }
            guard let cut = range.lastIndex(of: "-") else { return nil }
            range = range[..<cut]
            // A single-letter subtag only introduces the subtag that was just removed.
            if range.dropLast().last == "-" { range = range.dropLast(2) }
        }
        return nil
    }

    private static func normalize(_ tag: String) -> String {
        String(decoding: tag.utf8.map { $0 == UInt8(ascii: "_") ? UInt8(ascii: "-") : $0 }, as: UTF8.self).lowercased()
    }

    private static func isTag(_ tag: String) -> Bool {
        let subtags = tag.split(separator: "-", omittingEmptySubsequences: false)
        let isAlphanumeric = subtags.allSatisfy { subtag in
            (1...8).contains(subtag.utf8.count)
                && subtag.utf8.allSatisfy { (48...57).contains($0) || (97...122).contains($0) }
        }
        guard isAlphanumeric, let language = subtags.first else { return false }
        return language.utf8.count >= 2 && language.utf8.allSatisfy { (97...122).contains($0) }
    }
}
