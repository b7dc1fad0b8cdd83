extension Browser {
    /// The first element that a selector matches; waits until there is one.
    ///
    /// - Parameter selector: in CSS.
    /// - Returns: the element.
    /// - Throws: `BrowserError` if none comes.
    public func find(_ selector: String) async throws -> Element {
        try await wait(for: "element \(selector)") { try await findAll(selector).first }
    }

    /// The elements that a selector matches now; none if there is none.
    ///
    /// - Parameter selector: in CSS.
    /// - Returns: in the page's order.
    /// - Throws: `BrowserError` if it is no selector.
    public func findAll(_ selector: String) async throws -> [Element] {
        try await Element.find(selector, at: "", in: session)
    }

    /// Waits until an element says something.
    ///
    /// - Parameters:
    ///   - selector: in CSS.
    ///   - text: all of its visible text.
    /// - Throws: `BrowserError` with what it said instead.
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
