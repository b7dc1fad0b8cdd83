/// An element of the page that was open when it was found.
///
/// After the page has changed, or the element was removed, its calls throw `stale element reference`.
public struct Element: Sendable {
    /// WebDriver's key of an element reference.
    private static let mark = "element-6066-11e4-a52e-4f735466cecf"

    private let id: String
    private let session: DriverSession
    private var path: String { "/element/\(id)" }

    /// The value that passes this element to a script as an argument.
    public var reference: JSON { [Self.mark: .string(id)] }

    /// Finds elements.
    ///
    /// - Parameters:
    ///   - selector: a CSS selector.
    ///   - path: the path of the enclosing element; empty for the page.
    ///   - session: the browser.
    static func find(_ selector: String, at path: String, in session: DriverSession) async throws -> [Element] {
        let query: JSON = ["using": "css selector", "value": .string(selector)]
        let found: JSON = try await session.post("\(path)/elements", query)
        return found.elements.compactMap { $0[mark].text }.map { Element(id: $0, session: session) }
    }

    /// Returns the elements below this one that a selector matches now.
    ///
    /// - Parameter selector: a CSS selector.
    /// - Returns: the elements in the page's order.
    /// - Throws: `BrowserError` for an invalid selector.
    public func findAll(_ selector: String) async throws -> [Element] {
        try await Self.find(selector, at: path, in: session)
    }

    /// The visible text.
    public var text: String {
        get async throws { try await session.get("\(path)/text") }
    }

    /// Whether the element is visible.
    public var isVisible: Bool {
        get async throws { try await session.get("\(path)/displayed") }
    }

    /// Whether the element accepts input.
    public var isEnabled: Bool {
        get async throws { try await session.get("\(path)/enabled") }
    }

    /// The role for assistive technology, such as `button`.
    public var role: String {
        get async throws { try await session.get("\(path)/computedrole") }
    }

    /// The accessible name.
    public var label: String {
        get async throws { try await session.get("\(path)/computedlabel") }
    }

    /// Returns an attribute as it is written; nil if there is none.
    ///
    /// - Parameter name: the attribute's name, such as `href`.
    /// - Returns: the value; `true` for an attribute without a value.
    /// - Throws: `BrowserError` if the element is gone.
    public func attribute(_ name: String) async throws -> String? {
        try await session.get("\(path)/attribute/\(name)")
    }

    /// Returns a property as scripts see it.
    ///
    /// - Parameter name: the property's name, such as `value`.
    /// - Returns: the value.
    /// - Throws: `BrowserError` if the element is gone.
    public func property(_ name: String) async throws -> JSON {
        try await session.get("\(path)/property/\(name)")
    }

    /// Returns a property of the computed style.
    ///
    /// - Parameter name: the property's name, such as `background-color`.
    /// - Returns: the value.
    /// - Throws: `BrowserError` if the element is gone.
    public func style(_ name: String) async throws -> String {
        try await session.get("\(path)/css/\(name)")
    }

    /// Scrolls to the element and clicks in its middle; waits until a page that this opens has loaded.
    ///
    /// - Throws: `BrowserError` if it cannot be clicked, or another element covers it.
    public func click() async throws {
        try await session.run("\(path)/click")
    }

    /// Types into the element.
    ///
    /// - Parameters:
    ///   - text: the text, which may contain keys of ``Key``.
    ///   - replacing: whether to clear the element first.
    /// - Throws: `BrowserError` if it does not accept keys.
    public func type(_ text: String, replacing: Bool = false) async throws {
        if replacing { try await session.run("\(path)/clear") }
        try await session.run("\(path)/value", ["text": .string(text)])
    }
}

/// Keys that type no character.
public enum Key {
    /// The Return key.
    public static let enter = "\u{E007}"
    /// The Tab key.
    public static let tab = "\u{E004}"
    /// The Escape key.
    public static let escape = "\u{E00C}"
}
