import Subprocess
import SystemPackage
public import Threading

/// How programs are started: in a process group of their own, and killed when this process ends, `kill -9` included.
public enum ChildPrograms {
    /// Runs the tasks that start programs and read their output, even if all threads of Swift's pool are blocked.
    public static let thread = TaskThread(name: "programs")

    /// Returns how to start a program.
    ///
    /// - Parameters:
    ///   - words: the program, searched in PATH if it has no slash, and its arguments.
    ///   - environment: changes of this process's variables; nil removes one.
    ///   - directory: the working directory; nil for the current one.
    /// - Returns: the configuration.
    static func configuration(
        _ words: [String],
        environment: [String: String?] = [:],
        directory: String? = nil
    ) -> Configuration {
        var options = PlatformOptions()
        // Ctrl-C on the terminal is for this process.
        options.processGroupID = 0
        let changes = environment.map { (Environment.Key(stringLiteral: $0), $1) }
        return Configuration(
            // The kernel sends this signal when the thread that started the program ends. Subprocess starts all on one
            // thread, which lasts as long as this process.
            executable: .name("setpriv"),
            arguments: Arguments(["--pdeathsig", "KILL", "--"] + words),
            environment: .inherit.updating(Dictionary(uniqueKeysWithValues: changes)),
            workingDirectory: directory.map { FilePath($0) },
            platformOptions: options
        )
    }
}

extension TerminationStatus {
    /// The number that a shell shows: the exit status, or 128 + n after signal n.
    var number: Int32 {
        switch self {
        case .exited(let code): code
        case .signaled(let signal): 128 + signal
        }
    }
}
