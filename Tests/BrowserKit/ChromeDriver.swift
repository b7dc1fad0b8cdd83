import Foundation
import Programs
import TestKit

/// A running chromedriver on a free port, with a folder for its files and its browser's.
struct ChromeDriver: Sendable {
    /// The port it listens on.
    let port: Int
    /// The folder for profiles and other files, which ``stop()`` deletes.
    let folder: String
    private let process: ProgramProcess

    /// Starts chromedriver.
    ///
    /// - Throws: `BrowserError` if it is not installed or does not start.
    static func start() async throws -> ChromeDriver {
        // chromedriver picks a port that is free on one of IPv4 and IPv6; the port may be in use on the other.
        for _ in 0..<4 {
            do {
                return try await startOnce()
            } catch let error as BrowserError where error.message.contains("Address already in use") {
                continue
            }
        }
        return try await startOnce()
    }

    private static func startOnce() async throws -> ChromeDriver {
        let folder = NSTemporaryDirectory() + "fanfare-browser-" + UUID().uuidString.prefix(13).lowercased()
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        // Chromium stores fonts and crash reports below HOME, and its socket in TMPDIR.
        let environment = ["HOME": folder, "TMPDIR": folder, "XDG_CONFIG_HOME": folder, "XDG_CACHE_HOME": folder]
        do {
            let program = try path()
            let process = try await ProgramProcess(program, ["--port=0"], environment: environment)
            for await line in process.output {
                guard let port = line.firstMatch(of: /started successfully on port (\d+)/).flatMap({ Int($0.1) }) else {
                    continue
                }
                return ChromeDriver(port: port, folder: folder, process: process)
            }
            var complaint: [String] = []
            for await line in process.errors { complaint.append(line) }
            throw BrowserError(
                code: BrowserError.noAnswer,
                message: "chromedriver ended: " + complaint.suffix(3).joined(separator: "; ")
            )
        } catch {
            try? FileManager.default.removeItem(atPath: folder)
            throw error
        }
    }

    /// Stops chromedriver and its remaining browsers, and deletes the files.
    func stop() async {
        await process.stop()
        // A browser ends a moment after its driver, and writes to its profile until then.
        await FolderUsers(folder: folder).end(within: .seconds(20))
        try? FileManager.default.removeItem(atPath: folder)
    }

    private static func path() throws -> String {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
        for folder in folders + ["/usr/bin", "/usr/lib/chromium"] {
            let path = folder + "/chromedriver"
            if FileManager.default.isExecutableFile(atPath: path) { return path }
        }
        throw BrowserError(
            code: BrowserError.noAnswer,
            message: "there is no chromedriver: deploy/install-dependencies.sh --browser installs it"
        )
    }
}
