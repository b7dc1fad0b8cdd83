import ArgumentParser
import FanfareCore
import FanfareService
import FanfareTools

/// An unknown word in the place of a command.
struct UnknownCommand: Equatable {
    /// All words up to the unknown one, such as `rules aply`.
    let words: [String]
    /// The nearest command, such as `rules apply`; nil if none is near.
    let suggestion: String?

    /// Finds an unknown command among the arguments; nil if there is none, or only the parser can decide.
    ///
    /// - Parameters:
    ///   - arguments: the arguments, without the program's name.
    ///   - root: the command that they start at.
    init?(in arguments: [String], of root: any ParsableCommand.Type) {
        var command = root
        var words: [String] = []
        // `fanfare help rules` also names commands.
        for word in arguments.first == "help" ? arguments.dropFirst() : arguments[...] {
            let known = command.configuration.subcommands
            guard !known.isEmpty, command.configuration.defaultSubcommand == nil, !word.hasPrefix("-"), word != "help"
            else { return nil }
            guard let next = known.first(where: { $0._commandName == word }) else {
                let shown = known.filter { $0.configuration.shouldDisplay }.map { $0._commandName }
                suggestion = NearestName.suggestion(for: word, among: shown)
                    .map { (words + [$0]).joined(separator: " ") }
                self.words = words + [word]
                return
            }
            words.append(word)
            command = next
        }
        return nil
    }

    /// The error, exit code 64.
    var error: ToolError {
        let meant = suggestion.map { "; did you mean `fanfare \($0)`?" } ?? ""
        let group = words.dropLast().reduce("fanfare help") { $0 + " " + $1 }
        return ToolError(
            .usage,
            "there is no command `fanfare \(words.joined(separator: " ").printable)`\(meant)",
            hint: "`\(group)` lists all of them."
        )
    }
}
