import Foundation
import Glibc

/// A program that has exited.
///
/// Started by posix_spawn: Foundation's `Process` sometimes crashes while other threads open and close descriptors, as
/// many parallel sandboxes do.
struct ChildProcess {
    let output: String
    let errors: String
    let exitCode: Int32

    /// Runs a program from PATH and waits for it.
    static func run(_ arguments: [String]) throws -> ChildProcess {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("child-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let files = ["/out", "/err"].map { folder + $0 }

        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (descriptor, file) in zip([STDOUT_FILENO, STDERR_FILENO], files) {
            posix_spawn_file_actions_addopen(&actions, descriptor, file, O_WRONLY | O_CREAT, 0o600)
        }
        var child: pid_t = 0
        var words = arguments.map { strdup($0) } + [nil]
        defer { words.forEach { free($0) } }
        let failure = posix_spawnp(&child, arguments[0], &actions, nil, &words, environ)
        guard failure == 0 else { throw POSIXError(POSIXErrorCode(rawValue: failure) ?? .ENOENT) }
        var status: Int32 = 0
        while waitpid(child, &status, 0) < 0, errno == EINTR {}
        let texts = files.map { String(decoding: FileManager.default.contents(atPath: $0) ?? Data(), as: UTF8.self) }
        // The exit status is in the second byte.
        return ChildProcess(
            output: texts[0],
            errors: texts[1],
            exitCode: status & 0x7f == 0 ? (status >> 8) & 0xff : -(status & 0x7f)
        )
    }
}
