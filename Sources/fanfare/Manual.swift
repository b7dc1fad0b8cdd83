import ArgumentParser
import FanfareConfiguration
import FanfareCore
import FanfareService

/// `fanfare manual`: prints the manual page.
///
/// Hidden from help: a tool for packaging the program.
struct Manual: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Print the manual page fanfare(1).",
        shouldDisplay: false
    )

    func run() throws {
        print(ManualPage(try JSONValue(parsing: Fanfare._dumpHelp())).text)
    }
}

/// The manual page, generated from the parser's description of all commands, in the macros of man(7).
struct ManualPage {
    private let root: JSONValue

    /// - Parameter dump: the output of `--experimental-dump-help`.
    init(_ dump: JSONValue) {
        root = dump["command"] ?? .null
    }

    /// The page's source.
    var text: String {
        let head = [
            #".TH FANFARE 1 "" "fanfare \#(Program.version)" "User Commands""#, ".SH NAME",
            "fanfare \\- \(Self.escaped(root.text("abstract")))", ".SH SYNOPSIS", ".B fanfare",
            #"\fIcommand\fR [\fIoption\fR ...]"#, ".SH COMMANDS",
        ]
        let global = [".SH GLOBAL OPTIONS", "Taken by each command that works on a database or a configuration."]
        let lines = head + root.list("subcommands").flatMap { commands($0, after: "fanfare") } + global
        return (lines + globalOptions.flatMap(item) + Self.tail).joined(separator: "\n")
    }

    private func commands(_ command: JSONValue, after words: String) -> [String] {
        let name = "\(words) \(command.text("commandName"))"
        guard command["shouldDisplay"]?.boolValue != false, command.text("commandName") != "help" else { return [] }
        let inner = command.list("subcommands").flatMap { commands($0, after: name) }
        let own = arguments(of: command).filter { $0.text("sectionTitle") != GlobalOptions.title }
        // A group without options of its own is described by its members.
        let positional = own.filter { $0.text("kind") == "positional" }.map {
            " \\fI\(Self.escaped($0.text("valueName")))\\fR"
        }
        var lines = [".SS \(Self.escaped(name))\(positional.joined())", Self.escaped(command.text("abstract"))]
        lines += command.text("discussion").split(separator: "\n").flatMap { [".PP", Self.escaped(String($0))] }
        return lines + own.flatMap(item) + inner
    }

    /// The options that all commands share, taken from the first command that has them.
    private var globalOptions: [JSONValue] {
        let all = root.list("subcommands").map { command in
            arguments(of: command).filter { $0.text("sectionTitle") == GlobalOptions.title }
        }
        return all.first { !$0.isEmpty } ?? []
    }

    private func arguments(of command: JSONValue) -> [JSONValue] {
        command.list("arguments").filter { $0["shouldDisplay"]?.boolValue != false && !$0.isBuiltIn }
    }

    private func item(_ argument: JSONValue) -> [String] {
        let value = "\\fI\(Self.escaped(argument.text("valueName")))\\fR"
        let names = argument.list("names").map { name in
            let dashes = name.text("kind") == "long" ? "--" : "-"
            return "\\fB\(Self.escaped(dashes + name.text("name")))\\fR"
        }
        let label =
            names.isEmpty
            ? value : names.joined(separator: ", ") + (argument.text("kind") == "option" ? " \(value)" : "")
        let standard = argument.text("defaultValue")
        let note = standard.isEmpty ? "" : " (default: \(standard))"
        return [".TP", label, Self.escaped(argument.text("abstract") + note)]
    }

    /// Escapes the characters that roff reads as requests, escapes or hyphens.
    static func escaped(_ text: String) -> String {
        let line = text.replacing("\n", with: " ").replacing("\\", with: "\\e").replacing("-", with: "\\-")
        return line.hasPrefix(".") || line.hasPrefix("'") ? "\\&" + line : line
    }

    private static let tail =
        [
            ".SH ENVIRONMENT", ".TP", "\\fBDATABASE_URL\\fR", escaped("The database, if no flag names one."), ".TP",
            "\\fB\(ConfigurationFile.variable)\\fR", escaped("The configuration file, if no flag names one."), ".TP",
            "\\fBFANFARE_\\fIKEY\\fR",
            escaped(
                "A key of the configuration: its path in capitals, with __ between levels, such as FANFARE_LOG__LEVEL."
            ),
            ".TP", "\\fBNO_COLOR\\fR, \\fBTERM\\fR", escaped("No colours where the one is set or the other is dumb."),
            ".SH FILES",
        ]
        + ConfigurationFile.places.flatMap {
            [".TP", "\\fI\(escaped($0))\\fR", "The configuration, if nothing names one."]
        } + [
            ".SH EXIT STATUS"
        ] + ExitStatus.meanings.flatMap { [".TP", "\\fB\($0.code)\\fR", escaped($0.meaning)] }
}

extension JSONValue {
    fileprivate func text(_ key: String) -> String { self[key]?.stringValue ?? "" }

    fileprivate func list(_ key: String) -> [JSONValue] { self[key]?.arrayValue ?? [] }

    /// Whether the parser adds the option to every command.
    fileprivate var isBuiltIn: Bool {
        list("names").contains { ["help", "version"].contains($0.text("name")) }
    }
}
