import Foundation
import Glibc
import Programs
import Threading

/// A program that a bench runs beside itself, with its output in a file; it ends with the bench in every case.
final class BenchProcess: Sendable {
    private let program: ProgramProcess
    private let log: String

    /// Starts a program.
    ///
    /// It inherits no setting of Fanfare or libpq, because environment variables override the configuration file, and a
    /// bench must not write to another database.
    init(_ executable: String, _ arguments: [String], log: String) throws {
        self.log = log
        let foreign = ProcessInfo.processInfo.environment.keys.filter { name in
            name.hasPrefix("FANFARE_") || name.hasPrefix("PG") || name == "DATABASE_URL" || name == "NOTIFY_SOCKET"
        }
        program = try ChildPrograms.thread.wait {
            try await ProgramProcess(
                "/bin/sh",
                ["-c", #"exec "$@" >"$0" 2>&1"#, log, executable] + arguments,
                environment: Dictionary(uniqueKeysWithValues: foreign.map { ($0, nil) })
            )
        }
    }

    /// The program's own process id.
    var processID: Int32 { program.processID }

    /// Whether the program has ended.
    var hasEnded: Bool { program.hasEnded }

    /// Waits until the program ends.
    ///
    /// - Returns: the exit status; more than 128 after a signal.
    func wait() -> Int32 {
        ChildPrograms.thread.wait { [program] in await program.exitStatus() }
    }

    /// Ends the program by SIGTERM, and by SIGKILL after 40 seconds; may be called repeatedly.
    func stop() {
        guard !hasEnded else { return }
        program.signal(SIGTERM)
        program.waitUntilEnd(timeout: .seconds(40))
        kill()
    }

    /// Ends the program by SIGKILL; may be called repeatedly.
    func kill() {
        guard !hasEnded else { return }
        program.signal(SIGKILL)
        program.waitUntilEnd()
    }

    /// The end of the program's output.
    var lastWords: String {
        let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
        return text.split(separator: "\n").suffix(5).joined(separator: "\n")
    }
}
