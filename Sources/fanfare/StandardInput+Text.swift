import FanfareConfiguration
import FanfareTools
import Foundation

extension StandardInput {
    /// Returns the text of an argument: the argument itself, or all of standard input for `-`.
    ///
    /// Blocks until the input ends.
    ///
    /// - Parameter text: the argument.
    /// - Returns: the text.
    /// - Throws: ``ToolError`` of kind `usage` if the input cannot be read or is not UTF-8.
    static func text(for text: String) throws(ToolError) -> String {
        guard text == argument else { return text }
        guard let data = try? FileHandle.standardInput.readToEnd() ?? Data() else {
            throw ToolError(.usage, "\(name) cannot be read", hint: "Is it closed?")
        }
        guard let read = String(validating: data, as: UTF8.self) else {
            throw ToolError(.usage, "\(name) is not UTF-8", hint: "Send it as UTF-8.")
        }
        return read
    }
}
