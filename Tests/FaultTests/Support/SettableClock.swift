import Foundation
import TestKit

/// A daemon's own wall clock, which the test sets by preloading `libfaketime`.
///
/// Monotonic clocks are not changed. A daemon sees a change within a second.
final class SettableClock: Sendable {
    private let file: String

    /// Creates a clock with the right time.
    ///
    /// - Parameter directory: the folder for its file.
    init(in directory: String) throws {
        file = directory + "/clock-" + UUID().uuidString.prefix(8).lowercased()
        try set(secondsAhead: 0)
    }

    /// Sets the clock.
    ///
    /// - Parameter secondsAhead: the difference from the machine's clock; negative if behind.
    func set(secondsAhead: Int) throws {
        try (secondsAhead < 0 ? "\(secondsAhead)" : "+\(secondsAhead)")
            .write(toFile: file, atomically: true, encoding: .utf8)
    }

    /// Returns the environment of a process that uses the clock.
    ///
    /// - Throws: an error if the library is missing; `deploy/faults.sh` installs it.
    func environment() throws -> [String: String] {
        let folders = try FileManager.default.contentsOfDirectory(atPath: "/usr/lib").map { "/usr/lib/\($0)/faketime" }
        guard
            let library = folders.map({ $0 + "/libfaketimeMT.so.1" }).first(where: FileManager.default.fileExists)
        else { throw RigError(message: "libfaketime is missing; deploy/install-dependencies.sh --faults installs it") }
        return [
            "LD_PRELOAD": library, "FAKETIME_TIMESTAMP_FILE": file, "FAKETIME_CACHE_DURATION": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        ]
    }
}
