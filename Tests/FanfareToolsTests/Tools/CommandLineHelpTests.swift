import Foundation
import Programs
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareCore
@testable import FanfareLogging
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages

/// The program's help texts.
@Suite struct CommandLineHelpTests {
    @Test(arguments: [
        (["emti", "t"], "`fanfare emti`; did you mean `fanfare emit`?"),
        (["rules", "aply", "x.yaml"], "`fanfare rules aply`; did you mean `fanfare rules apply`?"),
        (["help", "devices", "lits"], "`fanfare devices lits`; did you mean `fanfare devices list`?"),
        (["nonsense"], "`fanfare nonsense`"),
    ])
    func anUnknownCommandIsNamedWithTheOneThatWasMeant(arguments: [String], named: String) async throws {
        let program = try FanfareBinary.path()
        let process = try await ProgramProcess(program, arguments)
        var errors: [String] = []
        for await line in process.errors { errors.append(line) }
        #expect(await process.exitStatus() == 64)
        #expect(errors.first == "fanfare: there is no command \(named)")
        #expect(errors.last?.hasPrefix("  fix: `fanfare help") == true)
    }

    @Test func globalOptionsStandOnceInHelp() async throws {
        for words in [["status"], ["devices", "list"], ["topics", "subscribe"], ["channels", "create"]] {
            let program = try FanfareBinary.path()
            let process = try await ProgramProcess(program, ["help"] + words)
            var help: [String] = []
            for await line in process.output { help.append(line) }
            #expect(help.count { $0 == "GLOBAL OPTIONS:" } == 1, "\(words)")
            for option in ["--database-url", "--log-level", "--log-format", "--json"] {
                #expect(help.count { $0.contains(option) } == 1, "\(words) \(option)")
            }
        }
    }

    @Test(arguments: ["bash", "zsh", "fish"]) func completionsAreMade(shell: String) async throws {
        let made = try await fanfare("--generate-completion-script", shell)
        #expect(made.status == 0)
        let script = made.output.joined(separator: "\n")
        #expect(script.contains("resume-pruning") && script.contains("config"))
        #expect(!script.contains("manual"), "it is hidden")
    }

    @Test func allOfItIsInstalled() async throws {
        try await withNewFolder { folder in
            let script = URL(filePath: #filePath).deletingLastPathComponent()
                .appending(path: "../../../deploy/install.sh").standardized.path
            let environment = ["PROGRAM": try FanfareBinary.path(), "DESTDIR": folder, "PREFIX": "/opt/fanfare"]
            let process = try await ProgramProcess(script, [], environment: environment)
            #expect(await process.exitStatus() == 0)
            let prefix = folder + "/opt/fanfare"
            for file in [
                "bin/fanfare", "share/man/man1/fanfare.1", "share/bash-completion/completions/fanfare",
                "share/zsh/site-functions/_fanfare", "share/fish/vendor_completions.d/fanfare.fish",
                "share/doc/fanfare/README.md", "share/doc/fanfare/Operation.md",
                "share/doc/fanfare/deploy/alerts.yaml", "share/doc/fanfare/deploy/prometheus.yaml",
                "share/doc/fanfare/deploy/grafana-dashboard.json", "share/doc/fanfare/deploy/examples/backend.py",
                "share/doc/fanfare/deploy/examples/browser/page.js",
            ] {
                let size = try FileManager.default.attributesOfItem(atPath: "\(prefix)/\(file)")[.size] as? NSNumber
                #expect((size?.intValue ?? 0) > 1000, "\(file)")
            }
            let readme = try String(contentsOfFile: prefix + "/share/doc/fanfare/README.md", encoding: .utf8)
            #expect(readme.contains("](Operation.md)") && !readme.contains(".docc/"), "the articles lie beside it")
            let alerts = try String(contentsOfFile: prefix + "/share/doc/fanfare/deploy/alerts.yaml", encoding: .utf8)
            #expect(alerts.matches(of: /runbook_url: file:\/\/\/opt\/fanfare\/share\/doc\/fanfare\//).count == 9)
            #expect(!alerts.contains("/usr/local/"))
            let unit = try String(contentsOfFile: prefix + "/lib/systemd/system/fanfare.service", encoding: .utf8)
            #expect(unit.contains("\nExecStart=/opt/fanfare/bin/fanfare serve "))
            let units = try FileManager.default.contentsOfDirectory(atPath: prefix + "/lib/systemd/system").sorted()
            #expect(units == ["fanfare-campaign@.service", "fanfare-campaign@.timer", "fanfare.service"])
        }
    }

    @Test func theManualHasEveryCommandAndOption() async throws {
        let dump = try JSONValue(
            parsing: try await fanfare("--experimental-dump-help").output.joined(separator: "\n")
        )
        let page = try await fanfare("manual").output
        #expect(page.first?.hasPrefix(".TH FANFARE 1 ") == true)
        var commands = 0
        func look(at command: JSONValue, after words: String) {
            for inner in command["subcommands"]?.arrayValue ?? [] where inner["shouldDisplay"]?.boolValue != false {
                let name = "\(words) \(inner["commandName"]?.stringValue ?? "")".replacing("-", with: "\\-")
                guard !name.hasSuffix(" help") else { continue }
                commands += 1
                #expect(inner["abstract"]?.stringValue?.isEmpty == false, "\(name) says what it does")
                #expect(page.contains { $0 == ".SS \(name)" || $0.hasPrefix(".SS \(name) ") }, "\(name)")
                for argument in inner["arguments"]?.arrayValue ?? [] {
                    for option in argument["names"]?.arrayValue ?? [] where option["kind"] == "long" {
                        let word = (option["name"]?.stringValue ?? "").replacing("-", with: "\\-")
                        guard !["help", "version"].contains(word) else { continue }
                        #expect(page.contains { $0.contains("\\-\\-\(word)\\fR") }, "\(name) --\(word)")
                    }
                }
                look(at: inner, after: name)
            }
        }
        look(at: try #require(dump["command"]), after: "fanfare")
        #expect(commands > 30)
        for code in ["0", "1", "64", "69", "78", "130", "143"] { #expect(page.contains("\\fB\(code)\\fR")) }
    }
}

@Suite struct TerminalStyleTests {
    @Test func escapesAreForTerminalsThatWantThem() {
        func style(_ isTerminal: Bool, _ environment: [String: String]) -> [Bool] {
            let style = TerminalStyle(isTerminal: isTerminal, environment: environment)
            return [style.obeysEscapes, style.isColoured]
        }
        #expect(style(true, ["TERM": "xterm"]) == [true, true])
        #expect(style(true, ["TERM": "xterm", "NO_COLOR": "1"]) == [true, false])
        #expect(style(true, ["TERM": "xterm", "NO_COLOR": ""]) == [true, true])
        #expect(style(true, ["TERM": "dumb"]) == [false, false])
        #expect(style(true, [:]) == [false, false])
        #expect(style(false, ["TERM": "xterm"]) == [false, false])
    }

    /// `script`, of util-linux, runs the program on a pseudo-terminal.
    @Test(arguments: [("xterm", "", true), ("dumb", "", false), ("xterm", "1", false)])
    func theLogOnATerminalIsColouredWhereThatIsWanted(term: String, noColour: String, isColoured: Bool) async throws {
        let command = "\(try FanfareBinary.path()) serve --log-format text --wait-for-database 1s"
        let environment = ["TERM": term, "NO_COLOR": noColour, "DATABASE_URL": "postgres://127.0.0.1:1/app"]
        let process = try await ProgramProcess(
            "/usr/bin/script",
            ["-qec", command, "/dev/null"],
            environment: environment
        )
        var output: [String] = []
        for await line in process.output { output.append(line) }
        #expect(await process.exitStatus() == 69)
        #expect(output.contains { $0.contains("starting") })
        #expect(output.contains { $0.contains("\u{1B}[") } == isColoured)
    }
}
