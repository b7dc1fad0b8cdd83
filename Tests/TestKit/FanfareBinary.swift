import Foundation

/// The location of the `fanfare` program.
public enum FanfareBinary {
    /// Returns the path: `FANFARE_BINARY`, or else beside the test program in the build folder.
    ///
    /// - Returns: the path.
    /// - Throws: an error if the program does not exist.
    public static func path() throws -> String {
        if let given = ProcessInfo.processInfo.environment["FANFARE_BINARY"] { return given }
        let tests = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        let beside = tests.deletingLastPathComponent().appendingPathComponent("fanfare").path
        guard FileManager.default.isExecutableFile(atPath: beside) else {
            throw ProgramError(message: "no program at \(beside): build it, or set FANFARE_BINARY")
        }
        return beside
    }
}
