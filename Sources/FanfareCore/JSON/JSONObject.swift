/// The members of a JSON object in the order in which they were written; keys are unique.
///
/// A lookup scans the members: objects in payloads and rules are small, and a scan of a few short strings is cheaper
/// than hashing one.
public struct JSONObject: Sendable {
    /// A key with its value.
    public struct Member: Sendable {
        /// The key, unescaped.
        public let key: String
        /// The value.
        public var value: JSONValue

        /// Pairs a key with a value.
        ///
        /// - Parameters:
        ///   - key: the key.
        ///   - value: the value.
        public init(key: String, value: JSONValue) {
            self.key = key
            self.value = value
        }
    }

    /// The members, in order.
    public private(set) var members: [Member] = []

    /// Makes an object without members.
    public init() {}

    /// Makes an object from members with distinct keys, which is not checked.
    ///
    /// - Parameter members: the members, in order.
    init(uncheckedMembers members: [Member]) { self.members = members }

    /// The value of a key; setting nil removes the member, setting a new key appends it.
    ///
    /// - Parameter key: the key, compared byte by byte.
    public subscript(key: String) -> JSONValue? {
        get {
            for member in members where member.key.isExactly(key) { return member.value }
            return nil
        }
        set {
            let index = members.firstIndex { $0.key.isExactly(key) }
            switch (index, newValue) {
            case (.some(let index), .some(let value)): members[index].value = value
            case (.some(let index), .none): members.remove(at: index)
            case (.none, .some(let value)): members.append(Member(key: key, value: value))
            case (.none, .none): break
            }
        }
    }

    /// The text of a key; nil if its value is no string.
    package func text(_ key: String) -> String? { self[key]?.stringValue }

    /// Whether there are no members.
    public var isEmpty: Bool { members.isEmpty }

    /// How many members there are.
    public var count: Int { members.count }

    /// The keys, in order.
    public var keys: [String] { members.map(\.key) }
}

extension JSONObject: Hashable {
    /// Compares as JSON objects: the order of the keys is ignored.
    ///
    /// - Parameters:
    ///   - left: an object.
    ///   - right: another.
    /// - Returns: whether both have the same keys with equal values.
    public static func == (left: JSONObject, right: JSONObject) -> Bool {
        guard left.count == right.count else { return false }
        let inOrder = zip(left.members, right.members).allSatisfy { $0.key.isExactly($1.key) }
        if inOrder { return zip(left.members, right.members).allSatisfy { $0.value == $1.value } }
        let others = Dictionary(right.members.lazy.map { (ExactText($0.key), $0.value) }) { first, _ in first }
        return left.members.allSatisfy { others[ExactText($0.key)] == $0.value }
    }

    /// Hashes independently of the order of the keys.
    ///
    /// - Parameter hasher: the hasher.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(count)
        var sum = 0
        for member in members {
            var inner = Hasher()
            inner.combine(member.key)
            inner.combine(member.value)
            sum ^= inner.finalize()
        }
        hasher.combine(sum)
    }
}
