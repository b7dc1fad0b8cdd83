/// A headless Chromium with a profile of its own, driven by chromedriver.
///
/// A step is over when the browser says so; what a page does later by itself is waited for with ``wait(for:within:until:)``.
public struct Browser: Sendable {
    let session: DriverSession

    /// The process id of the browser itself; its other processes are below it.
    public var processID: Int { session.processID }

    /// Runs a body with a browser; browser, driver and their files go when it ends, however it ends.
    ///
    /// Several at once are several times eight processes: have the tests of a suite run one after the other.
    ///
    /// - Parameters:
    ///   - options: what it is to be like.
    ///   - body: the test.
    /// - Returns: what `body` returns.
    /// - Throws: what `body` throws; `BrowserError` if there is no browser.
    public static func with<Result>(
        _ options: BrowserOptions = BrowserOptions(),
        _ body: (Browser) async throws -> Result
    ) async throws -> Result {
        let driver = try await ChromeDriver.start()
        let session: DriverSession
        do {
            session = try await DriverSession(
                port: driver.port,
                capabilities: options.capabilities(profile: driver.folder + "/profile")
            )
        } catch {
            await driver.stop()
            throw error
        }
        do {
            let result = try await body(Browser(session: session))
            await end(session, driver)
            return result
        } catch {
            await end(session, driver)
            throw error
        }
    }

    /// Ends the browser first: it still writes to its profile.
    private static func end(_ session: DriverSession, _ driver: ChromeDriver) async {
        // A task of its own, awaited here: a test that was cancelled ends its browser too.
        await Task { try? await session.delete("") }.value
        await driver.stop()
    }
}
