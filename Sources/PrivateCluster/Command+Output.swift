import Foundation
import Programs

extension Command {
    /// Runs a command until it exits.
    ///
    /// - Parameter words: the program, searched in PATH, and its arguments.
    /// - Returns: its standard output without the last line end.
    /// - Throws: an error if it cannot be run or its exit status is not 0.
    static func output(_ words: [String]) throws -> String {
        let command = try wait(for: words)
        guard command.status == 0 else {
            throw ClusterError(.cannotPrepare, "\(words.joined(separator: " ")) ended with \(command.status)")
        }
        return command.output.trimmingCharacters(in: .newlines)
    }
}
