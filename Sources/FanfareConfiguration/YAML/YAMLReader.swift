internal import Yams

/// Reads YAML into values with positions, and continues after a problem if possible.
struct YAMLReader {
    /// The limit of values in a file after its aliases are expanded, which stops "billion laughs".
    static let maximumValues = 100_000
    /// The limit of nesting.
    static let maximumDepth = 64

    private(set) var documents: [YAMLValue] = []
    private(set) var problems: [YAMLProblem] = []
    private var repeated: RepeatedKeys
    private var count = 0

    /// Reads all documents of a text.
    ///
    /// - Parameter text: the YAML.
    init(_ text: String) {
        // Editors on Windows write a byte order mark, which would shift the first line.
        let text = text.unicodeScalars.first == "\u{FEFF}" ? String(text.unicodeScalars.dropFirst()) : text
        repeated = RepeatedKeys(in: text)
        do throws(YAMLProblem) {
            for node in try parse(text) {
                documents.append(try value(of: node, path: "", depth: 0))
            }
        } catch {
            problems.append(error)
        }
    }

    private mutating func parse(_ text: String) throws(YAMLProblem) -> [Node] {
        var text = text
        while true {
            do {
                let parser = try Parser(yaml: text, resolver: .basic, constructor: .default, encoding: .utf8)
                var roots: [Node] = []
                while let root = try parser.nextRoot() { roots.append(root) }
                return roots
            } catch let YamlError.duplicatedKeysInMapping(duplicates: keys, context: context) {
                let position = SourcePosition(context.mark)
                guard let key = keys.first, repeated.hide(key, at: position) else {
                    let reason = "the key `\(keys.first ?? "")` appears more than once in this mapping"
                    throw YAMLProblem(position: position, reason: reason)
                }
                text = repeated.text
            } catch let error as YamlError {
                throw YAMLProblem(error, in: text)
            } catch {
                throw YAMLProblem(reason: "is not valid YAML")
            }
        }
    }

    private mutating func value(of node: Node, path: String, depth: Int) throws(YAMLProblem) -> YAMLValue {
        let position = SourcePosition(node.mark)
        count += 1
        guard count <= Self.maximumValues else {
            throw YAMLProblem(
                position: position,
                path: path,
                reason: "the file has more than \(Self.maximumValues) values"
            )
        }
        guard depth < Self.maximumDepth else {
            throw YAMLProblem(
                position: position,
                path: path,
                reason: "is nested more than \(Self.maximumDepth) levels deep"
            )
        }
        switch node {
        case .scalar(let scalar):
            return self.scalar(scalar, path: path, at: position)
        case .sequence(let sequence):
            var items: [YAMLValue] = []
            for (index, item) in sequence.enumerated() {
                items.append(try value(of: item, path: "\(path)[\(index)]", depth: depth + 1))
            }
            return YAMLValue(content: .list(items), position: position)
        case .mapping(let mapping):
            let entries = try entries(of: mapping, path: path, depth: depth)
            return YAMLValue(content: .map(entries), position: position)
        case .alias:
            throw YAMLProblem(position: position, path: path, reason: "is an alias without an anchor")
        }
    }

    private mutating func entries(of mapping: Node.Mapping, path: String, depth: Int) throws(YAMLProblem) -> [YAMLEntry]
    {
        var entries: [YAMLEntry] = []
        var first: [String: SourcePosition] = [:]
        for (keyNode, valueNode) in mapping {
            let position = SourcePosition(keyNode.mark)
            guard case .scalar(let scalar) = keyNode else {
                problems.append(YAMLProblem(position: position, path: path, reason: "has a key that is not a string"))
                continue
            }
            let key = repeated.name(at: position) ?? scalar.string
            let keyPath = path.isEmpty ? key : "\(path).\(key)"
            if key == "<<" && scalar.style == .plain {
                let reason = "merge keys are not part of YAML 1.2; write the keys out"
                problems.append(YAMLProblem(position: position, path: path, reason: reason))
                continue
            }
            let value = try value(of: valueNode, path: keyPath, depth: depth + 1)
            if let earlier = first[key] {
                let reason = "duplicate key; it was first set in line \(earlier.line)"
                problems.append(YAMLProblem(position: position, path: keyPath, reason: reason))
                continue
            }
            first[key] = position
            entries.append(YAMLEntry(key: key, keyPosition: position, value: value))
        }
        return entries
    }

    private mutating func scalar(_ scalar: Node.Scalar, path: String, at position: SourcePosition) -> YAMLValue {
        var value = YAMLValue(content: .string(scalar.string), position: position, text: scalar.string)
        let tag = scalar.tag.description
        switch tag {
        case "" where scalar.style != .plain, "!", Tag.Name.str.rawValue:
            return value
        case "", Tag.Name.int.rawValue, Tag.Name.float.rawValue, Tag.Name.bool.rawValue, Tag.Name.null.rawValue:
            do {
                value.content = try CoreSchema.resolve(plain: scalar.string)
            } catch {
                problems.append(YAMLProblem(position: position, path: path, reason: error.reason))
            }
        default:
            let reason = "has the tag \(tag), which is not known here"
            problems.append(YAMLProblem(position: position, path: path, reason: reason))
        }
        return value
    }
}

extension SourcePosition {
    /// Converts the parser's position; a value without one counts as the start of the file.
    init(_ mark: Mark?) {
        self.init(line: mark?.line ?? 1, column: mark?.column ?? 1)
    }
}

extension YAMLProblem {
    /// Converts the parser's error without quoting the text, because a configuration may hold a misplaced secret.
    init(_ error: YamlError, in text: String) {
        switch error {
        case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
            .composer(_, let problem, let mark, _):
            let position = SourcePosition(mark)
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
            let line = lines.indices.contains(mark.line - 1) ? lines[mark.line - 1] : ""
            let hint = line.prefix { $0.isWhitespace }.contains("\t") ? "; tabs cannot indent in YAML" : ""
            self.init(position: position, reason: "is not valid YAML: \(problem)\(hint)")
        case .reader(let problem, let offset, _, _):
            let line = offset.map { text.prefix($0).count { $0.isNewline } + 1 }
            let position = line.map { SourcePosition(line: $0, column: 1) }
            self.init(position: position, reason: "is not valid YAML: \(problem)")
        default:
            self.init(reason: "is not valid YAML")
        }
    }
}
