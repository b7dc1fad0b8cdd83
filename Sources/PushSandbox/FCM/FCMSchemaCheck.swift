/// Compares a request with the schema and collects every violation, as Google's front end does before FCM sees the
/// request.
struct FCMSchemaCheck {
    private(set) var violations: [GoogleError.Violation] = []

    /// Checks a whole request body.
    ///
    /// - Parameter root: the parsed body.
    /// - Returns: the error of the response, or nil.
    static func failure(_ root: JSONObject) -> GoogleError? {
        var check = FCMSchemaCheck()
        check.message(root, FCMSchema.request, at: "")
        guard !check.violations.isEmpty else { return nil }
        let message = check.violations.map(\.description).joined(separator: "\n")
        return GoogleError(status: 400, message: message, violations: check.violations)
    }

    private mutating func message(_ object: JSONObject, _ fields: [String: FCMField], at path: String) {
        for (name, value) in object.members {
            guard let field = fields[name] ?? fields[FCMField.canonical(name)] else {
                let place = path.isEmpty ? "" : " at '\(path)'"
                let text =
                    "Invalid JSON payload received. Unknown name \(JSONValue.quoted(name))\(place): Cannot find field."
                violations.append(GoogleError.Violation(field: path, description: text))
                continue
            }
            check(value, field, at: path.isEmpty ? FCMField.canonical(name) : path + "." + FCMField.canonical(name))
        }
    }

    private mutating func check(_ value: JSONValue, _ field: FCMField, at path: String) {
        switch (field, value) {
        // In protocol buffers, null means "not set".
        case (_, .null), (.string, .string), (.bool, .bool), (.object, .object): break
        case (.integer, .integer(let number)) where Int32(exactly: number) != nil: break
        case (.integer, .number(let number)) where Int32(exactly: number) != nil: break
        case (.integer, .string(let text)) where Int32(text) != nil: break
        case (.float, .integer), (.float, .number): break
        case (.duration, .string(let text)): duration(text, at: path)
        case (.timestamp, .string(let text)) where text.wholeMatch(of: Self.timestamp) != nil: break
        case (.choice(_, let names), .string(let text)) where names.contains(text): break
        case (.choice, .integer): break
        case (.list(let element), .array(let values)):
            for (index, value) in values.enumerated() {
                check(value, element.field, at: "\(path)[\(index)]")
            }
        case (.stringMap, .object(let map)):
            for (index, member) in map.members.enumerated() {
                check(member.value, .string, at: "\(path)[\(index)].value")
            }
        case (.message(let fields), .object(let object)): message(object, fields, at: path)
        default: mismatch(value, field, at: path)
        }
    }

    private mutating func duration(_ text: String, at path: String) {
        guard FCMDuration(text) == nil else { return }
        let name = path.split(separator: ".").last ?? ""
        let reason = text.hasSuffix("s") ? "" : "; duration must end with 's'"
        let text =
            "Invalid value at '\(path)' (type.googleapis.com/google.protobuf.Duration), "
            + "Field '\(name)', Illegal duration format\(reason)"
        violations.append(GoogleError.Violation(field: path, description: text))
    }

    private mutating func mismatch(_ value: JSONValue, _ field: FCMField, at path: String) {
        let text = "Invalid value at '\(path)' (\(Self.typeName(field))), \(value.json)"
        violations.append(GoogleError.Violation(field: path, description: text))
    }

    private static func typeName(_ field: FCMField) -> String {
        switch field {
        case .string: "TYPE_STRING"
        case .bool: "TYPE_BOOL"
        case .integer: "TYPE_INT32"
        case .float: "TYPE_FLOAT"
        case .duration: "type.googleapis.com/google.protobuf.Duration"
        case .timestamp: "type.googleapis.com/google.protobuf.Timestamp"
        case .choice(let name, _): "type.googleapis.com/" + name
        case .list, .stringMap, .object, .message: "TYPE_MESSAGE"
        }
    }

    private static var timestamp: Regex<Substring> {
        /[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?(?:[Zz]|[+-][0-9]{2}:[0-9]{2})/
    }
}

/// A duration in the JSON form of protocol buffers: `^[0-9]+(\.[0-9]{1,9})?s$`.
struct FCMDuration {
    let seconds: Double

    init?(_ text: String) {
        guard text.last == "s" else { return nil }
        let number = text.dropLast()
        let parts = number.split(separator: ".", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), parts.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy(Self.isDigit) }),
            parts.count == 1 || parts[1].utf8.count <= 9, let seconds = Double(number)
        else { return nil }
        self.seconds = seconds
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
}
