import ArgumentParser
import FanfareService
import FanfareTools
import Foundation

/// The program: runs one command, and turns an error into a message and an exit code.
@main
enum Main {
    static func main() async {
        do {
            let arguments = Array(CommandLine.arguments.dropFirst())
            if let unknown = UnknownCommand(in: arguments, of: Fanfare.self) { throw unknown.error }
            // The parser's help for these commands would be empty, because the other program parses their arguments.
            if arguments.first == "help", let name = arguments.dropFirst().first, Fanfare.isOfLab(name) {
                try LabProgram.become("help", Array(arguments.dropFirst()))
            }
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
        // The parser prints help, usage errors and exit codes that a command chose.
        let code = Fanfare.exitCode(for: error)
        guard code == .failure, !(error is ExitCode) else {
            let message = HelpText.shortened(Fanfare.fullMessage(for: error))
            let output = code.isSuccess ? FileHandle.standardOutput : .standardError
            if !message.isEmpty { output.write(Data((message + "\n").utf8)) }
            exit(code.rawValue)
        }
        let failure = ToolError(error).typed
        FileHandle.standardError.write(Data("fanfare: \(failure.description)\n".utf8))
        exit(failure.exitCode)
    }
}
