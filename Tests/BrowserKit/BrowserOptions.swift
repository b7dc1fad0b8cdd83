/// The options of a browser.
public struct BrowserOptions: Sendable {
    /// The window's width and height in CSS pixels.
    public var size = (width: 1280, height: 900)
    /// The language of requests and of `navigator.language`, such as `es-MX`; nil for the default.
    public var language: String?
    /// Whether untrusted certificates are accepted.
    public var acceptsAnyCertificate = false

    /// Creates the default options: a desktop window, the browser's language, and trusted certificates only.
    public init() {}

    /// Returns the options as WebDriver's capabilities.
    ///
    /// - Parameter profile: the folder for the browser's profile.
    func capabilities(profile: String) -> JSON {
        var arguments = [
            "--headless=new",
            // Containers have no user namespaces and little shared memory, and test machines have no GPU.
            "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu",
            // A pipe instead of a port, so that the browser ends with its driver in every case.
            "--remote-debugging-pipe",
            "--user-data-dir=\(profile)", "--window-size=\(size.width),\(size.height)",
            // No requests of its own: no updates, no lists, no first-run pages, no crash reports.
            "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run",
            "--disable-breakpad", "--no-default-browser-check", "--disable-default-apps",
        ]
        if let language { arguments += ["--lang=\(language)", "--accept-lang=\(language)"] }
        return [
            "browserName": "chrome",
            "acceptInsecureCerts": .bool(acceptsAnyCertificate),
            "timeouts": ["pageLoad": 120_000, "script": 120_000],
            // Dialogs stay open for the test.
            "unhandledPromptBehavior": "ignore",
            "goog:chromeOptions": ["args": .array(arguments.map(JSON.string))],
            "goog:loggingPrefs": ["browser": "ALL"],
        ]
    }
}
