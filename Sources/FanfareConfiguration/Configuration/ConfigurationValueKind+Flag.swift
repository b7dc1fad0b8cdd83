extension ConfigurationValueKind<Bool> {
    /// `true` or `false`.
    package static var flag: Self {
        .init(
            name: "boolean",
            range: nil,
            parse: { (raw, _) throws(ConfigurationValueError) in try raw.flag(expected: "expected true or false") },
            text: { $0 ? "true" : "false" }
        )
    }
}
