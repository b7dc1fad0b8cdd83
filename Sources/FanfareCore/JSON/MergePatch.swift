/// A tree that can be patched as RFC 7396 has it: JSON itself, and JSON whose strings are templates.
package protocol MergePatchable {
    /// The members in order, if this is an object.
    var mergeMembers: [(key: String, value: Self)]? { get }
    /// Whether this is `null`, which as a patch removes.
    var removesMember: Bool { get }
    /// Makes an object.
    static func merged(_ members: [(key: String, value: Self)]) -> Self
}

extension MergePatchable {
    /// Applies a JSON merge patch (RFC 7396): objects are merged, null removes, anything else replaces.
    ///
    /// Keys that stay keep their place; new ones are appended in the patch's order.
    ///
    /// - Parameter patch: the patch.
    /// - Returns: the patched value.
    package func mergePatched(with patch: Self) -> Self {
        guard let changes = patch.mergeMembers else { return patch }
        var members = mergeMembers ?? []
        for change in changes {
            let index = members.firstIndex { $0.key.isExactly(change.key) }
            if change.value.removesMember {
                if let index { members.remove(at: index) }
            } else if let index {
                members[index].value = members[index].value.mergePatched(with: change.value)
            } else {
                // A patch onto nothing still loses its nulls.
                members.append((change.key, Self.merged([]).mergePatched(with: change.value)))
            }
        }
        return .merged(members)
    }
}

extension JSONValue: MergePatchable {
    package var mergeMembers: [(key: String, value: JSONValue)]? { objectValue?.members.map { ($0.key, $0.value) } }

    package var removesMember: Bool { isNull }

    package static func merged(_ members: [(key: String, value: JSONValue)]) -> JSONValue {
        .object(JSONObject(uncheckedMembers: members.map { JSONObject.Member(key: $0.key, value: $0.value) }))
    }

    /// Applies a JSON merge patch (RFC 7396): objects are merged, null removes, anything else replaces.
    ///
    /// - Parameter patch: the patch.
    /// - Returns: the patched value; keys that stay keep their place.
    public func applying(mergePatch patch: JSONValue) -> JSONValue { mergePatched(with: patch) }
}
