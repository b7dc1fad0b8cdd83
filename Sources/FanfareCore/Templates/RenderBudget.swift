/// What one message may cost to render; shared by all its texts.
///
/// Counted before the work is done: swift-mustache has no limits, and ends only when it has rendered everything.
final class RenderBudget {
    /// The most lookups, list elements and transforms: sections may repeat each other's lists.
    static let stepLimit = 65_536
    /// How many bytes of a text a transform goes through in a step.
    private static let bytesPerStep = 64

    private var steps = 0
    private var bytes = 0

    /// Counts steps.
    ///
    /// - Parameters:
    ///   - count: those that are done now.
    ///   - ahead: those that will be counted when they are done, and must still be left.
    /// - Throws: if there are too many.
    func take(_ count: Int = 1, ahead: Int = 0) throws(RenderProblem) {
        steps = steps.addingClamping(count)
        guard steps.addingClamping(ahead) <= Self.stepLimit else { throw .tooManySteps(limit: Self.stepLimit) }
    }

    /// Counts bytes of texts.
    func take(bytes count: Int) throws(RenderProblem) {
        bytes = bytes.addingClamping(count)
        guard bytes <= TextTemplate.sizeLimit else { throw .tooLong(limit: TextTemplate.sizeLimit) }
    }

    /// Counts what a transform goes through.
    func take(transforming value: JSONValue) throws(RenderProblem) {
        switch value {
        case .string(let text): try take(1 + text.utf8.count / Self.bytesPerStep)
        case .array(let elements): try take(1 + elements.count)
        case .object(let object): try take(1 + object.count)
        case .null, .bool, .number: try take()
        }
    }
}
