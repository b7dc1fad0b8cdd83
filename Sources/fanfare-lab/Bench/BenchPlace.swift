import Foundation
import Threading
import UnixSignals

/// The folder of a bench, and the cleanups that run at its end.
final class BenchPlace: Sendable {
    let directory: String
    private let cleanups = Locked<[@Sendable () -> Void]>([])

    private init(directory: String) {
        self.directory = directory
    }

    /// Runs a bench with a folder that is removed afterwards, also after an error, SIGINT or SIGTERM.
    static func use<Result>(_ body: (BenchPlace) async throws -> Result) async throws -> Result {
        let place = try make()
        let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint)
        // Ends with this function; the bench itself blocks in libpq and would not notice a cancellation.
        let watch = Task {
            for await signal in signals {
                place.clear()
                exit(128 + signal.rawValue)
            }
        }
        defer {
            watch.cancel()
            place.clear()
        }
        return try await body(place)
    }

    private static func make() throws -> BenchPlace {
        let directory = NSTemporaryDirectory() + "fanfare-bench-" + UUID().uuidString.prefix(13).lowercased()
        let place = BenchPlace(directory: URL(fileURLWithPath: directory).standardizedFileURL.path)
        // The folder holds keys.
        try FileManager.default.createDirectory(
            atPath: place.directory,
            withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700]
        )
        let path = place.directory
        place.atEnd { try? FileManager.default.removeItem(atPath: path) }
        return place
    }

    /// Registers a cleanup; cleanups run in reverse order.
    func atEnd(_ cleanup: @escaping @Sendable () -> Void) {
        cleanups.withLock { $0.append(cleanup) }
    }

    private func clear() {
        let all = cleanups.withLock { cleanups in
            defer { cleanups = [] }
            return cleanups
        }
        for cleanup in all.reversed() { cleanup() }
    }
}

/// Runs blocking code on a thread of its own, outside Swift's thread pool.
func blocking<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
        _ = WorkerThread.start(name: "bench") { continuation.resume(with: Swift.Result { try body() }) }
    }
}

/// Shows the operator the current step.
func note(_ text: String) {
    FileHandle.standardError.write(Data("bench: \(text)\n".utf8))
}
