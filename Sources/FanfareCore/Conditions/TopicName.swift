/// The form of topic names: FCM's `[a-zA-Z0-9-_.~%]{1,900}`.
public enum TopicName {
    /// The maximum length of a name in bytes.
    public static let lengthLimit = 900

    /// Returns whether a text is a topic name.
    ///
    /// - Parameter name: the name, without `/topics/`.
    /// - Returns: whether it has 1 to 900 of the allowed characters and no others.
    public static func isValid(_ name: String) -> Bool {
        let bytes = name.utf8
        return !bytes.isEmpty && bytes.count <= lengthLimit && bytes.allSatisfy(isAllowed)
    }

    /// Returns whether a template can result in a topic name, judged by its literal parts.
    static func isPossible(_ template: TextTemplate) -> Bool {
        if let literal = template.literal { return isValid(literal) }
        let fixed = template.fixedText.utf8
        return fixed.count <= lengthLimit && fixed.allSatisfy(isAllowed)
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."),
            UInt8(ascii: "~"), UInt8(ascii: "%"):
            true
        default: false
        }
    }

    /// Renders a topic name and checks it, so that a value can only be part of one name.
    ///
    /// - Parameters:
    ///   - template: the name's template.
    ///   - scope: the values.
    /// - Returns: the name.
    /// - Throws: `RenderProblem` if a value is missing or the result is not a topic name.
    static func render(_ template: TextTemplate, in scope: TemplateScope) throws(RenderProblem) -> String {
        let name = try template.text(in: scope)
        guard isValid(name) else { throw .topicName(template: template.source) }
        return name
    }
}
