import Foundation
import Subprocess
import Threading

/// A running program with its output as lines; it is killed when this process ends, `kill -9` included.
public final class ProgramProcess: Sendable {
    /// The program's process id, for signals.
    public let processID: Int32
    /// The lines of its standard output, for one reader.
    ///
    /// Ends when the program has closed it.
    public let output: AsyncStream<String>
    /// The lines of its standard error, for one reader.
    public let errors: AsyncStream<String>

    private let running: Task<Int32, Never>
    private let ended = Mailbox<Never>()

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - executable: the program, searched in PATH if it has no slash.
    ///   - arguments: its arguments.
    ///   - environment: changes of this process's variables; nil removes one.
    ///   - directory: the working directory; nil for the current one.
    /// - Throws: if no process can be started. A missing program exits with status 127.
    public init(
        _ executable: String,
        _ arguments: [String],
        environment: [String: String?] = [:],
        directory: String? = nil
    ) async throws {
        let program = ChildPrograms.configuration(
            [executable] + arguments,
            environment: environment,
            directory: directory
        )
        let (output, outputLines) = AsyncStream.makeStream(of: String.self)
        let (errors, errorLines) = AsyncStream.makeStream(of: String.self)
        let (started, start) = AsyncThrowingStream.makeStream(of: Int32.self)
        let ended = ended
        running = Task(executorPreference: ChildPrograms.thread) {
            defer {
                outputLines.finish()
                errorLines.finish()
                ended.close()
            }
            do {
                return try await run(program, input: .none, output: .sequence, error: .sequence) { execution in
                    start.yield(execution.processIdentifier.value)
                    async let errors: Void = Self.forward(execution.standardError, to: errorLines)
                    try await Self.forward(execution.standardOutput, to: outputLines)
                    try await errors
                }.terminationStatus.number
            } catch {
                start.finish(throwing: error)
                return -1
            }
        }
        var starts = started.makeAsyncIterator()
        guard let first = try await starts.next() else { throw CancellationError() }
        processID = first
        (self.output, self.errors) = (output, errors)
    }

    /// Whether the program has ended.
    public var hasEnded: Bool { ended.take(timeout: .zero) == nil }

    /// Waits until the program exits.
    ///
    /// - Returns: its exit status; 128 + n if signal n ended it.
    public func exitStatus() async -> Int32 { await running.value }

    /// Blocks until the program has ended.
    ///
    /// - Parameter timeout: the maximum time; nil for no limit.
    public func waitUntilEnd(timeout: Duration? = nil) {
        _ = ended.take(timeout: timeout)
    }

    /// Sends a signal to the program.
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

    /// Sends SIGTERM and waits until the program exits.
    ///
    /// - Returns: its exit status.
    @discardableResult
    public func stop() async -> Int32 {
        signal(SIGTERM)
        return await exitStatus()
    }

    private static func forward(
        _ source: SubprocessOutputSequence,
        to lines: AsyncStream<String>.Continuation
    ) async throws {
        // Subprocess's own splitting takes a microsecond per byte in a debug build.
        var rest = Data()
        for try await buffer in source {
            var parts = (rest + Data(buffer: buffer)).split(
                separator: UInt8(ascii: "\n"),
                omittingEmptySubsequences: false
            )
            rest = Data(parts.removeLast())
            for line in parts { lines.yield(String(decoding: line, as: UTF8.self)) }
        }
        if !rest.isEmpty { lines.yield(String(decoding: rest, as: UTF8.self)) }
        lines.finish()
    }
}
