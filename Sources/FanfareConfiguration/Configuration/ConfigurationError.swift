/// Why a configuration cannot be used: all problems at once, in the order of the file.
public struct ConfigurationError: Error, Equatable, Sendable, CustomStringConvertible {
    /// At least one problem.
    public let problems: [ConfigurationProblem]
    /// Advice for all problems together, besides the advice in each.
    public let mend: String

    init(_ problems: [ConfigurationProblem], mend: String = "The documentation, “Configuration”, lists every key.") {
        self.problems = problems.sorted { $0.origin < $1.origin }
        self.mend = mend
    }

    /// One line per problem; holds no secret.
    public var description: String { problems.map(\.description).joined(separator: "\n") }
}

/// One problem of a configuration: its place, its key, and how to fix it.
public struct ConfigurationProblem: Equatable, Sendable, CustomStringConvertible {
    /// The source of the value.
    public let origin: ConfigurationOrigin
    /// Dotted path of the key; empty if the problem concerns the whole file.
    public let key: String
    /// The problem and how to fix it; never the value of a key that may be secret.
    public let reason: String

    /// `place: key: reason`, for example ``fanfare.yaml:12:3: log.levl: unknown key; did you mean `level`?``.
    public var description: String {
        [origin.description, key, reason].filter { !$0.isEmpty }.joined(separator: ": ")
    }
}

/// The source of a value.
public enum ConfigurationOrigin: Equatable, Sendable, CustomStringConvertible {
    /// A file, by the name that was given, with the position if known.
    case file(String, SourcePosition?)
    /// An environment variable.
    case environment(String)
    /// A flag of the command line.
    case flag(String)
    /// No source: the key is missing.
    case absent

    /// `fanfare.yaml:12:3`, `environment variable FANFARE_LOG__LEVEL`, `--log-level`, or nothing.
    public var description: String {
        switch self {
        case .file(let name, let position?): "\(name):\(position.line):\(position.column)"
        case .file(let name, nil): name
        case .environment(let name): "environment variable \(name)"
        case .flag(let name): name
        case .absent: ""
        }
    }

    /// Orders problems: the file from top to bottom, then environment, flags and missing keys.
    static func < (left: ConfigurationOrigin, right: ConfigurationOrigin) -> Bool {
        switch (left, right) {
        case (.file(_, let left), .file(_, let right)):
            (left ?? SourcePosition(line: 0, column: 0)) < (right ?? SourcePosition(line: 0, column: 0))
        case (.environment(let left), .environment(let right)), (.flag(let left), .flag(let right)): left < right
        default: left.rank < right.rank
        }
    }

    private var rank: Int {
        switch self {
        case .file: 0
        case .environment: 1
        case .flag: 2
        case .absent: 3
        }
    }
}
