extension ConfigurationValueKind<[String]> {
    /// Origins of pages, spelled as browsers send them.
    package static var origins: Self {
        .init(
            name: "list of strings",
            range: "SCHEME://HOST[:PORT]",
            parse: { (raw, _) throws(ConfigurationValueError) in
                let origins = try raw.list(expected: "expected a list of strings")
                for (index, origin) in origins.enumerated() {
                    if let reason = refusal(of: origin) { throw ConfigurationValueError(reason, element: index) }
                    guard !origins[..<index].contains(origin) else {
                        throw ConfigurationValueError("“\(origin)” is listed twice", element: index)
                    }
                }
                return origins
            },
            text: { "[\($0.joined(separator: ", "))]" }
        )
    }

    /// Returns why a text is not an origin; nil if it is one.
    ///
    /// A text that no browser sends is refused, because it would never match.
    private static func refusal(of text: String) -> String? {
        let expected = "expected an origin such as https://shop.example or http://localhost:3000"
        let found = "found “\(text.prefix(80))”"
        switch text {
        case "*": return "\(expected), found “*”: name each origin, since any page could call otherwise"
        case "null": return "\(expected), found “null”: any page can send this, from a sandboxed frame"
        default: break
        }
        let form = /([a-z][a-z0-9+.\-]*):\/\/([a-z0-9._\-]+|\[[0-9a-f:.]+\])(?::([1-9][0-9]{0,4}))?/
        guard let parts = text.wholeMatch(of: form) else {
            if text != text.lowercased() { return "\(expected), \(found): browsers send scheme and host in lower case" }
            if text.contains(/:\/\/[^\/]+\//) {
                return "\(expected), \(found): remove the path, and the last slash too"
            }
            return "\(expected), \(found)"
        }
        guard let port = parts.3.map({ Int($0) ?? 0 }) else { return nil }
        guard port <= 65_535 else { return "\(expected), \(found): a port has at most 65535" }
        let isUsual = ["https": 443, "http": 80][String(parts.1)] == port
        return isUsual ? "\(expected), \(found): remove :\(port), which browsers do not send" : nil
    }
}
