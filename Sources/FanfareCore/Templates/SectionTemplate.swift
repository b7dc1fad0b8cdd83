import Mustache

/// A template with sections or comments, rendered by swift-mustache.
///
/// The library renders a missing name as nothing, and when it climbs from a section to what is around it, nobody can
/// tell a name that is missing from one that is found further out. So every tag goes to the library under a name of
/// its own (`t0`, `t1`, …), and what it stands for, transforms included, is looked up by `SectionFrame`.
package struct SectionTemplate: Sendable {
    /// The most lookups and list elements of one rendering: sections may repeat each other's lists.
    static let stepLimit = 65_536

    let template: MustacheTemplate
    let tags: [TemplateTag]
    let optionalNames: Set<String>
    /// What follows the rendered text.
    let suffix: String

    init(_ source: String, _ tags: [TemplateTag]) throws(TemplateProblem) {
        // The newline makes the pragma a line of its own, which Mustache drops.
        var text = "{{% CONTENT_TYPE:TEXT}}\n" + Self.renamed(source, tags)
        // swift-mustache 2.1.1 fails on a brace at the very end, and drops spaces there unless a tag follows; a name
        // that nobody knows renders as nothing.
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
        let sections = tags.filter { $0.kind == .section || $0.kind == .invertedSection }
        optionalNames = Set(sections.compactMap(\.expression?.path.text))
    }

    package func text(in scope: TemplateScope) throws(RenderProblem) -> String {
        let rendering = SectionRendering(tags: tags, optionalNames: optionalNames, scope: scope)
        let text = template.render(SectionFrame(rendering, .object(scope.context.payload), isRoot: true))
        if let problem = rendering.problem { throw problem }
        return text + suffix
    }

    /// Writes the tag's own name into each tag; a closing tag gets that of the one it closes.
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
                // Positions in a list keep their names, and count as open sections like all others.
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

    /// The leading dot keeps the library from climbing.
    private static func name(of index: Int, _ expression: TemplateExpression) -> String {
        (expression.path.isRelative ? "." : "") + "t\(index)"
    }
}

/// One rendering: what it looks names up in, and the first thing that went wrong.
private final class SectionRendering {
    let tags: [TemplateTag]
    let optionalNames: Set<String>
    let scope: TemplateScope
    var problem: RenderProblem?
    private var steps = 0

    init(tags: [TemplateTag], optionalNames: Set<String>, scope: TemplateScope) {
        self.tags = tags
        self.optionalNames = optionalNames
        self.scope = scope
    }

    /// Counts steps; false once there were too many, from when on every section is empty.
    func take(_ count: Int) -> Bool {
        steps += count
        guard steps > SectionTemplate.stepLimit else { return true }
        if problem == nil { problem = .tooManySteps(limit: SectionTemplate.stepLimit) }
        return false
    }

    func noteMissing(_ tag: TemplateTag, _ path: TemplatePath) {
        guard problem == nil, tag.kind == .variable, !optionalNames.contains(path.text) else { return }
        problem = .missing(name: path.text)
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

    /// Answers the library's question for a tag of ours.
    ///
    /// - Parameter named: `t` and the tag's index.
    /// - Returns: nil to make the library look further out; anything else ends the search.
    func child(named: String) -> Any? {
        guard let index = Int(named.dropFirst()), rendering.tags.indices.contains(index),
            let expression = rendering.tags[index].expression
        else { return nil }
        let tag = rendering.tags[index]
        let nothing = SectionFrame(rendering, .null)
        guard rendering.take(1) else { return nothing }
        let components = expression.path.components
        guard var found = components.isEmpty ? value : lookup(components[0]) else {
            if isRoot || expression.path.isRelative { rendering.noteMissing(tag, expression.path) }
            return nil
        }
        for component in components.dropFirst() { found = found[component] ?? .null }
        guard !found.isNull else {
            rendering.noteMissing(tag, expression.path)
            return nothing
        }
        do throws(RenderProblem) {
            let result = try expression.transformed(found)
            return tag.kind == .variable ? try expression.text(of: result) : section(result)
        } catch {
            if rendering.problem == nil { rendering.problem = error }
            return nothing
        }
    }

    private func lookup(_ name: String) -> JSONValue? { isRoot ? rendering.scope.root(name) : value[name] }

    private func section(_ value: JSONValue) -> Any {
        switch value {
        case .bool(let flag): return flag
        case .array(let elements):
            guard rendering.take(elements.count) else { return SectionFrame(rendering, .null) }
            return SectionList(frames: elements.map { SectionFrame(rendering, $0) })
        default: return SectionFrame(rendering, value)
        }
    }
}

/// A list that a section repeats over.
private struct SectionList: MustacheSequence {
    let frames: [SectionFrame]

    func makeIterator() -> IndexingIterator<[SectionFrame]> { frames.makeIterator() }
}
