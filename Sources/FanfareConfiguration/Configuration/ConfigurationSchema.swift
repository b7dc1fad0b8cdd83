internal import FanfareCore

/// All keys; parsing, defaults, environment names, the reference and reloads are derived from it.
package struct ConfigurationSchema: Sendable {
    /// The blocks of the providers.
    package let blocks: [ConfigurationBlock]
    /// The keys, in the order of the reference.
    package let keys: [ConfigurationKey]

    /// - Parameter blocks: the blocks of the providers, in the order of the reference.
    package init(_ blocks: [ConfigurationBlock]) {
        self.blocks = blocks
        keys =
            Configuration.keysBeforeApps + blocks.flatMap(\.keys) + Configuration.keysOfApps
            + Configuration.keysBehindApps
    }

    /// Returns the key at a path.
    ///
    /// - Parameter path: the path, with the user's names.
    /// - Returns: the key; nil if the path is a section or unknown.
    func key(at path: [String]) -> ConfigurationKey? {
        keys.first { $0.path.count == path.count && Self.matches($0, path) }
    }

    /// Returns the names allowed below a path.
    ///
    /// - Parameter path: the path, with the user's names.
    /// - Returns: the names, ``ConfigurationKey/anyName`` for any; empty if the path is not a section.
    func children(of path: [String]) -> [String] {
        var names: [String] = []
        for key in keys where key.path.count > path.count && Self.matches(key, path) {
            let name = key.path[path.count]
            if !names.contains(name) { names.append(name) }
        }
        return names
    }

    /// Returns the reason for refusing an unknown path, with a suggestion.
    func refusal(unknown path: [String]) -> String {
        guard let name = path.last else { return "unknown key" }
        let known = children(of: path.dropLast())
        if let near = NearestName.suggestion(for: name, among: known) {
            return "unknown key; did you mean `\(near)`?"
        }
        if let elsewhere = keys.first(where: { $0.path.last == name || $0.path.contains(name) }) {
            let place = elsewhere.path.prefix { $0 != name } + [name]
            return "unknown key; did you mean `\(Self.display(place))`?"
        }
        return "unknown key; known here: \(known.map { "`\($0)`" }.joined(separator: ", "))"
    }

    /// Returns whether an app's name keeps paths and environment variables readable.
    static func isAppName(_ name: String) -> Bool {
        (1...64).contains(name.count) && !name.hasPrefix("_") && !name.hasPrefix("-")
            && name.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "._-".contains($0)) }
    }

    private static func display(_ path: some Sequence<String>) -> String {
        path.map { $0 == ConfigurationKey.anyName ? "<name>" : $0 }.joined(separator: ".")
    }

    private static func matches(_ key: ConfigurationKey, _ path: [String]) -> Bool {
        zip(key.path, path).allSatisfy { $0 == ConfigurationKey.anyName || $0 == $1 }
    }
}
