import Mustache

/// A template with sections or comments, rendered by swift-mustache.
///
/// The library renders a missing name as empty text, and looks up names of a section in the enclosing ones, so a
/// missing name cannot be told from one found further out. Every tag is therefore passed to the library under a name of
/// its own (`t0`, `t1`, …), and `SectionFrame` looks up the original name and applies the transforms.
///
/// The library has no limits, so bytes are counted before it gets them: those of a variable when it is looked up, and
/// those between a section's tags when the library asks for the section's list.
package struct SectionTemplate: Sendable {
    /// The content directly between a section's tags, without nested sections.
    struct Body {
        /// An upper bound of the literal bytes.
        var bytes = 0
        /// The number of tags with lookups.
        var tags = 0
    }

    let template: MustacheTemplate
    let tags: [TemplateTag]
    let optionalNames: Set<String>
    /// The bodies by the opening tag's index.
    let bodies: [Int: Body]
    /// The content outside of all sections.
    let root: Body
    /// The text appended to the rendered text.
    let suffix: String

    init(_ source: String, _ tags: [TemplateTag]) throws(TemplateProblem) {
        // The line feed puts the pragma on a line of its own, which Mustache removes.
        var text = "{{% CONTENT_TYPE:TEXT}}\n" + Self.renamed(source, tags)
        // swift-mustache 2.1.1 fails on a brace at the very end, and drops trailing spaces unless a tag follows; an
        // unknown name renders as empty text.
        var braces = ""
        while text.last == "{" { braces.append(text.removeLast()) }
        if !braces.isEmpty || text.last == " " || text.last == "\t" { text += "{{end}}" }
        suffix = braces
        do {
            template = try MustacheTemplate(string: text)
        } catch {
            throw TemplateProblem(
                tag: String(source.prefix(80)),
                reason: "is not Mustache",
                hint: "compare its tags with the Mustache manual"
            )
        }
        self.tags = tags
        (root, bodies) = Self.bodies(of: source, tags)
        let sections = tags.filter { $0.kind == .section || $0.kind == .invertedSection }
        optionalNames = Set(sections.compactMap(\.expression?.path.text))
    }

    package func text(in scope: TemplateScope) throws(RenderProblem) -> String {
        try scope.budget.take(bytes: root.bytes)
        let rendering = SectionRendering(self, scope)
        let text = template.render(SectionFrame(rendering, .object(scope.context.payload), isRoot: true))
        if let problem = rendering.problem { throw problem }
        return text + suffix
    }

    /// Positions in a list, and sections by them, are resolved by the library itself: their content counts as if it
    /// were always shown.
    private static func bodies(of source: String, _ tags: [TemplateTag]) -> (root: Body, sections: [Int: Body]) {
        var (root, sections) = (Body(), [Int: Body]())
        var open: [Int?] = []
        var position = 0
        func add(_ bytes: Int, tags: Int = 0) {
            let section = open.last ?? nil
            var body = section.map { sections[$0] ?? Body() } ?? root
            body.bytes += bytes
            body.tags += tags
            if let section { sections[section] = body } else { root = body }
        }
        for (index, tag) in tags.enumerated() {
            add(tag.range.lowerBound - position)
            position = tag.range.upperBound
            switch tag.kind {
            case .section, .invertedSection:
                add(0, tags: 1)
                open.append(tag.expression == nil ? open.last ?? nil : index)
            case .sectionEnd: _ = open.popLast()
            // A position has at most five digits.
            case .variable: add(tag.expression == nil ? 5 : 0, tags: 1)
            case .comment: break
            }
        }
        add(source.utf8.count - position)
        return (root, sections)
    }

    /// Replaces the name in each tag by the tag's own; a closing tag gets the name of its opening tag.
    private static func renamed(_ source: String, _ tags: [TemplateTag]) -> String {
        let bytes = Array(source.utf8)
        var result: [UInt8] = []
        var position = 0
        var open: [Int] = []
        for (index, tag) in tags.enumerated() {
            result += bytes[position..<tag.range.lowerBound]
            position = tag.range.upperBound
            guard let expression = tag.expression else {
                result += bytes[tag.range]
                // Positions in a list keep their names, but count as open sections.
                if tag.kind == .section || tag.kind == .invertedSection { open.append(index) }
                if tag.kind == .sectionEnd { open.removeLast() }
                continue
            }
            switch tag.kind {
            case .variable: result += "{{\(name(of: index, expression))}}".utf8
            case .section, .invertedSection:
                open.append(index)
                result += "{{\(tag.kind == .section ? "#" : "^")\(name(of: index, expression))}}".utf8
            case .sectionEnd: result += "{{/\(name(of: open.removeLast(), expression))}}".utf8
            case .comment: break
            }
        }
        result += bytes[position...]
        return String(decoding: result, as: UTF8.self)
    }

    /// The leading dot keeps the library from searching enclosing sections.
    private static func name(of index: Int, _ expression: TemplateExpression) -> String {
        (expression.path.isRelative ? "." : "") + "t\(index)"
    }
}

/// The state of one rendering: its scope, and the first error.
private final class SectionRendering {
    let template: SectionTemplate
    let scope: TemplateScope
    private(set) var problem: RenderProblem?

    init(_ template: SectionTemplate, _ scope: TemplateScope) {
        (self.template, self.scope) = (template, scope)
    }

    /// Runs a closure unless there was an error before.
    ///
    /// - Returns: nil after an error.
    func attempt<Result>(_ work: () throws(RenderProblem) -> Result) -> Result? {
        guard problem == nil else { return nil }
        do throws(RenderProblem) {
            return try work()
        } catch {
            problem = error
            return nil
        }
    }

    /// Counts the content that a section is about to show.
    func take(section index: Int, times: Int) throws(RenderProblem) {
        let body = template.bodies[index] ?? SectionTemplate.Body()
        // Neither number exceeds some thousands, because payloads and rules have at most 64 KiB.
        try scope.budget.take(times > 1 ? times : 0, ahead: times.multipliedClamping(by: body.tags))
        try scope.budget.take(bytes: times.multipliedClamping(by: body.bytes))
    }

    /// Refuses a missing variable; for an inverted section counts its content, which is shown then.
    func checkMissing(_ index: Int) throws(RenderProblem) {
        let tag = template.tags[index]
        switch tag.kind {
        case .invertedSection: try take(section: index, times: 1)
        case .variable:
            guard let path = tag.expression?.path, !template.optionalNames.contains(path.text) else { return }
            throw .missing(name: path.text)
        case .section, .sectionEnd, .comment: break
        }
    }
}

/// A value on Mustache's stack.
private final class SectionFrame: MustacheParent, MustacheCustomRenderable {
    private let rendering: SectionRendering
    private let value: JSONValue
    private let isRoot: Bool

    init(_ rendering: SectionRendering, _ value: JSONValue, isRoot: Bool = false) {
        self.rendering = rendering
        self.value = value
        self.isRoot = isRoot
    }

    var renderText: String { "" }
    var isNull: Bool { value.isNull }

    /// Resolves a tag for the library.
    ///
    /// - Parameter named: `t` followed by the tag's index.
    /// - Returns: nil to continue the search in enclosing frames; any other value ends it.
    func child(named: String) -> Any? {
        let tags = rendering.template.tags
        guard let index = Int(named.dropFirst()), tags.indices.contains(index), let expression = tags[index].expression
        else { return nil }
        let tag = tags[index]
        let answer = rendering.attempt { () throws(RenderProblem) -> Any? in
            try rendering.scope.budget.take()
            let components = expression.path.components
            guard var found = components.isEmpty ? value : lookup(components[0]) else {
                return isRoot || expression.path.isRelative ? try missing(index) : nil
            }
            for component in components.dropFirst() { found = found[component] ?? .null }
            guard !found.isNull else { return try missing(index) }
            let result = try expression.transformed(found, within: rendering.scope.budget)
            guard tag.kind == .variable else { return try section(result, index) }
            let text = try expression.text(of: result)
            try rendering.scope.budget.take(bytes: text.utf8.count)
            return text
        }
        if case .some(let found) = answer { return found }
        // After an error nothing more is shown: neither sections nor inverted sections.
        return tag.kind == .invertedSection ? true : SectionFrame(rendering, .null)
    }

    private func lookup(_ name: String) -> JSONValue? { isRoot ? rendering.scope.root(name) : value[name] }

    private func missing(_ index: Int) throws(RenderProblem) -> Any? {
        try rendering.checkMissing(index)
        return SectionFrame(rendering, .null)
    }

    private func section(_ value: JSONValue, _ index: Int) throws(RenderProblem) -> Any {
        let isInverted = rendering.template.tags[index].kind == .invertedSection
        switch value {
        case .bool(let flag):
            if flag != isInverted { try rendering.take(section: index, times: 1) }
            return flag
        case .array(let elements):
            try rendering.take(section: index, times: isInverted ? elements.isEmpty ? 1 : 0 : elements.count)
            return SectionList(frames: elements.map { SectionFrame(rendering, $0) })
        default:
            if !isInverted { try rendering.take(section: index, times: 1) }
            return SectionFrame(rendering, value)
        }
    }
}

/// The list of a section.
private struct SectionList: MustacheSequence {
    let frames: [SectionFrame]

    func makeIterator() -> IndexingIterator<[SectionFrame]> { frames.makeIterator() }
}
