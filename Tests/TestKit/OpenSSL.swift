import Foundation
import Programs

/// A temporary folder and the `openssl` command, which creates keys and certificates as operators do, and checks signatures.
public final class OpenSSL: Sendable {
    /// The working directory of the command; deleted with this object.
    public let folder: String

    /// Creates the folder.
    public init() throws {
        folder = NSTemporaryDirectory() + "fanfare-openssl-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    /// Runs `openssl` until it exits.
    ///
    /// - Parameters:
    ///   - arguments: its arguments.
    ///   - folder: the working directory; nil for the current one.
    /// - Throws: its errors.
    public static func run(_ arguments: [String], in folder: String? = nil) async throws {
        let command = try await Command.run(["openssl"] + arguments, directory: folder)
        guard command.status == 0 else {
            throw ProgramError(message: "openssl \(arguments.joined(separator: " ")): \(command.errors)")
        }
    }

    /// Runs `openssl` in the folder.
    public func run(_ arguments: [String]) async throws { try await Self.run(arguments, in: folder) }

    /// Returns the path of a file in the folder.
    public func path(_ name: String) -> String { folder + "/" + name }

    /// Writes a file that only its owner may read, unless another mode is given, and returns its path.
    @discardableResult
    public func write(_ name: String, _ bytes: [UInt8], mode: Int = 0o600) throws -> String {
        try Data(bytes).write(to: URL(fileURLWithPath: path(name)))
        try setMode(name, mode)
        return path(name)
    }

    /// Writes a text to a file that only its owner may read, and returns its path.
    @discardableResult
    public func write(_ name: String, _ text: String) throws -> String { try write(name, Array(text.utf8)) }

    /// Reads a file.
    public func read(_ name: String) throws -> [UInt8] {
        try [UInt8](Data(contentsOf: URL(fileURLWithPath: path(name))))
    }

    /// Sets the permissions of a file.
    public func setMode(_ name: String, _ mode: Int) throws {
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path(name))
    }

    /// Creates a private key with `openssl genpkey`, and returns its path.
    @discardableResult
    public func makeKey(_ name: String, _ options: [String] = p256) async throws -> String {
        try await run(["genpkey", "-out", name] + options)
        try setMode(name, 0o600)
        return path(name)
    }

    /// The options for a P-256 key.
    public static let p256 = ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"]
}
