/// What a browser is to be like.
public struct BrowserOptions: Sendable {
    /// Width and height of its window in CSS pixels.
    public var size = (width: 1280, height: 900)
    /// Language that it asks for and that `navigator.language` says, such as `es-MX`; nil for its own.
    public var language: String?
    /// Whether it takes certificates that nobody vouches for.
    public var acceptsAnyCertificate = false

    /// A window on a desk, in English, that believes in certificates.
    public init() {}

    /// As WebDriver has it.
    ///
    /// - Parameter profile: folder for the browser's profile.
    func capabilities(profile: String) -> JSON {
        var arguments = [
            "--headless=new",
            // Containers have no user namespaces and little shared memory, and machines of tests no graphics.
            "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu",
            // By a pipe, so that it ends with its driver, however that ends.
            "--remote-debugging-pipe",
            "--user-data-dir=\(profile)", "--window-size=\(size.width),\(size.height)",
            // It looks for nothing outside: no updates, no lists, no first-run pages, no crash reports.
            "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run",
            "--disable-breakpad", "--no-default-browser-check", "--disable-default-apps",
        ]
        if let language { arguments += ["--lang=\(language)", "--accept-lang=\(language)"] }
        return [
            "browserName": "chrome",
            "acceptInsecureCerts": .bool(acceptsAnyCertificate),
            "timeouts": ["pageLoad": 120_000, "script": 120_000],
            // What dialogs say is the test's to see.
            "unhandledPromptBehavior": "ignore",
            "goog:chromeOptions": ["args": .array(arguments.map(JSON.string))],
            "goog:loggingPrefs": ["browser": "ALL"],
        ]
    }
}
