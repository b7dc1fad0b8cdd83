package import FanfareCore

extension JSONObject {
    /// The size limit of an event's payload in bytes, as PostgreSQL writes it.
    package static let payloadLimit = 65536

    /// The size in bytes of PostgreSQL's text of the object, except for numbers that PostgreSQL writes in another form.
    package var storedSize: Int {
        let value = JSONValue.object(self)
        return value.encoded.count + value.blanks
    }
}

extension JSONValue {
    /// The number of spaces that PostgreSQL writes after colons and commas.
    fileprivate var blanks: Int {
        switch self {
        case .object(let object): object.members.reduce(max(0, 2 * object.count - 1)) { $0 + $1.value.blanks }
        case .array(let elements): elements.reduce(max(0, elements.count - 1)) { $0 + $1.blanks }
        default: 0
        }
    }
}
