internal import FanfareConsoleView

/// A page of the console: its path, and the function that reads its data.
struct ConsolePage: Sendable {
    /// The path as in routes: `/events/{id}`.
    let path: String
    /// The template, and the parts that the stream updates.
    let kind: LivePage
    /// Reads the page's data.
    let load: @Sendable (Visit) async throws -> any ViewContext

    /// Creates a page.
    ///
    /// - Parameters:
    ///   - path: the path, with parameters in braces.
    ///   - kind: its template, and the parts that the stream updates.
    ///   - load: reads its data.
    init(_ path: String, _ kind: LivePage, load: @escaping @Sendable (Visit) async throws -> any ViewContext) {
        (self.path, self.kind, self.load) = (path, kind, load)
    }

    /// Renders the whole page.
    ///
    /// - Parameter visit: the request's visit.
    /// - Returns: HTML.
    /// - Throws: the error of ``load``.
    func html(for visit: Visit) async throws -> String {
        Console.templates.render(kind.rawValue, try await load(visit))
    }

    /// Renders the parts that the stream updates.
    ///
    /// - Parameter visit: the request's visit.
    /// - Returns: each part's HTML with its element's id.
    /// - Throws: the error of ``load``.
    func parts(for visit: Visit) async throws -> [(id: String, html: String)] {
        let context = try await load(visit)
        return kind.parts.map { ($0.id, Console.templates.render($0.template, context)) }
    }
}
