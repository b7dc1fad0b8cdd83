import Foundation
import Subprocess
import Threading

/// A program that has exited.
public struct Command: Sendable {
    /// The maximum size of the output and of the errors, in bytes.
    private static let limit = 16 << 20

    /// The standard output.
    public let output: String
    /// The standard error.
    public let errors: String
    /// The exit status; 128 + n if signal n ended it.
    public let status: Int32

    /// Runs a program until it exits.
    ///
    /// - Parameters:
    ///   - words: the program, searched in PATH if it has no slash, and its arguments.
    ///   - input: the standard input.
    ///   - environment: changes of this process's variables; nil removes one.
    ///   - directory: the working directory; nil for the current one.
    /// - Returns: the exited program; its status is 127 if the program does not exist.
    /// - Throws: if no process can be started, or the program prints more than 16 MiB.
    public static func run(
        _ words: [String],
        input: String = "",
        environment: [String: String?] = [:],
        directory: String? = nil
    ) async throws -> Command {
        let program = ChildPrograms.configuration(words, environment: environment, directory: directory)
        return try await withTaskExecutorPreference(ChildPrograms.thread) {
            let results = Mailbox<Result<Command, any Error>>()
            try await run(program, input: input, results: results)
            guard let result = results.take(timeout: .zero)?.first else { throw CancellationError() }
            return try result.get()
        }
    }

    /// Runs a program, and blocks the thread until it exits.
    ///
    /// - Parameter words: the program and its arguments.
    /// - Returns: the exited program.
    /// - Throws: as ``run(_:input:environment:directory:)``.
    public static func wait(for words: [String]) throws -> Command {
        let results = Mailbox<Result<Command, any Error>>()
        Task(executorPreference: ChildPrograms.thread) {
            do {
                try await run(ChildPrograms.configuration(words), input: "", results: results)
            } catch {
                results.put(.failure(error))
            }
        }
        while true {
            if let result = results.take()?.first { return try result.get() }
        }
    }

    /// Runs a program, and puts the result into a mailbox as soon as it has exited.
    ///
    /// This function itself returns only when a thread of Swift's pool is free, since Subprocess uses one: a caller that blocks
    /// such a thread reads the mailbox instead.
    private static func run(_ program: Configuration, input: String, results: Mailbox<Result<Command, any Error>>)
        async throws
    {
        _ = try await Subprocess.run(program, input: .inputWriter, output: .sequence, error: .sequence) { execution in
            async let output = text(execution.standardOutput)
            async let errors = text(execution.standardError)
            // Both fail if the program exits before it has read all; SIGPIPE is blocked on this thread.
            _ = try? await execution.standardInputWriter.write(input)
            try? await execution.standardInputWriter.finish()
            let command = try await Command(
                output: output,
                errors: errors,
                status: ChildExit.status(of: execution.processIdentifier.value)
            )
            results.put(.success(command))
        }
    }

    private static func text(_ source: SubprocessOutputSequence) async throws -> String {
        var text = Data()
        for try await buffer in source {
            guard text.count + buffer.count <= limit else { throw POSIXError(.EFBIG) }
            text.append(Data(buffer: buffer))
        }
        return String(decoding: text, as: UTF8.self)
    }
}
