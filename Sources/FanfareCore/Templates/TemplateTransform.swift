import Mustache

/// The transforms of `{{transform(name)}}`: those of swift-mustache that apply to JSON.
enum TemplateTransform: String, CaseIterable, Sendable {
    case empty, capitalized, lowercased, uppercased, reversed
    case first, last, count, sorted, enumerated
    case equalzero, plusone, minusone, even, odd
    /// Any value as JSON text; an addition of Fanfare.
    case json

    /// Applies the transform.
    ///
    /// - Parameter value: the value.
    /// - Returns: the transformed value; nil if the transform does not apply to the value, or has no result, such as
    ///   the first of no elements.
    func apply(to value: JSONValue) -> JSONValue? {
        if self == .json { return .string(value.text) }
        return switch value {
        case .string(let text): apply(to: text)
        case .number(let number): number.integer.flatMap(apply)
        case .array(let elements): apply(to: elements)
        case .object(let object): apply(to: object)
        case .null, .bool: nil
        }
    }

    private func apply(to text: String) -> JSONValue? {
        switch text.transform(rawValue) {
        case let flag as Bool: .bool(flag)
        case let text as String: .string(text)
        case let text as Substring: .string(String(text))
        default: nil
        }
    }

    private func apply(to integer: Int64) -> JSONValue? {
        switch self {
        case .equalzero: return .bool(integer == 0)
        case .even: return .bool(integer & 1 == 0)
        case .odd: return .bool(integer & 1 == 1)
        case .plusone, .minusone:
            // The library's own transform would trap on overflow.
            let (sum, overflow) = integer.addingReportingOverflow(self == .plusone ? 1 : -1)
            return overflow ? nil : .number(JSONNumber(sum))
        default: return nil
        }
    }

    private func apply(to elements: [JSONValue]) -> JSONValue? {
        switch self {
        case .empty: return .bool(elements.isEmpty)
        case .count: return .number(JSONNumber(elements.count))
        case .first: return elements.first
        case .last: return elements.last
        case .reversed: return .array(elements.reversed())
        case .sorted:
            let texts = elements.compactMap(\.stringValue)
            if texts.count == elements.count { return .array(texts.sorted().map(JSONValue.string)) }
            let numbers = elements.compactMap { $0.numberValue?.integer }
            guard numbers.count == elements.count else { return nil }
            return .array(numbers.sorted().map { .number(JSONNumber($0)) })
        default: return nil
        }
    }

    private func apply(to object: JSONObject) -> JSONValue? {
        switch self {
        case .empty: return .bool(object.isEmpty)
        case .count: return .number(JSONNumber(object.count))
        case .enumerated, .sorted:
            let members = self == .enumerated ? object.members : object.members.sorted { $0.key < $1.key }
            return .array(members.map { ["key": .string($0.key), "value": $0.value] })
        default: return nil
        }
    }
}

/// The position in a list, for `{{transform()}}` inside the list's section.
enum SequenceTransform: String, CaseIterable, Sendable {
    case first, last, index, even, odd
}
