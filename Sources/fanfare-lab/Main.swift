import ArgumentParser
import FanfareService
import FanfareTools
import Foundation
import PushSandbox

/// The program: runs a command, and turns errors into messages and exit codes as `fanfare` does.
@main
enum Main {
    static func main() async {
        do {
            var command = try Lab.parseAsRoot()
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch {
            end(with: error)
        }
    }

    private static func end(with error: any Error) -> Never {
        guard Lab.exitCode(for: error) == .failure, !(error is ExitCode) else { Lab.exit(withError: error) }
        let failure = (error as? SandboxError).map { ToolError($0) } ?? ToolError(error)
        FileHandle.standardError.write(Data("fanfare: \(failure.description)\n".utf8))
        exit(failure.exitCode)
    }
}
