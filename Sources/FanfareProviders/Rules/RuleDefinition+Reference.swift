public import FanfareCore

extension RuleDefinition {
    /// All keys as a Markdown list, "`key` (type, required/optional, default: x, range): meaning", for the documentation.
    public static var reference: String {
        let keys = DefinitionObject.rule.keys.flatMap { key -> [KeyDescription] in
            switch key.name {
            case "message": key.described() + MessageSchema.described
            case "locales": key.described() + [locale]
            default: key.described()
            }
        }
        return keys.map(\.reference).joined(separator: "\n")
    }

    private static let locale = KeyDescription(
        "locales.<tag>",
        "object",
        "The parts of `message` that differ for devices of this language. They are merged over `message` (RFC 7396); null removes a key."
    )
}
