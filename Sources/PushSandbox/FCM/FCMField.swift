/// The type of a message's field, as in protocol buffers, whose JSON form FCM accepts.
enum FCMField: Sendable {
    case string
    case bool
    /// A 32-bit integer, also as a string.
    case integer
    case float
    /// Seconds as a decimal string that ends in `s`.
    case duration
    /// A time (RFC 3339).
    case timestamp
    /// An enum: its name, for errors, and its cases.
    case choice(String, Set<String>)
    case list(ListElement)
    /// An object of strings.
    case stringMap
    /// Any JSON object.
    case object
    case message([String: FCMField])

    /// The element type of a list.
    enum ListElement: Sendable {
        case string
        case duration

        var field: FCMField {
            switch self {
            case .string: .string
            case .duration: .duration
            }
        }
    }

    /// Returns the name of a field as the reference spells it: `titleLocKey` and `title_loc_key` are the same.
    static func canonical(_ name: String) -> String {
        guard name.utf8.contains(where: { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }) else { return name }
        var bytes: [UInt8] = []
        for byte in name.utf8 {
            if (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) {
                bytes += [UInt8(ascii: "_"), byte | 0x20]
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension JSONObject {
    /// Returns a field of a message, in either spelling.
    func field(_ name: String) -> JSONValue? {
        if let value = self[name] { return value }
        return members.last { FCMField.canonical($0.name) == name }?.value
    }
}
