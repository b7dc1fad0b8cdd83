/// A headless Chromium with its own profile, controlled by chromedriver.
///
/// A command returns when the browser reports its completion; later changes of a page are awaited with
/// ``wait(for:within:until:)``.
public struct Browser: Sendable {
    let session: DriverSession

    /// The process id of the browser; its other processes are its children.
    public var processID: Int { session.processID }

    /// Runs a body with a browser, and removes browser, driver and their files when it ends or throws.
    ///
    /// A browser has about eight processes: run the tests of a suite serially.
    ///
    /// - Parameters:
    ///   - options: the browser's options.
    ///   - body: the test.
    /// - Returns: what `body` returns.
    /// - Throws: what `body` throws; `BrowserError` if no browser is installed.
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

    /// Ends the browser, then the driver, because the browser still writes to its profile.
    private static func end(_ session: DriverSession, _ driver: ChromeDriver) async {
        // A task of its own, awaited here, so that a cancelled test ends its browser too.
        await Task { try? await session.delete("") }.value
        await driver.stop()
    }
}
