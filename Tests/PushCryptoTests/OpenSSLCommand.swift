import Foundation

/// A temporary folder and the `openssl` command, an independent maker and judge of keys.
final class OpenSSLCommand: Sendable {
    let folder: String

    init() throws {
        folder = NSTemporaryDirectory() + "fanfare-crypto-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    func path(_ name: String) -> String { folder + "/" + name }

    /// Runs `openssl` in the folder.
    func run(_ arguments: [String]) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["openssl"] + arguments
        process.currentDirectoryURL = URL(fileURLWithPath: folder)
        process.standardError = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Failure(arguments: arguments) }
    }

    /// Writes a file that only its owner may read, unless told otherwise.
    @discardableResult
    func write(_ name: String, _ bytes: [UInt8], mode: Int = 0o600) throws -> String {
        try Data(bytes).write(to: URL(fileURLWithPath: path(name)))
        try setMode(name, mode)
        return path(name)
    }

    func setMode(_ name: String, _ mode: Int) throws {
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path(name))
    }

    /// Makes a private key by `openssl genpkey`.
    func makeKey(_ name: String, _ options: [String]) throws -> String {
        try run(["genpkey", "-out", path(name)] + options)
        try setMode(name, 0o600)
        return path(name)
    }

    struct Failure: Error {
        let arguments: [String]
    }
}

let p256 = ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"]
let p384 = ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384"]
let rsa2048 = ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"]
