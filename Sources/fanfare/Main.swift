import ArgumentParser
import FanfareService
import Foundation
import PushSandbox

/// The program: runs one command, and turns what went wrong into a message and an exit code.
@main
enum Main {
    static func main() async {
        do {
            let arguments = Array(CommandLine.arguments.dropFirst())
            if let unknown = UnknownCommand(in: arguments, of: Fanfare.self) { throw unknown.error }
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
        let code = Fanfare.exitCode(for: error)
        guard code == .failure, !(error is ExitCode) else {
            let message = HelpText.shortened(Fanfare.fullMessage(for: error))
            let output = code.isSuccess ? FileHandle.standardOutput : .standardError
            if !message.isEmpty { output.write(Data((message + "\n").utf8)) }
            exit(code.rawValue)
        }
        let failure = (error as? SandboxError).map { ToolError($0) } ?? ToolError(error)
        FileHandle.standardError.write(Data("fanfare: \(failure.description)\n".utf8))
        exit(failure.exitCode)
    }
}
