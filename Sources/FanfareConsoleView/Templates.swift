internal import Mustache

/// The console's templates, parsed once.
package struct ConsoleTemplates: Sendable {
    private let library: MustacheLibrary

    /// Parses the templates.
    ///
    /// - Parameter sources: the templates' sources by name.
    /// - Throws: the library's error for an invalid template.
    package init(_ sources: [String: String]) throws {
        MustacheContentTypes.register(ConsoleContent(), named: ConsoleContent.name)
        var templates: [String: MustacheTemplate] = [:]
        for (name, source) in sources {
            // A partial does not inherit the content type, and a partial inside a line must not break the line.
            var source = source
            while source.last?.isNewline == true { source.removeLast() }
            templates[name] = try MustacheTemplate(string: "{{% CONTENT_TYPE:\(ConsoleContent.name)}}\n\(source)")
        }
        library = MustacheLibrary(templates: templates)
    }

    /// Renders a page, or one of its parts.
    ///
    /// - Parameters:
    ///   - name: the template's name.
    ///   - context: the data.
    /// - Returns: HTML; empty for an unknown template.
    package func render(_ name: String, _ context: some ViewContext) -> String {
        library.render(context, withTemplate: name) ?? ""
    }
}
