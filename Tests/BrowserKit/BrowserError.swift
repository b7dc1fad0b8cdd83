/// Why a browser cannot do what a test wants.
public struct BrowserError: Error, CustomStringConvertible {
    /// WebDriver's name for it, such as `no such element`; what went wrong here has others.
    public let code: String
    /// What was wanted, and what came of it.
    public let message: String

    /// Code and message.
    public var description: String { "\(code): \(message)" }

    /// Whether a page that changes at this moment can be the reason, so that waiting helps.
    var passes: Bool {
        [
            "no such element", "stale element reference", "element not interactable", "element click intercepted",
            "javascript error",
        ].contains(code)
    }

    /// What is said when something did not come about in time.
    static let timeout = "timeout"
    /// What is said when the driver did not answer as WebDriver has it.
    static let noAnswer = "no answer"
}
