/// Collects the values of file, environment and flags before they are interpreted.
package struct ConfigurationReader {
    /// One value as written, with its source.
    package struct Setting {
        var text: ConfigurationText
        package var origin: ConfigurationOrigin

        /// Returns the source of one element of a list, or of the whole value.
        func origin(ofElement index: Int?) -> ConfigurationOrigin {
            guard let index, case .yaml(let value) = text, case .list(let items) = value.content,
                case .file(let name, _) = origin
            else { return origin }
            return .file(name, items[index].position)
        }
    }

    private let schema: ConfigurationSchema
    /// The values by path, with the user's names; a later source replaces an earlier one.
    package private(set) var settings: [[String]: Setting] = [:]
    /// The first mention of each section.
    private(set) var sections: [[String]: ConfigurationOrigin] = [:]
    private(set) var problems: [ConfigurationProblem] = []

    init(_ schema: ConfigurationSchema) {
        self.schema = schema
    }

    /// Reads the values of a YAML text.
    ///
    /// - Parameters:
    ///   - yaml: the text.
    ///   - name: the file's name in messages.
    mutating func read(yaml: String, named name: String) {
        let reader = YAMLReader(yaml)
        for problem in reader.problems {
            report(.file(name, problem.position), problem.path, problem.reason)
        }
        if reader.documents.count > 1 {
            report(.file(name, reader.documents[1].position), "", "expected one YAML document, found another one")
        }
        guard let document = reader.documents.first else { return }
        read(section: document, at: [], origin: .file(name, document.position), file: name)
    }

    private mutating func read(section: YAMLValue, at path: [String], origin: ConfigurationOrigin, file: String) {
        if sections[path] == nil { sections[path] = origin }
        switch section.content {
        case .null: return
        case .map(let entries):
            for entry in entries { read(entry, in: path, file: file) }
        default:
            report(
                .file(file, section.position),
                path.joined(separator: "."),
                "expected a mapping of keys to values, found \(section.kind)"
            )
        }
    }

    private mutating func read(_ entry: YAMLEntry, in section: [String], file: String) {
        let path = section + [entry.key]
        let origin = ConfigurationOrigin.file(file, entry.keyPosition)
        if schema.key(at: path) != nil {
            settings[path] = Setting(text: .yaml(entry.value), origin: .file(file, entry.value.position))
        } else if schema.children(of: path).isEmpty {
            report(origin, path.joined(separator: "."), schema.refusal(unknown: path))
        } else if [["apps"], ["feedback"]].contains(section) && !ConfigurationSchema.isAppName(entry.key) {
            let whose = section == ["apps"] ? "an app's" : "a hook's"
            report(
                origin,
                section[0],
                "expected \(whose) name of 1 to 64 letters, digits, dots, dashes and underscores"
            )
        } else {
            read(section: entry.value, at: path, origin: origin, file: file)
        }
    }

    /// Reads `DATABASE_URL` and all `FANFARE_…` variables.
    ///
    /// An empty variable counts as unset. A variable with `__` that names no key is a problem. A variable without `__`
    /// is ignored, because container platforms set variables such as `FANFARE_SERVICE_HOST`.
    ///
    /// - Parameter environment: all variables of the process.
    mutating func read(environment: [String: String]) {
        if let url = environment["DATABASE_URL"], !url.isEmpty {
            set(["database", "url"], to: url, from: .environment("DATABASE_URL"))
        }
        let prefix = "FANFARE_"
        for (name, text) in environment.sorted(by: { $0.key < $1.key }) where name.hasPrefix(prefix) && !text.isEmpty {
            let words = name.dropFirst(prefix.count).split(separator: "__", omittingEmptySubsequences: false)
            let path = path(forWords: words.map(String.init))
            if schema.key(at: path) != nil {
                set(path, to: text, from: .environment(name))
            } else if words.count > 1 {
                let reason = schema.refusal(unknown: path)
                report(.environment(name), path.joined(separator: "."), reason)
            }
        }
    }

    /// Reads the flags of the command line.
    ///
    /// - Parameter flags: values by dotted path; `log.level` is shown as `--log-level`.
    mutating func read(flags: [String: String]) {
        for (key, text) in flags.sorted(by: { $0.key < $1.key }) {
            let path = key.split(separator: ".").map(String.init)
            let dashed = String(key.map { $0 == "." || $0 == "_" ? "-" : $0 })
            let flag = ConfigurationOrigin.flag("--\(dashed)")
            if schema.key(at: path) != nil {
                set(path, to: text, from: flag)
            } else {
                report(flag, key, schema.refusal(unknown: path))
            }
        }
    }

    private mutating func set(_ path: [String], to text: String, from origin: ConfigurationOrigin) {
        settings[path] = Setting(text: .plain(text), origin: origin)
        for length in 1..<max(path.count, 1) {
            let section = Array(path.prefix(length))
            if sections[section] == nil { sections[section] = origin }
        }
    }

    /// Returns the path for an environment variable; an app's name is spelled as in the file, if it is there.
    private func path(forWords words: [String]) -> [String] {
        var path: [String] = []
        for word in words {
            let known = schema.children(of: path)
            let names = known == [ConfigurationKey.anyName] ? userNames(below: path) : known
            path.append(names.first { Self.environmentWord($0) == word } ?? word.lowercased())
        }
        return path
    }

    private func userNames(below path: [String]) -> [String] {
        sections.keys.filter { $0.count == path.count + 1 && $0.starts(with: path) }.compactMap(\.last).sorted()
    }

    private static func environmentWord(_ name: String) -> String {
        String(name.uppercased().map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
    }

    /// Records a problem.
    ///
    /// - Parameters:
    ///   - origin: the source of the value.
    ///   - key: the dotted path.
    ///   - reason: the problem and how to fix it.
    package mutating func report(_ origin: ConfigurationOrigin, _ key: String, _ reason: String) {
        problems.append(ConfigurationProblem(origin: origin, key: key, reason: reason))
    }
}
