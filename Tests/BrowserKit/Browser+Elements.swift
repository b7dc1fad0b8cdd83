extension Browser {
    /// Waits for an element that a selector matches, and returns the first.
    ///
    /// - Parameter selector: a CSS selector.
    /// - Returns: the element.
    /// - Throws: `BrowserError` on a timeout.
    public func find(_ selector: String) async throws -> Element {
        try await wait(for: "element \(selector)") { try await findAll(selector).first }
    }

    /// Returns the elements that a selector matches now.
    ///
    /// - Parameter selector: a CSS selector.
    /// - Returns: the elements in the page's order; possibly none.
    /// - Throws: `BrowserError` for an invalid selector.
    public func findAll(_ selector: String) async throws -> [Element] {
        try await Element.find(selector, at: "", in: session)
    }

    /// Waits until an element has a text.
    ///
    /// - Parameters:
    ///   - selector: a CSS selector.
    ///   - text: the element's whole visible text.
    /// - Throws: `BrowserError` with the last text on a timeout.
    public func wait(for selector: String, toSay text: String) async throws {
        var last = "nothing"
        do {
            try await wait(for: "\(selector) to say \(text)") {
                last = try await findAll(selector).first?.text ?? "nothing"
                return last == text ? true : nil
            }
        } catch let error as BrowserError where error.code == BrowserError.timeout {
            throw BrowserError(code: error.code, message: "\(error.message); it says \(last)")
        }
    }
}
