import Foundation
import Threading

/// A program under test as a separate process, with its output as lines.
///
/// A shell runs between the test process and the program. The shell's standard input is a pipe from the test process,
/// so that the program is stopped when the test process ends, `kill -9` included.
public final class ProgramProcess: Sendable {
    /// The program's own process id, for signals.
    public let processID: Int32
    /// The lines of its standard output, for one reader.
    ///
    /// Ends when the program has closed it.
    public let output: AsyncStream<String>
    /// The lines of its standard error, for one reader.
    public let errors: AsyncStream<String>

    private let shell: Process
    private let input: FileHandle
    private let finished = Mailbox<Never>()

    private static let script = #"""
        trap '' INT TERM HUP
        exec 3<&0
        # Says its process id before it becomes the program, so that this is the first line in any case.
        (trap - INT TERM HUP; exec sh -c 'echo "$$"; exec "$@"' sh "$@" </dev/null 3<&-) &
        program=$!
        # Ends the program when the other end of the pipe is closed. No child of its own: none must outlive the shell.
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
    /// - Parameters:
    ///   - executable: the path of the program.
    ///   - arguments: its arguments.
    ///   - environment: variables that are added to the current ones.
    ///   - directory: the working directory; nil for the current one.
    /// - Throws: an error if it cannot be started.
    public init(
        _ executable: String,
        _ arguments: [String],
        environment: [String: String] = [:],
        directory: String? = nil
    ) throws {
        let shell = Process()
        self.shell = shell
        shell.executableURL = URL(fileURLWithPath: "/bin/sh")
        shell.arguments = ["-c", Self.script, "sh", executable] + arguments
        shell.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        if let directory { shell.currentDirectoryURL = URL(fileURLWithPath: directory) }
        let (inputPipe, outputPipe, errorPipe) = (Pipe(), Pipe(), Pipe())
        shell.standardInput = inputPipe
        shell.standardOutput = outputPipe
        shell.standardError = errorPipe
        input = inputPipe.fileHandleForWriting
        _ = fcntl(input.fileDescriptor, F_SETFD, FD_CLOEXEC)
        let (finished, input) = (finished, input)
        shell.terminationHandler = { _ in
            // Closed early, so that a run of hundreds of programs does not keep descriptors of those that ended.
            try? input.close()
            finished.close()
        }
        try withNoSignalBlocked { try shell.run() }
        var reader = LineReader(outputPipe.fileHandleForReading)
        guard let first = reader.next(), let processID = Int32(first) else {
            throw ProgramError(message: "\(executable) did not start")
        }
        self.processID = processID
        output = Self.stream(reader)
        errors = Self.stream(LineReader(errorPipe.fileHandleForReading))
    }

    /// Sends a signal to the program itself.
    ///
    /// - Parameter number: SIGTERM, SIGKILL, SIGSTOP …
    public func signal(_ number: Int32) {
        kill(processID, number)
    }

    /// Suspends the program, and waits until it is stopped; SIGCONT resumes it.
    public func pause() {
        signal(SIGSTOP)
        let status = "/proc/\(processID)/stat"
        while let text = try? String(contentsOfFile: status, encoding: .utf8), !text.contains(") T ") { sched_yield() }
    }

    /// Waits until the program exits.
    ///
    /// - Returns: its exit status; 128 + n if signal n ended it.
    public func exitStatus() async -> Int32 {
        let finished = finished
        try? await onThread("wait") { while finished.take() != nil {} }
        return shell.terminationStatus
    }

    /// Sends SIGTERM and waits until the program exits.
    ///
    /// - Returns: its exit status.
    @discardableResult
    public func stop() async -> Int32 {
        signal(SIGTERM)
        return await exitStatus()
    }

    /// Returns lines as they arrive, read on a separate thread that ends with the pipe.
    private static func stream(_ reader: LineReader) -> AsyncStream<String> {
        let (stream, continuation) = AsyncStream.makeStream(of: String.self)
        _ = WorkerThread.start(name: "lines") {
            var reader = reader
            while let line = reader.next() { continuation.yield(line) }
            continuation.finish()
            reader.close()
        }
        return stream
    }
}

/// Runs `body` with the calling thread's signal mask empty.
///
/// Threads of Dispatch's pool block nearly all signals, and a child inherits the mask: SIGTERM would not reach the
/// program, nor SIGCHLD the shell.
private func withNoSignalBlocked<Result>(_ body: () throws -> Result) rethrows -> Result {
    var none = sigset_t()
    var before = sigset_t()
    sigemptyset(&none)
    pthread_sigmask(SIG_SETMASK, &none, &before)
    defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
    return try body()
}

/// The reason why a program under test cannot be used.
public struct ProgramError: Error, CustomStringConvertible {
    let message: String

    /// - Parameter message: the description of the problem.
    public init(message: String) {
        self.message = message
    }

    /// The description of the problem.
    public var description: String { message }
}

/// Blocking reads of whole lines.
private struct LineReader: Sendable {
    private let handle: FileHandle
    private var buffer = Data()

    init(_ handle: FileHandle) {
        self.handle = handle
    }

    /// Closes the descriptor at the end of the stream.
    func close() {
        try? handle.close()
    }

    /// Returns the next line without its end; nil at the end of the stream.
    mutating func next() -> String? {
        while true {
            if let end = buffer.firstIndex(of: UInt8(ascii: "\n")) {
                defer { buffer = Data(buffer[(end + 1)...]) }
                return String(decoding: buffer[..<end], as: UTF8.self)
            }
            let more = handle.availableData
            guard !more.isEmpty else {
                defer { buffer = Data() }
                return buffer.isEmpty ? nil : String(decoding: buffer, as: UTF8.self)
            }
            buffer += more
        }
    }
}
