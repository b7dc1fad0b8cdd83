import Foundation

/// A short command whose output is read.
enum Command {
    /// Runs a command until it exits.
    ///
    /// - Parameter words: the program, looked up in PATH, and its arguments.
    /// - Returns: its standard output without the last line end.
    /// - Throws: an error if it cannot be run or its exit status is not 0.
    static func output(_ words: [String]) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = words
        let output = Pipe()
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        let text = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw ClusterError(
                .cannotPrepare,
                "\(words.joined(separator: " ")) ended with \(process.terminationStatus)"
            )
        }
        return String(decoding: text, as: UTF8.self).trimmingCharacters(in: .newlines)
    }
}
