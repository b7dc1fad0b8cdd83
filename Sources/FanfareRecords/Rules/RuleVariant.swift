package import PostgresClient

/// Computes which variant of a rule's message a user gets, on any device.
package struct RuleVariant: PostgresStatement {
    package static let name = "rule_variant"
    package static let sql = "SELECT fanfare.variant_of($1::jsonb, $2, NULL)"

    /// The rule's JSON, as text.
    package let definition: String
    package let user: String

    package init(of definition: String, user: String) {
        (self.definition, self.user) = (definition, user)
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(definition)
        binds.append(user)
    }

    /// Decodes the variant: nil if the rule has neither variants nor a holdout, `holdout` if the user gets nothing.
    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> String? {
        try row.string(orNil: 0)
    }
}
