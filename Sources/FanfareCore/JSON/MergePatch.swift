/// A tree that can be patched by RFC 7396: JSON itself, and JSON whose strings are templates.
package protocol MergePatchable {
    /// The members in order, if this is an object.
    var mergeMembers: [(key: String, value: Self)]? { get }
    /// Whether the value is `null`, which removes a member as a patch.
    var removesMember: Bool { get }
    /// Makes an object.
    static func merged(_ members: [(key: String, value: Self)]) -> Self
}

extension MergePatchable {
    /// Applies a JSON merge patch (RFC 7396): objects are merged, null removes, other values replace.
    ///
    /// Existing keys keep their place; new ones are appended in the order of the patch.
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
                // A patch applied to nothing still loses its nulls.
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

    /// Applies a JSON merge patch (RFC 7396): objects are merged, null removes, other values replace.
    ///
    /// - Parameter patch: the patch.
    /// - Returns: the patched value; existing keys keep their place.
    public func applying(mergePatch patch: JSONValue) -> JSONValue { mergePatched(with: patch) }
}
