/// The members of a user's JSON object; each is taken out when it is read, so that the rest is unknown.
struct JSONFields {
    /// The position of the object, for messages: `faults[2]` or `faults[2].match`.
    let place: String
    private let code: SandboxError.Code
    private var members: [String: JSONValue]

    init(_ value: JSONValue, place: String, code: SandboxError.Code = .malformedFaults) throws(SandboxError) {
        guard case .object(let members) = value else {
            throw SandboxError(code, "\(place): must be an object")
        }
        self.place = place
        self.code = code
        self.members = Dictionary(members.members.map { ($0.name, $0.value) }, uniquingKeysWith: { _, last in last })
    }

    func failure(_ key: String, _ message: String) -> SandboxError {
        SandboxError(code, "\(place).\(key): \(message)")
    }

    func has(_ key: String) -> Bool {
        members[key] != nil
    }

    func peek(_ key: String) -> JSONValue? {
        members[key]
    }

    mutating func value(_ key: String) -> JSONValue? {
        members.removeValue(forKey: key)
    }

    mutating func string(_ key: String) throws(SandboxError) -> String? {
        guard let value = value(key) else { return nil }
        guard case .string(let text) = value else { throw failure(key, "must be a string") }
        return text
    }

    mutating func bool(_ key: String) throws(SandboxError) -> Bool? {
        guard let value = value(key) else { return nil }
        guard case .bool(let truth) = value else { throw failure(key, "must be true or false") }
        return truth
    }

    mutating func integer(_ key: String, in range: ClosedRange<Int64>) throws(SandboxError) -> Int64? {
        guard let value = value(key) else { return nil }
        guard case .integer(let number) = value, range.contains(number) else {
            throw failure(key, "must be an integer from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    mutating func fraction(_ key: String) throws(SandboxError) -> Double? {
        switch value(key) {
        case nil: return nil
        case .integer(let number) where (0...1).contains(number): return Double(number)
        case .number(let number) where (0...1).contains(number): return number
        default: throw failure(key, "must be a number from 0 to 1")
        }
    }

    mutating func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ key: String,
        _ type: Choice.Type
    ) throws(SandboxError) -> Choice? {
        guard let text = try string(key) else { return nil }
        guard let choice = Choice(rawValue: text) else {
            throw failure(key, "must be one of \(Choice.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        return choice
    }

    /// Rejects members that were not read: a misspelt key must not become a fault that never applies.
    func finish() throws(SandboxError) {
        guard let key = members.keys.min() else { return }
        throw failure(key, "is unknown here")
    }
}
