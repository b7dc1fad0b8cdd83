/// An error of the browser or of its driver.
public struct BrowserError: Error, CustomStringConvertible {
    /// WebDriver's error code, such as `no such element`, or one of this library's.
    public let code: String
    /// The command and its result.
    public let message: String

    /// The code and the message.
    public var description: String { "\(code): \(message)" }

    /// Whether the error may be caused by a page that is changing, so that waiting helps.
    var passes: Bool {
        [
            "no such element", "stale element reference", "element not interactable", "element click intercepted",
            "javascript error",
        ].contains(code)
    }

    /// The code of a timeout.
    static let timeout = "timeout"
    /// The code of an invalid response from the driver.
    static let noAnswer = "no answer"
}
