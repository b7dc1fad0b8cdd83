import ArgumentParser
import FanfareService
import Foundation

/// The program: runs one command, and turns what went wrong into a message and an exit code.
@main
enum Main {
    static func main() async {
        do {
            var command = try Fanfare.parseAsRoot()
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
        // Help, usage, and codes that a command chose itself are the parser's to print.
        guard Fanfare.exitCode(for: error) == .failure, !(error is ExitCode) else { Fanfare.exit(withError: error) }
        let failure = ToolError(error)
        FileHandle.standardError.write(Data("fanfare: \(failure.description)\n".utf8))
        exit(failure.exitCode)
    }
}
