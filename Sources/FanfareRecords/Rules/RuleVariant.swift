package import PostgresClient

extension SQL {
    /// Computes which variant of a rule's message a user gets, on any device.
    ///
    /// Its row is nil if the rule has neither variants nor a holdout, and `holdout` if the user gets nothing.
    ///
    /// Binds: definition, user.
    package static let ruleVariant = Statement<String?, String, String>(
        "rule_variant",
        "SELECT fanfare.variant_of($1::jsonb, $2, NULL)"
    )
}
