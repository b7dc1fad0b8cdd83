internal import FanfareConsoleView

/// A page of the console: its path and template, and the function that reads its data.
struct ConsolePage: Sendable {
    /// The path as in routes: `/events/{id}`.
    let path: String
    let template: String
    /// What the stream updates, from the top: the id of an element, and its template, which is rendered with the whole
    /// page's context.
    let parts: KeyValuePairs<String, String>
    /// Reads the page's data.
    let load: @Sendable (Visit) async throws -> any ViewContext

    /// Creates a page.
    ///
    /// - Parameters:
    ///   - path: the path, with parameters in braces.
    ///   - template: its template.
    ///   - parts: the elements that the stream updates, each with its template.
    ///   - load: reads its data.
    init(
        _ path: String,
        _ template: String,
        parts: KeyValuePairs<String, String> = [:],
        load: @escaping @Sendable (Visit) async throws -> any ViewContext
    ) {
        (self.path, self.template, self.parts, self.load) = (path, template, parts, load)
    }

    /// Whether the stream updates the page.
    var isStreamed: Bool { !parts.isEmpty }

    /// Renders the whole page.
    ///
    /// - Parameter visit: the request's visit.
    /// - Returns: HTML.
    /// - Throws: the error of ``load``.
    func html(for visit: Visit) async throws -> String {
        Console.templates.render(template, try await load(visit))
    }

    /// Renders the parts that the stream updates.
    ///
    /// - Parameter visit: the request's visit.
    /// - Returns: each part's HTML with its element's id.
    /// - Throws: the error of ``load``.
    func parts(for visit: Visit) async throws -> [(id: String, html: String)] {
        let context = try await load(visit)
        return parts.map { ($0.key, Console.templates.render($0.value, context)) }
    }
}
