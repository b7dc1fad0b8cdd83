import Foundation
import Testing

@testable import DaemonKit

/// The article on the sandbox has the same tables as the comments of the code.
@Suite struct SandboxArticleTests {
    /// Returns the table lines in a file's comments.
    private func rows(_ path: String) throws -> [String] {
        let file = Documentation.root.appending(path: "Sources/PushSandbox/\(path)")
        let lines = try String(contentsOf: file, encoding: .utf8).components(separatedBy: "\n")
        return lines.filter { $0.hasPrefix("/// |") }.map { String($0.dropFirst(4)) }
    }

    @Test(arguments: [("Faults/Fault.swift", 22), ("Control/SubscriptionRequest.swift", 6)])
    func whatIsSentIsDescribedAlike(path: String, count: Int) throws {
        let article = try Documentation.text("Sandbox")
        let rows = try rows(path)
        #expect(rows.count == count)
        for row in rows { #expect(article.contains("\n\(row)\n"), "\(row)") }
    }

    @Test func everyRequestToTheControlPortIsListed() throws {
        let article = try Documentation.text("Sandbox")
        let rows = try rows("Control/ControlRoutes.swift").filter { $0.hasPrefix("| `") }
        #expect(rows.count == 9)
        for row in rows {
            let request = row.components(separatedBy: " | ")[0]
            #expect(article.contains("\n\(request) | "), "\(request)")
        }
    }
}
