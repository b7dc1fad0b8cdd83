/// One key of a rule, a campaign, a policy or a message: what its value must be, and how it is described.
///
/// These rows are the only list of keys: Swift and SQL check definitions by them (``DefinitionObject/check(_:at:)``,
/// `fanfare.definition_error`), and the articles describe them. A new key is a new row.
package struct DefinitionKey: Sendable {
    package let name: String
    package private(set) var form: DefinitionForm
    package private(set) var isRequired: Bool
    /// The default, for the reference; nil if there is none.
    let standard: String?
    private let ownRange: String?
    private let ownReason: String?
    private let ownHint: String?
    let meaning: String

    init(
        _ name: String,
        _ form: DefinitionForm,
        range: String? = nil,
        isRequired: Bool = false,
        standard: String? = nil,
        reason: String? = nil,
        hint: String? = nil,
        _ meaning: String
    ) {
        (self.name, self.form, self.isRequired, self.standard) = (name, form, isRequired, standard)
        (ownRange, ownReason, ownHint, self.meaning) = (range, reason, hint, meaning)
    }

    /// The same key with another form.
    func with(_ form: DefinitionForm) -> DefinitionKey {
        var key = self
        key.form = form
        return key
    }

    /// The same key, but not required.
    var optional: DefinitionKey {
        var key = self
        key.isRequired = false
        return key
    }

    /// What is said about a value that the form does not allow.
    var reason: String { ownReason ?? form.reason }

    /// How to fix an error.
    var hint: String { ownHint ?? form.hint }

    /// Whether the hint is the key's own, which is better than the nearest word.
    var hasOwnHint: Bool { ownHint != nil }

    /// The key and all keys within it, described at a path.
    ///
    /// - Parameter parent: the path of the object, with a dot at its end; empty for a whole definition.
    /// - Returns: one description for each key.
    package func described(below parent: String = "") -> [KeyDescription] {
        let path = parent + name
        let own = KeyDescription(
            path,
            form.typeName,
            range: ownRange ?? form.rangeText,
            isRequired: isRequired,
            standard: standard,
            meaning
        )
        return [own] + (form.object?.keys ?? []).flatMap { $0.described(below: path + form.step) }
    }
}

extension DefinitionForm {
    /// What stands between the path of an object and the keys within it, for the reference.
    fileprivate var step: String {
        switch self {
        case .list: "[]."
        case .named: ".<name>."
        case .providers: ".<provider>."
        default: "."
        }
    }
}
