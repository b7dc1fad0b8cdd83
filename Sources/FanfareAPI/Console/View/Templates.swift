internal import Mustache

/// The console's templates, parsed once.
struct ConsoleTemplates: Sendable {
    private let library: MustacheLibrary

    /// Parses them.
    ///
    /// - Parameter sources: the text of each by its name.
    /// - Throws: the library's error for one that is no template.
    init(_ sources: [String: String]) throws {
        MustacheContentTypes.register(ConsoleContent(), named: ConsoleContent.name)
        var templates: [String: MustacheTemplate] = [:]
        for (name, source) in sources {
            // A partial does not inherit how it escapes; and one inside a line must not break it.
            var source = source
            while source.last?.isNewline == true { source.removeLast() }
            templates[name] = try MustacheTemplate(string: "{{% CONTENT_TYPE:\(ConsoleContent.name)}}\n\(source)")
        }
        library = MustacheLibrary(templates: templates)
    }

    /// A page, or a part of one that is sent again by itself.
    ///
    /// - Parameters:
    ///   - name: of the template.
    ///   - context: what it shows.
    /// - Returns: HTML; nothing for a template that is not there.
    func render(_ name: String, _ context: some ViewContext) -> String {
        library.render(context, withTemplate: name) ?? ""
    }
}
