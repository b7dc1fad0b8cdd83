import Foundation
import Programs
import TestKit

/// Runs the program until it exits.
///
/// - Parameters:
///   - arguments: its command line.
///   - environment: added variables; without `DATABASE_URL`, the URL of a server that does not exist is set.
///   - directory: the working directory; nil for the current one.
///   - input: its standard input.
/// - Returns: its exit status and the lines it wrote.
func fanfare(
    _ arguments: String...,
    environment: [String: String] = [:],
    directory: String? = nil,
    input: String = ""
) async throws -> (status: Int32, output: [String], errors: [String]) {
    try await fanfare(arguments, environment: environment, directory: directory, input: input)
}

/// Runs the program with its arguments in a list.
func fanfare(
    _ arguments: [String],
    environment: [String: String] = [:],
    directory: String? = nil,
    input: String = ""
) async throws -> (status: Int32, output: [String], errors: [String]) {
    let environment = ["DATABASE_URL": "postgres://127.0.0.1:1/app"].merging(environment) { $1 }
    let program = try FanfareBinary.path()
    let command = try await Command.run(
        [program] + arguments,
        input: input,
        environment: environment,
        directory: directory
    )
    func lines(_ text: String) -> [String] {
        text.components(separatedBy: "\n").dropLast(text.hasSuffix("\n") || text == "" ? 1 : 0)
    }
    return (command.status, lines(command.output), lines(command.errors))
}

/// Runs a body with a new folder, which is deleted afterwards.
func withNewFolder(_ body: (String) async throws -> Void) async throws {
    let folder = NSTemporaryDirectory() + "fanfare-cli-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try await body(folder)
}
