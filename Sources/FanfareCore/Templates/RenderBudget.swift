/// The limits of rendering one message, shared by all its texts.
///
/// Work is counted before it is done, because swift-mustache has no limits and cannot be stopped.
final class RenderBudget {
    /// The maximum number of lookups, list elements and transforms; nested sections can multiply their lists.
    static let stepLimit = 65_536
    /// The number of bytes that a transform processes in one step.
    private static let bytesPerStep = 64

    private var steps = 0
    private var bytes = 0

    /// Counts steps.
    ///
    /// - Parameters:
    ///   - count: the steps taken now.
    ///   - ahead: the steps to be counted later, which must still be available.
    /// - Throws: an error if there are too many.
    func take(_ count: Int = 1, ahead: Int = 0) throws(RenderProblem) {
        steps = steps.addingClamping(count)
        guard steps.addingClamping(ahead) <= Self.stepLimit else { throw .tooManySteps(limit: Self.stepLimit) }
    }

    /// Counts bytes of texts.
    func take(bytes count: Int) throws(RenderProblem) {
        bytes = bytes.addingClamping(count)
        guard bytes <= TextTemplate.sizeLimit else { throw .tooLong(limit: TextTemplate.sizeLimit) }
    }

    /// Counts the steps of a transform.
    func take(transforming value: JSONValue) throws(RenderProblem) {
        switch value {
        case .string(let text): try take(1 + text.utf8.count / Self.bytesPerStep)
        case .array(let elements): try take(1 + elements.count)
        case .object(let object): try take(1 + object.count)
        case .null, .bool, .number: try take()
        }
    }
}
