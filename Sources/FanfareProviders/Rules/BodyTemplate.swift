internal import FanfareCore

/// A JSON document with templates, flattened to literal bytes and placeholders.
struct BodyTemplate: Sendable {
    private enum Segment: Sendable {
        /// Literal JSON.
        case bytes([UInt8])
        /// A name inside a JSON string.
        case text(TemplateExpression)
        /// A name in place of a JSON value.
        case value(TemplateExpression)
        /// A template in place of a JSON value, whose result is checked.
        case checked(CheckedTemplate)
        /// A value that Fanfare computes, inside a JSON string.
        case derived(DerivedValue)
        /// The user's badge count.
        case badge
        /// The handle for reports between the bytes of its member; nothing without a handle.
        case report(before: [UInt8], after: [UInt8])
        /// A template with sections, inside a JSON string.
        case sections(SectionTemplate)
    }

    private var segments: [Segment] = []
    private var pending: [UInt8] = []
    /// The minimum size in bytes, for any event.
    private(set) var minimumSize = 0

    /// Flattens a document.
    ///
    /// - Parameter node: the document.
    init(_ node: ContentNode) {
        append(node)
        flush()
    }

    /// Renders the document.
    ///
    /// - Parameters:
    ///   - scope: resolves names.
    ///   - opening: the bytes before the document.
    /// - Returns: compact JSON in UTF-8.
    /// - Throws: `RenderProblem` with the name that cannot be rendered.
    func render(in scope: TemplateScope, after opening: [UInt8] = []) throws(RenderProblem) -> [UInt8] {
        if opening.isEmpty, segments.count == 1, case .bytes(let bytes) = segments[0] { return bytes }
        var output = opening
        output.reserveCapacity(opening.count + minimumSize + 32 * segments.count)
        for segment in segments {
            switch segment {
            case .bytes(let bytes): output.append(contentsOf: bytes)
            case .value(let expression): try scope.value(of: expression).encode(into: &output)
            case .checked(let template): try template.value(in: scope).encode(into: &output)
            case .text(let expression):
                let value = try scope.value(of: expression)
                JSONValue.encodeContent(of: try expression.text(of: value), into: &output)
            case .derived(let value): JSONValue.encodeContent(of: value.text(scope.derived), into: &output)
            case .badge: output.append(contentsOf: String(scope.badge ?? 0).utf8)
            case .report(let before, let after):
                guard let handle = scope.context.report else { continue }
                output.append(contentsOf: before)
                output.append(contentsOf: handle.utf8)
                output.append(contentsOf: after)
            case .sections(let template):
                JSONValue.encodeContent(of: try template.text(in: scope), into: &output)
            }
            guard output.count <= TextTemplate.sizeLimit else { throw .tooLong(limit: TextTemplate.sizeLimit) }
        }
        return output
    }

    private mutating func append(_ node: ContentNode) {
        switch node {
        case .literal(let value): value.encode(into: &pending)
        case .value(let template):
            guard let expression = template.soleVariable else { return appendText(template) }
            flush()
            segments.append(.value(expression))
        case .text(let template): appendText(template)
        case .checked(let template):
            flush()
            segments.append(.checked(template))
        case .derived(let value):
            pending.append(UInt8(ascii: "\""))
            flush()
            segments.append(.derived(value))
            pending.append(UInt8(ascii: "\""))
        case .badge(let isText):
            if isText { pending.append(UInt8(ascii: "\"")) }
            flush()
            segments.append(.badge)
            if isText { pending.append(UInt8(ascii: "\"")) }
        case .array(let nodes):
            pending.append(UInt8(ascii: "["))
            for (index, node) in nodes.enumerated() {
                if index > 0 { pending.append(UInt8(ascii: ",")) }
                append(node)
            }
            pending.append(UInt8(ascii: "]"))
        case .object(let members):
            pending.append(UInt8(ascii: "{"))
            // First, so that the comma belongs to it: an object that has only such members is such a member itself.
            for member in members where member.value.isOnlyReport { appendReport(member.key, member.value) }
            for (index, member) in members.lazy.filter({ !$0.value.isOnlyReport }).enumerated() {
                if index > 0 { pending.append(UInt8(ascii: ",")) }
                JSONValue.encode(member.key, into: &pending)
                pending.append(UInt8(ascii: ":"))
                append(member.value)
            }
            pending.append(UInt8(ascii: "}"))
        }
    }

    /// Adds a member that has only the handle for reports, and the comma after it.
    private mutating func appendReport(_ key: String, _ value: ContentNode) {
        flush()
        var (before, after) = ([UInt8](), [UInt8(ascii: "\""), UInt8(ascii: ",")])
        var (key, value) = (key, value)
        while true {
            JSONValue.encode(key, into: &before)
            before.append(UInt8(ascii: ":"))
            guard let inner = value.mergeMembers?.first else { break }
            before.append(UInt8(ascii: "{"))
            after.insert(UInt8(ascii: "}"), at: 1)
            (key, value) = inner
        }
        before.append(UInt8(ascii: "\""))
        segments.append(.report(before: before, after: after))
    }

    private mutating func appendText(_ template: TextTemplate) {
        pending.append(UInt8(ascii: "\""))
        switch template.program {
        case .literal(let text): JSONValue.encodeContent(of: text, into: &pending)
        case .sections(let sections):
            flush()
            segments.append(.sections(sections))
        case .segments(let parts):
            for part in parts {
                switch part {
                case .text(let text): JSONValue.encodeContent(of: text, into: &pending)
                case .variable(let expression):
                    flush()
                    segments.append(.text(expression))
                }
            }
        }
        pending.append(UInt8(ascii: "\""))
    }

    private mutating func flush() {
        guard !pending.isEmpty else { return }
        minimumSize += pending.count
        segments.append(.bytes(pending))
        pending = []
    }
}
