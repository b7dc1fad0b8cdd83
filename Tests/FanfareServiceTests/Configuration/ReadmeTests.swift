import Foundation
import Testing

@testable import FanfareService

/// README repeats what the code knows; `FANFARE_UPDATE_README=1` writes it anew.
@Suite(.serialized) struct ReadmeTests {
    private static let path = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("README.md").path

    @Test func theConfigurationIsDescribedAsItIs() throws {
        try expect(section: "configuration", is: Configuration.reference)
    }

    @Test func theLogKeysAreListed() throws {
        let keys = LogKey.allCases.map { "`\($0.rawValue)`" }.joined(separator: ", ") + "."
        try expect(section: "log keys", is: keys)
        let readme = try String(contentsOfFile: Self.path, encoding: .utf8)
        #expect(readme.contains("`v` (version of this contract, now \(LogLine.version))"))
    }

    /// Compares what stands between the section's two comments.
    private func expect(section: String, is expected: String) throws {
        let readme = try String(contentsOfFile: Self.path, encoding: .utf8)
        let begin = try #require(readme.range(of: "<!-- \(section): begin -->\n"))
        let end = try #require(readme.range(of: "<!-- \(section): end -->"))
        if ProcessInfo.processInfo.environment["FANFARE_UPDATE_README"] == "1" {
            let updated = readme[..<begin.upperBound] + expected + "\n" + readme[end.lowerBound...]
            try String(updated).write(toFile: Self.path, atomically: true, encoding: .utf8)
            return
        }
        #expect(readme[begin.upperBound..<end.lowerBound] == expected + "\n", "FANFARE_UPDATE_README=1 writes it")
    }
}
