package import FanfareCore

extension JSONObject {
    /// The most bytes that an event's payload may have, as PostgreSQL writes it.
    package static let payloadLimit = 65536

    /// How many bytes PostgreSQL's text of it has, but for numbers that it writes otherwise.
    package var storedSize: Int {
        let value = JSONValue.object(self)
        return value.encoded.count + value.blanks
    }
}

extension JSONValue {
    /// How many blanks PostgreSQL writes behind colons and commas.
    fileprivate var blanks: Int {
        switch self {
        case .object(let object): object.members.reduce(max(0, 2 * object.count - 1)) { $0 + $1.value.blanks }
        case .array(let elements): elements.reduce(max(0, elements.count - 1)) { $0 + $1.blanks }
        default: 0
        }
    }
}
