import ArgumentParser

/// The option for a plan's exit code.
struct PlanOptions: ParsableArguments {
    @Flag(help: "Exit with 1 if applying would change something.")
    var exitCode = false

    /// Ends the command with the requested exit code.
    ///
    /// - Parameter isEmpty: whether applying would change nothing.
    /// - Throws: exit code 1 if there are changes and the option is set.
    func end(_ isEmpty: Bool) throws {
        if exitCode, !isEmpty { throw ExitCode.failure }
    }
}
