/// Finds the tags of a template, and refuses those that swift-mustache would render as empty text or differently from
/// what the author expects.
struct TemplateScanner {
    /// The limit of nested sections.
    static let nestingLimit = 8

    private let bytes: [UInt8]
    private var position = 0
    private var tags: [TemplateTag] = []
    private var open: [TemplateTag] = []

    private init(_ text: String) { bytes = Array(text.utf8) }

    /// Returns the tags of a template, in order.
    ///
    /// - Parameter text: the template.
    /// - Returns: the tags; none if the template is plain text.
    /// - Throws: `TemplateProblem` with the invalid tag.
    static func scan(_ text: String) throws(TemplateProblem) -> [TemplateTag] {
        var scanner = TemplateScanner(text)
        while let start = scanner.find("{{", from: scanner.position) { try scanner.readTag(at: start) }
        if let unclosed = scanner.open.last {
            throw scanner.problem(unclosed.range, "is not closed", "add the closing {{/…}} of this section")
        }
        return scanner.tags
    }

    private mutating func readTag(at start: Int) throws(TemplateProblem) {
        let sigil = start + 2 < bytes.count ? bytes[start + 2] : 0
        let isTriple = sigil == UInt8(ascii: "{")
        guard let end = find(isTriple ? "}}}" : "}}", from: start + 2) else {
            throw problem(start..<bytes.count, "is not closed", isTriple ? "end it with }}}" : "end it with }}")
        }
        let range = start..<(end + (isTriple ? 3 : 2))
        position = range.upperBound
        let afterSigil = start + 3
        switch sigil {
        case UInt8(ascii: "!"):
            tags.append(TemplateTag(kind: .comment, content: .comment, range: range))
        case UInt8(ascii: "#"): try openSection(.section, name: afterSigil..<end, range)
        case UInt8(ascii: "^"): try openSection(.invertedSection, name: afterSigil..<end, range)
        case UInt8(ascii: "/"): try closeSection(name: afterSigil..<end, range)
        case UInt8(ascii: "{"), UInt8(ascii: "&"): try append(.variable, name: afterSigil..<end, range)
        case UInt8(ascii: ">"): throw problem(range, "is a partial", "write its text here: rules have no partials")
        case UInt8(ascii: "<"), UInt8(ascii: "$"):
            throw problem(range, "is template inheritance", "write the text here: rules have no parent templates")
        case UInt8(ascii: "="): throw problem(range, "changes the delimiters", "use {{ and }} throughout")
        case UInt8(ascii: "%"): throw problem(range, "is a pragma", "leave it out: nothing is HTML-escaped anyway")
        default: try append(.variable, name: (start + 2)..<end, range)
        }
    }

    private mutating func openSection(
        _ kind: TemplateTag.Kind,
        name: Range<Int>,
        _ range: Range<Int>
    ) throws(TemplateProblem) {
        try append(kind, name: name, range)
        open.append(tags[tags.count - 1])
        guard open.count <= Self.nestingLimit else {
            throw problem(range, "is the \(open.count)th section inside another", "nest at most \(Self.nestingLimit)")
        }
    }

    private mutating func closeSection(name: Range<Int>, _ range: Range<Int>) throws(TemplateProblem) {
        guard let opened = open.popLast() else {
            throw problem(range, "closes a section that was not opened", "remove it or add its opening tag")
        }
        try append(.sectionEnd, name: name, range)
        guard tags[tags.count - 1].content == opened.content else {
            throw problem(range, "does not close \(text(opened.range))", "close the innermost section first")
        }
    }

    private mutating func append(
        _ kind: TemplateTag.Kind,
        name: Range<Int>,
        _ range: Range<Int>
    ) throws(TemplateProblem) {
        let content = try parseContent(name: name, range)
        if open.isEmpty, kind != .sectionEnd {
            switch content {
            case .sequence:
                throw problem(range, "is a position in a list, outside of any section", "put it inside {{#list}}")
            case .expression(let expression) where expression.path.isRelative:
                throw problem(range, "names the current element, outside of any section", "write the name without dot")
            default: break
            }
        }
        tags.append(TemplateTag(kind: kind, content: content, range: range))
    }

    private func text(_ range: Range<Int>) -> String {
        let shown = bytes[range].prefix(80)
        return String(decoding: shown, as: UTF8.self) + (shown.count < range.count ? "…" : "")
    }

    private func problem(_ range: Range<Int>, _ reason: String, _ hint: String) -> TemplateProblem {
        TemplateProblem(tag: text(range), reason: reason, hint: hint)
    }

    private func find(_ needle: StaticString, from start: Int) -> Int? {
        let wanted = Array(needle.description.utf8)
        guard start + wanted.count <= bytes.count else { return nil }
        return (start...(bytes.count - wanted.count)).first { offset in
            bytes[offset] == wanted[0] && bytes[offset..<(offset + wanted.count)].elementsEqual(wanted)
        }
    }
}

extension TemplateScanner {
    /// Parses `a.b` or `outer(inner(a.b))`.
    private func parseContent(name: Range<Int>, _ range: Range<Int>) throws(TemplateProblem) -> TemplateTag.Content {
        let whitespace: Set<UInt8> = [0x20, 0x09, 0x0A, 0x0D]
        var rest = bytes[name].drop { whitespace.contains($0) }
        while let last = rest.last, whitespace.contains(last) { rest.removeLast() }
        var functions: [String] = []
        while let bracket = rest.firstIndex(of: UInt8(ascii: "(")) {
            functions.append(String(decoding: rest[..<bracket], as: UTF8.self))
            guard rest.last == UInt8(ascii: ")") else {
                throw problem(range, "has an opening bracket without its closing one", "write {{transform(name)}}")
            }
            rest = rest[(bracket + 1)...].dropLast()
        }
        let text = String(decoding: rest, as: UTF8.self)
        if text.isEmpty, functions.count == 1 { return .sequence(try sequenceTransform(functions[0], range)) }
        try checkName(text, range)
        var transforms: [TemplateTransform] = []
        for function in functions.reversed() { transforms.append(try transform(function, range)) }
        return .expression(TemplateExpression(path: TemplatePath(text), transforms: transforms))
    }

    private func checkName(_ name: String, _ range: Range<Int>) throws(TemplateProblem) {
        guard !name.isEmpty else { throw problem(range, "has no name", "write a name from the payload") }
        let allowed: (UInt8) -> Bool = { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"),
                UInt8(ascii: "?"):
                true
            default: false
            }
        }
        guard name.utf8.allSatisfy(allowed) else {
            throw problem(range, "has a name that Mustache cannot read", "use letters, digits and . - _ ? only")
        }
        guard name == "." || (!name.contains("..") && !name.hasSuffix(".")) else {
            throw problem(range, "has an empty part in its name", "write one dot between two parts")
        }
    }

    private func transform(_ name: String, _ range: Range<Int>) throws(TemplateProblem) -> TemplateTransform {
        if let transform = TemplateTransform(rawValue: name) { return transform }
        let known = TemplateTransform.allCases.map(\.rawValue)
        throw problem(range, "uses an unknown transform", NearestName.hint(for: name, among: known))
    }

    private func sequenceTransform(_ name: String, _ range: Range<Int>) throws(TemplateProblem) -> SequenceTransform {
        if let transform = SequenceTransform(rawValue: name) { return transform }
        let known = SequenceTransform.allCases.map(\.rawValue)
        throw problem(range, "uses an unknown transform", NearestName.hint(for: name, among: known))
    }
}
