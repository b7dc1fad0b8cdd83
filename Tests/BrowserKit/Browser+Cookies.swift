/// A cookie as a page's site has set it.
public struct BrowserCookie: Decodable, Sendable, Equatable {
    /// The name.
    public let name: String
    /// The value.
    public let value: String
    /// The path to which the browser sends it.
    public let path: String
    /// The host to which the browser sends it.
    public let domain: String
    /// Whether it is sent over TLS only.
    public let secure: Bool
    /// Whether it is hidden from scripts.
    public let httpOnly: Bool
    /// `Strict`, `Lax` or `None`; nil if the site did not set it.
    public let sameSite: String?
    /// The expiry, in seconds since 1970; nil for a session cookie.
    public let expiry: Int?
}

extension Browser {
    /// The cookies that are sent to the page's address.
    public var cookies: [BrowserCookie] {
        get async throws { try await session.get("/cookie") }
    }

    /// Sets a cookie for the site of the page.
    ///
    /// - Parameters:
    ///   - name: the name.
    ///   - value: the value.
    ///   - more: further members in WebDriver's form, such as `path`.
    /// - Throws: `BrowserError` if the page cannot have cookies.
    public func setCookie(_ name: String, _ value: String, _ more: [String: JSON] = [:]) async throws {
        let cookie = more.merging(["name": .string(name), "value": .string(value)]) { $1 }
        try await session.run("/cookie", ["cookie": .object(cookie)])
    }

    /// Deletes all cookies that are sent to the page's address.
    ///
    /// - Throws: `BrowserError`.
    public func deleteCookies() async throws {
        try await session.delete("/cookie")
    }
}
