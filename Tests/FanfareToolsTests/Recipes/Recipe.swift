import Foundation
import PostgresClient
import Programs
import TestKit
import Testing

@testable import DaemonKit

/// The code of one section of the cookbook, in the order in which a reader pastes it.
struct Recipe {
    /// One code block.
    struct Block {
        /// `sql`, `yaml`, `python` or `sh`.
        let language: String
        var text: String
    }

    let blocks: [Block]

    /// Reads the blocks of a section.
    ///
    /// - Parameter heading: a heading of the second level.
    init(_ heading: String) throws {
        let sections = try Documentation.text("Cookbook").components(separatedBy: "\n## \(heading)\n")
        let own = try #require(sections.dropFirst().first).components(separatedBy: "\n## ")[0]
        // Fences come in pairs, so every second part is a block, with its language in the first line.
        let parts = own.components(separatedBy: "```").enumerated().filter { !$0.offset.isMultiple(of: 2) }
        blocks = parts.map { part in
            let lines = part.element.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)
            return Block(language: String(lines[0]), text: lines.count > 1 ? String(lines[1]) : "")
        }
    }
}

/// The environment to try a recipe: the test's database, simulated providers, and a daemon of the built program for app
/// `shop`.
struct RecipeKitchen {
    let sandbox: SandboxProcess
    /// The address of the daemon's HTTP API.
    let api: String
    private let folder: String
    private let environment: [String: String]

    /// Starts the environment, runs a body, and stops it.
    static func open(_ body: (RecipeKitchen) async throws -> Void) async throws {
        try sql("SELECT fanfare.adopt()")
        let sandbox = try await SandboxProcess.start()
        let folder = sandbox.ready.directory
        let written = try String(contentsOfFile: sandbox.ready.configFile, encoding: .utf8)
        let file = folder + "/shop.yaml"
        try written.replacing("\"demo\":", with: "shop:").write(toFile: file, atomically: true, encoding: .utf8)
        let program = try FanfareBinary.path()
        let path = URL(filePath: program).deletingLastPathComponent().path + ":/usr/bin:/bin"
        let environment = [
            "DATABASE_URL": TestDatabase.current.url, "FANFARE_CONFIG": file, "FANFARE_API__LISTEN": "127.0.0.1:0",
            "PATH": path,
        ]
        let daemon = try await ProgramProcess(
            program,
            ["serve", "--json"],
            environment: environment,
            directory: folder
        )
        // Either comes first.
        var (listening, isReady) = (String?.none, false)
        for await line in daemon.errors {
            if line.contains("HTTP API listening") { listening = line }
            isReady = isReady || line.contains(#""msg":"ready""#)
            if listening != nil, isReady { break }
        }
        let address = try #require(listening?.firstMatch(of: /"listen":"([^"]+)"/)).1
        do {
            let kitchen = RecipeKitchen(
                sandbox: sandbox,
                api: "http://\(address)",
                folder: folder,
                environment: environment
            )
            try await body(kitchen)
        } catch {
            await daemon.stop()
            await sandbox.stop()
            throw error
        }
        #expect(await daemon.stop() == 0)
        await sandbox.stop()
        for await line in daemon.errors where line.contains(#""level":"warning""#) {
            Issue.record("the daemon was not content: \(line)")
        }
    }

    /// Runs SQL as psql does.
    func run(_ text: String) throws {
        let connection = try TestDatabase.current.connect()
        defer { connection.close() }
        // Fanfare's sessions use another search_path.
        try connection.execute("SET search_path = public")
        try connection.execute(text)
    }

    /// Executes a block as a reader would.
    ///
    /// - Parameters:
    ///   - block: the block.
    ///   - file: the file that receives YAML or a program.
    ///   - variables: variables that the reader sets.
    func follow(_ block: Recipe.Block, file: String, _ variables: [String: String] = [:]) async throws {
        switch block.language {
        case "sql": try run(block.text)
        case "yaml", "python": try block.text.write(toFile: "\(folder)/\(file)", atomically: true, encoding: .utf8)
        case "sh":
            let environment = environment.merging(variables) { $1 }
            let shell = try await ProgramProcess(
                "/bin/sh",
                ["-ec", block.text],
                environment: environment,
                directory: folder
            )
            var complaints: [String] = []
            for await line in shell.errors { complaints.append(line) }
            #expect(await shell.exitStatus() == 0, "\(block.text): \(complaints)")
        default: Issue.record("a recipe has a block of \(block.language)")
        }
    }

    /// Starts the program of a block, as a reader would in another terminal.
    ///
    /// - Parameter block: a command, with variables before it.
    /// - Returns: the program, to be stopped.
    func begin(_ block: Recipe.Block) async throws -> ProgramProcess {
        try await ProgramProcess(
            "/bin/sh",
            ["-ec", "exec env \(block.text)"],
            environment: environment,
            directory: folder
        )
    }
}
