/// An element of the page that was open when it was found.
///
/// On another page, and after it was taken out, its calls throw `stale element reference`.
public struct Element: Sendable {
    /// WebDriver's mark of a reference to an element.
    private static let mark = "element-6066-11e4-a52e-4f735466cecf"

    private let id: String
    private let session: DriverSession
    private var path: String { "/element/\(id)" }

    /// What a script gets to have this element among its arguments.
    public var reference: JSON { [Self.mark: .string(id)] }

    /// Finds elements.
    ///
    /// - Parameters:
    ///   - selector: in CSS.
    ///   - path: of the element below which they are; empty for the page.
    ///   - session: the browser.
    static func find(_ selector: String, at path: String, in session: DriverSession) async throws -> [Element] {
        let query: JSON = ["using": "css selector", "value": .string(selector)]
        let found: JSON = try await session.post("\(path)/elements", query)
        return found.elements.compactMap { $0[mark].text }.map { Element(id: $0, session: session) }
    }

    /// The elements below this one that a selector matches now.
    ///
    /// - Parameter selector: in CSS.
    /// - Returns: in the page's order.
    /// - Throws: `BrowserError` if it is no selector.
    public func findAll(_ selector: String) async throws -> [Element] {
        try await Self.find(selector, at: path, in: session)
    }

    /// Its text as one sees it.
    public var text: String {
        get async throws { try await session.get("\(path)/text") }
    }

    /// Whether one sees it.
    public var isVisible: Bool {
        get async throws { try await session.get("\(path)/displayed") }
    }

    /// Whether it takes input.
    public var isEnabled: Bool {
        get async throws { try await session.get("\(path)/enabled") }
    }

    /// What it is to somebody who does not see it, such as `button`.
    public var role: String {
        get async throws { try await session.get("\(path)/computedrole") }
    }

    /// What it is called to somebody who does not see it.
    public var label: String {
        get async throws { try await session.get("\(path)/computedlabel") }
    }

    /// An attribute as it is written; nil if there is none.
    ///
    /// - Parameter name: such as `href`.
    /// - Returns: its value, `true` for one without.
    /// - Throws: `BrowserError` if the element is gone.
    public func attribute(_ name: String) async throws -> String? {
        try await session.get("\(path)/attribute/\(name)")
    }

    /// A property as scripts see it.
    ///
    /// - Parameter name: such as `value`.
    /// - Returns: its value.
    /// - Throws: `BrowserError` if the element is gone.
    public func property(_ name: String) async throws -> JSON {
        try await session.get("\(path)/property/\(name)")
    }

    /// A property of its style, as it is computed.
    ///
    /// - Parameter name: such as `background-color`.
    /// - Returns: its value.
    /// - Throws: `BrowserError` if the element is gone.
    public func style(_ name: String) async throws -> String {
        try await session.get("\(path)/css/\(name)")
    }

    /// Scrolls to it and clicks in its middle; a page that this opens has loaded then.
    ///
    /// - Throws: `BrowserError` if it cannot be clicked, or another lies above it.
    public func click() async throws {
        try await session.run("\(path)/click")
    }

    /// Types into it.
    ///
    /// - Parameters:
    ///   - text: what, with keys of ``Key`` in it.
    ///   - replacing: whether what was there goes first.
    /// - Throws: `BrowserError` if it takes no keys.
    public func type(_ text: String, replacing: Bool = false) async throws {
        if replacing { try await session.run("\(path)/clear") }
        try await session.run("\(path)/value", ["text": .string(text)])
    }
}

/// Keys that write nothing.
public enum Key {
    /// Return.
    public static let enter = "\u{E007}"
    /// The next field.
    public static let tab = "\u{E004}"
    /// Escape.
    public static let escape = "\u{E00C}"
}
