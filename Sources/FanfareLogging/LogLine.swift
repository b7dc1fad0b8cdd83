internal import FanfareConfiguration
internal import Logging

/// One log line, which can be written in either format.
///
/// The JSON format is a contract: one object per line, in UTF-8, with the keys
/// * `ts`: RFC 3339, UTC, microseconds,
/// * `level`: `trace` `debug` `info` `notice` `warning` `error` `critical`,
/// * `msg`: a constant text, the same for every line of its kind,
/// * `v`: the version of this contract,
/// and then the metadata, sorted, with dotted keys (``LogKey``) and no nesting except lists. Whole numbers, real
/// numbers and booleans are JSON numbers and booleans, everything else is text; the values of ``LogKey/numbers`` are
/// always numbers. A text longer than ``textLimit`` bytes is cut and ends in `…`. A metadata key that equals one of the
/// four gets the prefix `meta.`.
struct LogLine: Sendable {
    /// The version of the contract; it grows when a key changes its meaning or is removed, not for additions.
    ///
    /// In version 2 all numeric values became JSON numbers, and `reason` got the meaning it has in the views.
    static let version = 2
    /// The maximum length of a text in bytes of UTF-8, so that a single line cannot flood a log.
    static let textLimit = 4096

    var time: LogTimestamp
    var level: Logger.Level
    var message: String
    var metadata: Logger.Metadata

    /// Metadata with nested dictionaries flattened to dotted keys, sorted by key.
    private var fields: [(key: String, value: Logger.MetadataValue)] {
        var fields: [(key: String, value: Logger.MetadataValue)] = []
        var open = metadata.map { (key: $0.key, value: $0.value) }
        while let (key, value) = open.popLast() {
            if case .dictionary(let inner) = value {
                open += inner.map { (key: "\(key).\($0.key)", value: $0.value) }
            } else {
                fields.append((["ts", "level", "msg", "v"].contains(key) ? "meta.\(key)" : key, value))
            }
        }
        return fields.sorted { $0.key < $1.key }
    }

    /// The line as a JSON object, with a line feed at the end.
    var json: String {
        var line = "{\"ts\":\"\(time)\",\"level\":\"\(level.rawValue)\",\"msg\":"
        Self.append(json: message, to: &line)
        line += ",\"v\":\(Self.version)"
        for (key, value) in fields {
            line += ","
            Self.append(json: key, to: &line)
            line += ":"
            if case .string(let text) = value, LogKey.numbers.contains(key), Int64(text) != nil {
                line += text
            } else {
                Self.append(value, to: &line)
            }
        }
        return line + "}\n"
    }

    private static func append(_ value: Logger.MetadataValue, to line: inout String) {
        switch value {
        case .string(let text): append(json: text, to: &line)
        case .stringConvertible(let value as Bool): line += value ? "true" : "false"
        case .stringConvertible(let value as any BinaryInteger): line += String(describing: value)
        case .stringConvertible(let value as Double) where value.isFinite: line += value.description
        case .stringConvertible(let value): append(json: value.description, to: &line)
        case .array(let values):
            line += "["
            for (index, value) in values.enumerated() {
                if index > 0 { line += "," }
                append(value, to: &line)
            }
            line += "]"
        case .dictionary: append(json: value.description, to: &line)
        }
    }

    /// Writes a JSON string (RFC 8259 section 7).
    private static func append(json text: String, to line: inout String) {
        line += "\""
        for scalar in cut(text).unicodeScalars {
            switch scalar {
            case "\"": line += "\\\""
            case "\\": line += "\\\\"
            case "\n": line += "\\n"
            case "\t": line += "\\t"
            case "\r": line += "\\r"
            case "\u{0}"..<"\u{20}", "\u{7F}"...("\u{9F}"), "\u{2028}", "\u{2029}": line += escaped(scalar)
            default: line.unicodeScalars.append(scalar)
            }
        }
        line += "\""
    }

    private static func escaped(_ scalar: Unicode.Scalar) -> String {
        let digits = String(scalar.value, radix: 16)
        return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    }

    /// Returns the text, cut at a character boundary within the limit.
    private static func cut(_ text: String) -> String {
        guard text.utf8.count > textLimit else { return text }
        var room = textLimit
        let kept = text.unicodeScalars.prefix { scalar in
            room -= UTF8.width(scalar)
            return room >= 0
        }
        return String(kept) + "…"
    }
}

// MARK: Text for terminals

extension LogLine {
    /// Formats the line for people: time, level, message, `key=value` pairs, with a line feed at the end.
    ///
    /// Control characters in values are escaped, so that no value can move the cursor or fake a line.
    ///
    /// - Parameter colour: whether to colour the level with ANSI escapes.
    /// - Returns: the line.
    func text(colour: Bool) -> String {
        let name = level.rawValue.uppercased()
        let padded = name + String(repeating: " ", count: max(0, 8 - name.count))
        let dim = colour ? "\u{1B}[2m" : ""
        let plain = colour ? "\u{1B}[0m" : ""
        var line = "\(dim)\(time)\(plain) \(colour ? Self.colour(of: level) : "")\(padded)\(plain) "
        line += Self.unquoted(message)
        for (key, value) in fields {
            line += " \(dim)\(Self.unquoted(key))=\(plain)"
            Self.appendText(value, to: &line)
        }
        return line + "\n"
    }

    private static func appendText(_ value: Logger.MetadataValue, to line: inout String) {
        let text = "\(value)"
        let isWord = !text.isEmpty && text.unicodeScalars.allSatisfy { $0.value > 0x20 && $0 != "\"" && $0 != "=" }
        if isWord { line += unquoted(text) } else { append(json: text, to: &line) }
    }

    private static func unquoted(_ text: String) -> String {
        var quoted = ""
        append(json: text, to: &quoted)
        return String(quoted.dropFirst().dropLast()).replacing("\\\"", with: "\"")
    }

    private static func colour(of level: Logger.Level) -> String {
        switch level {
        case .trace, .debug: "\u{1B}[90m"
        case .info: "\u{1B}[32m"
        case .notice: "\u{1B}[36m"
        case .warning: "\u{1B}[33m"
        case .error, .critical: "\u{1B}[31m"
        }
    }
}
