import Foundation

/// Where the `fanfare` program is.
public enum FanfareBinary {
    /// Finds it: `FANFARE_BINARY`, else beside the test program in the build folder.
    ///
    /// - Returns: its path.
    /// - Throws: if it is not there.
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
