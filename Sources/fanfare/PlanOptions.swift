import ArgumentParser

/// What the end of a plan says to a script.
struct PlanOptions: ParsableArguments {
    @Flag(help: "Exit with 1 if applying would change something.")
    var exitCode = false

    /// Ends the command as asked.
    ///
    /// - Parameter isEmpty: whether applying would change nothing.
    /// - Throws: an exit code of 1 if something would change and the code is asked for.
    func end(_ isEmpty: Bool) throws {
        if exitCode, !isEmpty { throw ExitCode.failure }
    }
}
