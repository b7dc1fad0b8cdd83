/// A Mustache template for one string, compiled once and rendered any number of times, on any thread.
///
/// Names used as a section or inverted section are optional. If any other name is missing or null, rendering fails: it
/// never results in an empty string. Text is not HTML-escaped.
public struct TextTemplate: Sendable {
    /// The maximum size of a text, and of a whole message, in bytes: no provider accepts more than 20 kB.
    package static let sizeLimit = 65_536

    /// The compiled form; plain text and variables, the most frequent cases, do not need Mustache.
    package enum Program: Sendable {
        case literal(String)
        case segments([Segment])
        case sections(SectionTemplate)
    }

    /// A part of a template without sections.
    package enum Segment: Sendable {
        case text(String)
        case variable(TemplateExpression)
    }

    /// The template as written.
    public let source: String
    /// The required names, in order of appearance.
    public let requiredNames: [String]
    /// The names used as sections, which are optional.
    public let optionalNames: [String]
    /// Whether it uses a field of `device` or `user`.
    public let usesDevice: Bool
    /// Whether it may use a column of a campaign's `audience_sql`.
    public let usesVariables: Bool
    package let program: Program

    /// Compiles a template.
    ///
    /// - Parameter source: the template.
    /// - Throws: `TemplateProblem` with the invalid tag: partials, inheritance, delimiters, pragmas, unknown
    ///   transforms, unbalanced sections.
    public init(_ source: String) throws(TemplateProblem) {
        let tags = try TemplateScanner.scan(source)
        let sections = tags.filter { $0.kind == .section || $0.kind == .invertedSection }
        let optional = sections.compactMap(\.expression?.path.text)
        let required = tags.filter { $0.kind == .variable }.compactMap(\.expression?.path.text)
        self.source = source
        optionalNames = Self.unique(optional)
        requiredNames = Self.unique(required.filter { !optional.contains($0) })
        usesDevice = tags.contains { $0.expression?.path.namesDevice ?? false }
        usesVariables = tags.contains { $0.expression?.path.namesVariable ?? false }
        if tags.isEmpty {
            program = .literal(source)
        } else if tags.allSatisfy({ $0.kind == .variable }) {
            program = .segments(Self.segments(of: source, tags))
        } else {
            program = .sections(try SectionTemplate(source, tags))
        }
    }

    /// Whether rendering needs a device, as for `device.locale`.
    ///
    /// Plain `device` or `user` does not count: it can be rendered only if the payload has a member of that name.
    package var dependsOnDevice: Bool {
        guard case .segments(let segments) = program else { return usesDevice }
        return segments.contains {
            guard case .variable(let variable) = $0 else { return false }
            return variable.path.namesDevice && variable.path.components.count > 1
        }
    }

    /// The text itself, if it has no tags.
    public var literal: String? {
        if case .literal(let text) = program { text } else { nil }
    }

    /// The text between the tags; empty if sections decide which parts are shown.
    package var fixedText: String {
        switch program {
        case .literal(let text): return text
        case .sections: return ""
        case .segments(let segments):
            return segments.reduce(into: "") { if case .text(let text) = $1 { $0 += text } }
        }
    }

    /// The variable, if the template is exactly one tag such as `{{x}}`.
    package var soleVariable: TemplateExpression? {
        if case .segments(let segments) = program, segments.count == 1, case .variable(let variable) = segments[0] {
            return variable
        }
        return nil
    }

    /// Renders the template as text.
    ///
    /// - Parameters:
    ///   - context: the event.
    ///   - device: the device, needed if ``usesDevice``.
    /// - Returns: the text; a number keeps its digits as written.
    /// - Throws: `RenderProblem` with the name that cannot be rendered.
    public func text(_ context: RenderContext, device: DeviceContext? = nil) throws(RenderProblem) -> String {
        try text(in: TemplateScope(context: context, device: device))
    }

    package func text(in scope: TemplateScope) throws(RenderProblem) -> String {
        switch program {
        case .literal(let text): return text
        case .sections(let template): return try template.text(in: scope)
        case .segments(let segments):
            var result = ""
            for segment in segments {
                let text: String
                switch segment {
                case .text(let literal): text = literal
                case .variable(let variable): text = try variable.text(of: try scope.value(of: variable))
                }
                try scope.budget.take(bytes: text.utf8.count)
                result += text
            }
            return result
        }
    }

    /// Renders the template as a JSON value: a template that is exactly one variable keeps the type of the value, any
    /// other template results in a string.
    ///
    /// - Parameters:
    ///   - context: the event.
    ///   - device: the device, needed if ``usesDevice``.
    /// - Returns: the value, never null.
    /// - Throws: `RenderProblem` with the name that cannot be rendered.
    public func value(_ context: RenderContext, device: DeviceContext? = nil) throws(RenderProblem) -> JSONValue {
        let scope = TemplateScope(context: context, device: device)
        if let variable = soleVariable { return try scope.value(of: variable) }
        return .string(try text(in: scope))
    }

    private static func segments(of source: String, _ tags: [TemplateTag]) -> [Segment] {
        let bytes = Array(source.utf8)
        var segments: [Segment] = []
        var position = 0
        func appendText(upTo end: Int) {
            guard position < end else { return }
            segments.append(.text(String(decoding: bytes[position..<end], as: UTF8.self)))
        }
        for tag in tags {
            appendText(upTo: tag.range.lowerBound)
            if let expression = tag.expression { segments.append(.variable(expression)) }
            position = tag.range.upperBound
        }
        appendText(upTo: bytes.count)
        return segments
    }

    private static func unique(_ names: [String]) -> [String] {
        var seen: Set<String> = []
        return names.filter { seen.insert($0).inserted }
    }
}

extension TextTemplate: Equatable {
    /// Compares the sources.
    ///
    /// - Parameters:
    ///   - left: a template.
    ///   - right: another.
    /// - Returns: whether both have the same source.
    public static func == (left: TextTemplate, right: TextTemplate) -> Bool { left.source == right.source }
}
