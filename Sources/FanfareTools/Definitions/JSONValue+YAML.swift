package import FanfareCore

extension JSONValue {
    /// The value as YAML in the style of rule and campaign files, for reading and for copying into a file.
    package var yaml: String { Self.lines(self, "").joined(separator: "\n") }

    /// Returns the lines; the first has no margin if it follows a key or a dash.
    private static func lines(_ value: JSONValue, _ margin: String) -> [String] {
        switch value {
        case .object(let object) where !object.isEmpty:
            return object.members.flatMap { member in
                entry("\(margin)\(plain(member.key) ?? JSONValue.string(member.key).text):", member.value, margin)
            }
        case .array(let elements) where !elements.isEmpty:
            return elements.flatMap { element -> [String] in
                guard isNested(element) else { return entry("\(margin)-", element, margin) }
                let inner = lines(element, margin + "  ")
                return ["\(margin)- \(inner[0].dropFirst(margin.count + 2))"] + inner.dropFirst()
            }
        default: return [margin + scalar(value)]
        }
    }

    /// Returns an entry: a value after a key or a dash, or below it.
    private static func entry(_ head: String, _ value: JSONValue, _ margin: String) -> [String] {
        if isNested(value) { return [head] + lines(value, margin + "  ") }
        guard let text = value.stringValue, let block = block(text) else { return ["\(head) \(scalar(value))"] }
        return ["\(head) \(text.hasSuffix("\n") ? "|" : "|-")"] + block.map { $0.isEmpty ? "" : "\(margin)  \($0)" }
    }

    private static func isNested(_ value: JSONValue) -> Bool {
        switch value {
        case .object(let object): !object.isEmpty
        case .array(let elements): !elements.isEmpty
        default: false
        }
    }

    private static func scalar(_ value: JSONValue) -> String { value.stringValue.flatMap(plain) ?? value.text }

    /// Returns text that needs no quotes; nil if it does.
    private static func plain(_ text: String) -> String? {
        // A span of time.
        if text.wholeMatch(of: /[0-9]+[smhd]/) != nil { return text }
        guard text.wholeMatch(of: /[A-Za-z_\/$][A-Za-z0-9 _\/.$()=<>+'-]*/) != nil, text.last != " " else { return nil }
        let others = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"]
        return others.contains(text.lowercased()) ? nil : text
    }

    /// Returns the lines of a block scalar; nil if a block would change the text.
    private static func block(_ text: String) -> [String]? {
        let body = text.hasSuffix("\n") ? String(text.dropLast()) : text
        let lines = body.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        guard lines.count > 1, let first = lines.first, first.first.map({ $0 != " " }) == true, lines.last != "",
            !text.unicodeScalars.contains(where: { $0.value < 32 && $0 != "\n" || $0.value == 127 })
        else { return nil }
        return lines
    }
}
