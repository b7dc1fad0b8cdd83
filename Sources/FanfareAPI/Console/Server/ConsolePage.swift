/// A page of the console: where it is, and what gathers what it shows.
struct ConsolePage: Sendable {
    /// As a route's: `/events/{id}`.
    let path: String
    /// Its template, and its parts that are sent again as they change.
    let kind: LivePage
    /// Gathers what it shows.
    let load: @Sendable (Visit) async throws -> any ViewContext

    /// Describes a page.
    ///
    /// - Parameters:
    ///   - path: with names in braces for what differs.
    ///   - kind: its template, and its parts that are sent again.
    ///   - load: gathers what it shows.
    init(_ path: String, _ kind: LivePage, load: @escaping @Sendable (Visit) async throws -> any ViewContext) {
        (self.path, self.kind, self.load) = (path, kind, load)
    }

    /// All of it.
    ///
    /// - Parameter visit: whose.
    /// - Returns: HTML.
    /// - Throws: what its ``load`` throws.
    func html(for visit: Visit) async throws -> String {
        Console.templates.render(kind.rawValue, try await load(visit))
    }

    /// The parts that are sent again.
    ///
    /// - Parameter visit: whose.
    /// - Returns: each part's HTML with its element's id.
    /// - Throws: what its ``load`` throws.
    func parts(for visit: Visit) async throws -> [(id: String, html: String)] {
        let context = try await load(visit)
        return kind.parts.map { ($0.id, Console.templates.render($0.template, context)) }
    }
}
