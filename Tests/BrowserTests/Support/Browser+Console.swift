import BrowserKit
import TestKit
import Testing

extension Browser {
    /// Logs in at the console by the link that `fanfare dev` prints.
    ///
    /// - Parameter dev: the process whose console is opened.
    /// - Throws: `BrowserError`.
    func logIn(_ dev: DevProcess) async throws {
        try await open(dev.console)
        try await wait(for: "h1", toSay: "Overview")
    }

    /// Clicks on the first element that a selector matches, once it exists.
    ///
    /// - Parameter selector: a CSS selector.
    /// - Throws: `BrowserError`.
    func click(_ selector: String) async throws {
        try await wait(for: "a click on \(selector)") {
            guard let element = try await findAll(selector).first else { return Bool?.none }
            try await element.click()
            return true
        }
    }

    /// Clicks on a link, and waits for the heading of the page that it opens.
    ///
    /// - Parameters:
    ///   - selector: the link's selector.
    ///   - heading: the page's heading.
    /// - Throws: `BrowserError`.
    func follow(_ selector: String, to heading: String) async throws {
        try await click(selector)
        try await wait(for: "h1", toSay: heading)
    }

    /// Waits until an element's text contains a text.
    ///
    /// - Parameters:
    ///   - selector: a CSS selector.
    ///   - text: the text to contain.
    /// - Throws: `BrowserError` with the last text on a timeout.
    func wait(for selector: String, toHold text: String) async throws {
        try await wait(for: "\(selector) to hold \(text)") {
            try await findAll(selector).first?.text.contains(text) == true ? true : nil
        }
    }

    /// Expects that the browser's console has no errors: every script ran, every resource loaded, and no policy of the
    /// page was violated.
    ///
    /// - Parameters:
    ///   - page: the opened page, for the message.
    ///   - location: the source location of the test.
    /// - Throws: `BrowserError`.
    func expectNoComplaint(
        _ page: String = "",
        _ location: SourceLocation = #_sourceLocation
    ) async throws {
        let complaints = try await takeConsole().filter { ["SEVERE", "WARNING"].contains($0.level) }.map(\.message)
        #expect(complaints == [], "\(page)", sourceLocation: location)
    }
}
