import Foundation
import Glibc
import Threading

/// A program that a bench runs beside itself; it ends with the bench in every case.
///
/// A shell is in between: its standard input is a pipe from the bench, and when the pipe closes, the shell kills the
/// program.
final class BenchProcess: Sendable {
    /// The program's own process id.
    let processID: Int32
    private let shell: Process
    private let input: FileHandle
    private let log: String
    private let finished = Mailbox<Never>()

    private static let script = #"""
        trap '' INT TERM HUP
        exec 3<&0
        log=$1
        shift
        (trap - INT TERM HUP; exec "$@" </dev/null >"$log" 2>&1 3<&-) &
        program=$!
        echo "$program"
        (read -r line <&3; kill -KILL "$program") >/dev/null 2>&1 &
        watch=$!
        exec >/dev/null 2>&1 3<&-
        wait "$program"
        status=$?
        kill -KILL "$watch"
        exit "$status"
        """#

    /// Starts a program.
    ///
    /// It inherits no setting of Fanfare or libpq, because environment variables override the configuration file, and a
    /// bench must not write to another database.
    init(_ executable: String, _ arguments: [String], log: String) throws {
        self.log = log
        let shell = Process()
        self.shell = shell
        shell.executableURL = URL(fileURLWithPath: "/bin/sh")
        shell.arguments = ["-c", Self.script, "sh", log, executable] + arguments
        shell.environment = ProcessInfo.processInfo.environment.filter { name, _ in
            !name.hasPrefix("FANFARE_") && !name.hasPrefix("PG") && name != "DATABASE_URL" && name != "NOTIFY_SOCKET"
        }
        let (inputPipe, outputPipe) = (Pipe(), Pipe())
        shell.standardInput = inputPipe
        shell.standardOutput = outputPipe
        input = inputPipe.fileHandleForWriting
        let finished = finished
        shell.terminationHandler = { _ in finished.close() }
        try SignalMask.withNothingBlocked { try shell.run() }
        guard let processID = Int32(Self.firstLine(of: outputPipe.fileHandleForReading)) else {
            throw BenchError("\(executable) could not be started")
        }
        self.processID = processID
    }

    /// Whether the program has ended.
    var hasEnded: Bool { finished.take(timeout: .zero) == nil }

    /// Waits until the program ends.
    ///
    /// - Returns: the exit status; more than 128 after a signal.
    func wait() -> Int32 {
        while finished.take() != nil {}
        return shell.terminationStatus
    }

    /// Ends the program by SIGTERM, and by SIGKILL after 40 seconds; may be called repeatedly.
    func stop() {
        guard !hasEnded else { return }
        Glibc.kill(processID, SIGTERM)
        guard finished.take(timeout: .seconds(40)) != nil else { return }
        kill()
    }

    /// Ends the program by SIGKILL; may be called repeatedly.
    func kill() {
        guard !hasEnded else { return }
        Glibc.kill(processID, SIGKILL)
        while finished.take() != nil {}
    }

    /// The end of the program's output.
    var lastWords: String {
        let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
        return text.split(separator: "\n").suffix(5).joined(separator: "\n")
    }

    private static func firstLine(of handle: FileHandle) -> String {
        var line = Data()
        while !line.contains(UInt8(ascii: "\n")) {
            let more = handle.availableData
            guard !more.isEmpty else { break }
            line += more
        }
        return String(decoding: line, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    }
}
