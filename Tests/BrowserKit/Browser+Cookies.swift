/// A cookie as a page's site has set it.
public struct BrowserCookie: Decodable, Sendable, Equatable {
    /// Its name.
    public let name: String
    /// Its value.
    public let value: String
    /// The paths that get it.
    public let path: String
    /// The host that gets it.
    public let domain: String
    /// Whether it goes over TLS only.
    public let secure: Bool
    /// Whether scripts do not see it.
    public let httpOnly: Bool
    /// `Strict`, `Lax` or `None`; nil where nothing is said.
    public let sameSite: String?
    /// When it ends, in seconds since 1970; nil with the session.
    public let expiry: Int?
}

extension Browser {
    /// The cookies that the page's address gets.
    public var cookies: [BrowserCookie] {
        get async throws { try await session.get("/cookie") }
    }

    /// Sets a cookie for the site of the page.
    ///
    /// - Parameters:
    ///   - name: its name.
    ///   - value: its value.
    ///   - more: further members as WebDriver has them, such as `path`.
    /// - Throws: `BrowserError` if the page cannot have cookies.
    public func setCookie(_ name: String, _ value: String, _ more: [String: JSON] = [:]) async throws {
        let cookie = more.merging(["name": .string(name), "value": .string(value)]) { $1 }
        try await session.run("/cookie", ["cookie": .object(cookie)])
    }

    /// Deletes all cookies that the page's address gets.
    ///
    /// - Throws: `BrowserError`.
    public func deleteCookies() async throws {
        try await session.delete("/cookie")
    }
}
