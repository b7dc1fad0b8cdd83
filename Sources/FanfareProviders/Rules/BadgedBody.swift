internal import FanfareCore

/// A body in two forms: as the rule's message defines it, and with the user's badge count where the provider shows it.
struct BadgedBody: Sendable {
    /// The place of a badge count.
    struct Place: Sendable {
        let path: [String]
        /// Whether the provider requires a string there.
        var isText = false
    }

    private let plain: BodyTemplate
    /// The form with a badge count; nil if there is no place for one.
    private let badged: BodyTemplate?

    /// Flattens a document into both forms.
    ///
    /// - Parameters:
    ///   - node: the document.
    ///   - places: where a count replaces the document's value; empty without `badge_sql`.
    init(_ node: ContentNode, badgeAt places: [Place] = []) {
        plain = BodyTemplate(node)
        let counted = places.reduce(node) { $0.setting($1.path[...], to: .badge(isText: $1.isText)) }
        badged = places.isEmpty ? nil : BodyTemplate(counted)
    }

    /// The minimum size in bytes, for any event.
    var minimumSize: Int { plain.minimumSize }

    /// Renders the form with a badge count, or without a count the form with the message's own badge.
    ///
    /// - Parameters:
    ///   - scope: resolves names.
    ///   - opening: the bytes before the document.
    /// - Returns: compact JSON in UTF-8.
    /// - Throws: `RenderProblem` with the name that cannot be rendered.
    func render(in scope: TemplateScope, after opening: [UInt8] = []) throws(RenderProblem) -> [UInt8] {
        let form = scope.badge == nil ? plain : badged ?? plain
        return try form.render(in: scope, after: opening)
    }
}
