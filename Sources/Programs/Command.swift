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
        // SIGPIPE is blocked on that thread.
        return try await withTaskExecutorPreference(ChildPrograms.thread) {
            let result = try await Subprocess.run(
                program,
                input: .inputWriter,
                output: .string(limit: limit),
                error: .string(limit: limit)
            ) { execution in
                // Fails if the program exits before it has read all.
                _ = try? await execution.standardInputWriter.write(input)
            }
            return Command(
                output: result.standardOutput,
                errors: result.standardError,
                status: result.terminationStatus.number
            )
        }
    }

    /// Runs a program, and blocks the thread until it exits.
    ///
    /// - Parameter words: the program and its arguments.
    /// - Returns: the exited program.
    /// - Throws: as ``run(_:input:environment:directory:)``.
    public static func wait(for words: [String]) throws -> Command {
        try ChildPrograms.thread.wait { try await run(words) }
    }
}
