import Foundation
import TestKit

/// A wall clock of its own for a daemon, which the test sets: `libfaketime`, put before the system's clock.
///
/// The clocks that nobody can set go on as they are. A daemon sees what was set within a second.
final class SettableClock: Sendable {
    private let file: String

    /// Makes one that is right.
    ///
    /// - Parameter directory: where it may keep a file.
    init(in directory: String) throws {
        file = directory + "/clock-" + UUID().uuidString.prefix(8).lowercased()
        try set(secondsAhead: 0)
    }

    /// Sets it.
    ///
    /// - Parameter secondsAhead: how much it is ahead of the machine's; negative if behind.
    func set(secondsAhead: Int) throws {
        try (secondsAhead < 0 ? "\(secondsAhead)" : "+\(secondsAhead)")
            .write(toFile: file, atomically: true, encoding: .utf8)
    }

    /// What a process that goes by it needs in its environment.
    ///
    /// - Throws: where the library is not there; `deploy/faults.sh` installs it.
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
