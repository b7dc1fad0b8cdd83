import BrowserKit
import TestKit
import Testing

extension Browser {
    /// Logs in at the console, by the link that `fanfare dev` prints.
    ///
    /// - Parameter dev: whose console.
    /// - Throws: `BrowserError`.
    func logIn(_ dev: DevProcess) async throws {
        try await open(dev.console)
        try await wait(for: "h1", toSay: "Overview")
    }

    /// Clicks on what a selector matches, once it is there.
    ///
    /// - Parameter selector: in CSS; the first that it matches counts.
    /// - Throws: `BrowserError`.
    func click(_ selector: String) async throws {
        try await wait(for: "a click on \(selector)") {
            guard let element = try await findAll(selector).first else { return Bool?.none }
            try await element.click()
            return true
        }
    }

    /// Clicks on a link to another page.
    ///
    /// - Parameters:
    ///   - selector: of the link.
    ///   - heading: of the page.
    /// - Throws: `BrowserError`.
    func follow(_ selector: String, to heading: String) async throws {
        try await click(selector)
        try await wait(for: "h1", toSay: heading)
    }

    /// Waits until an element says something among else.
    ///
    /// - Parameters:
    ///   - selector: in CSS.
    ///   - text: what.
    /// - Throws: `BrowserError` with what it said instead.
    func wait(for selector: String, toHold text: String) async throws {
        try await wait(for: "\(selector) to hold \(text)") {
            try await findAll(selector).first?.text.contains(text) == true ? true : nil
        }
    }

    /// Expects that the console of the browser complains of nothing: no script failed, nothing could not be loaded, and no policy of
    /// the page was violated.
    ///
    /// - Parameters:
    ///   - page: what was opened, for the message.
    ///   - location: of the test.
    /// - Throws: `BrowserError`.
    func expectNoComplaint(
        _ page: String = "",
        _ location: SourceLocation = #_sourceLocation
    ) async throws {
        let complaints = try await takeConsole().filter { ["SEVERE", "WARNING"].contains($0.level) }.map(\.message)
        #expect(complaints == [], "\(page)", sourceLocation: location)
    }
}
