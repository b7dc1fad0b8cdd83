internal import FanfareCore

/// A body in two forms: as the rule's message says, and with the user's badge count where the provider shows it.
struct BadgedBody: Sendable {
    /// Where a count is put.
    struct Place: Sendable {
        let path: [String]
        /// Whether the provider wants a string there.
        var isText = false
    }

    private let plain: BodyTemplate
    /// Nil where no count is ever put.
    private let badged: BodyTemplate?

    /// Flattens a document.
    ///
    /// - Parameters:
    ///   - node: the document.
    ///   - places: where a count is put, in place of what the document says there; empty without `badge_sql`.
    init(_ node: ContentNode, badgeAt places: [Place] = []) {
        plain = BodyTemplate(node)
        let counted = places.reduce(node) { $0.setting($1.path[...], to: .badge(isText: $1.isText)) }
        badged = places.isEmpty ? nil : BodyTemplate(counted)
    }

    /// How many bytes it has at least, whatever the event.
    var minimumSize: Int { plain.minimumSize }

    /// Renders the form that fits: without a count the message's own badge, if it has one, stays.
    ///
    /// - Parameters:
    ///   - scope: where names are looked up.
    ///   - opening: what comes before the document.
    /// - Returns: compact JSON in UTF-8.
    /// - Throws: `RenderProblem` with the name that stood in the way.
    func render(in scope: TemplateScope, after opening: [UInt8] = []) throws(RenderProblem) -> [UInt8] {
        let form = scope.badge == nil ? plain : badged ?? plain
        return try form.render(in: scope, after: opening)
    }
}
