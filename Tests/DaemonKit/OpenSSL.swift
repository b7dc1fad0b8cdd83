import Foundation

/// A temporary folder and the `openssl` command, which creates keys and certificates as operators do.
final class OpenSSL: Sendable {
    let folder: String

    init() throws {
        folder = NSTemporaryDirectory() + "fanfare-openssl-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    func path(_ name: String) -> String { folder + "/" + name }

    /// Runs `openssl` in the folder.
    func run(_ arguments: String...) throws {
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

    /// Writes a file that only its owner may read.
    @discardableResult
    func write(_ name: String, _ text: String) throws -> String {
        try text.write(toFile: path(name), atomically: true, encoding: .utf8)
        try guardFile(name)
        return path(name)
    }

    func read(_ name: String) throws -> String { try String(contentsOfFile: path(name), encoding: .utf8) }

    func guardFile(_ name: String) throws {
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path(name))
    }

    /// Creates an EC key.
    func makeKey(_ name: String, curve: String = "P-256") throws {
        try run("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:\(curve)", "-out", name)
        try guardFile(name)
    }

    /// Creates `push.p12` for topic `com.example.shop`, with the password in `password`.
    func makeCertificate(days: Int) throws {
        try makeKey("push.key")
        try run(
            "req",
            "-x509",
            "-new",
            "-key",
            "push.key",
            "-out",
            "push.pem",
            "-days",
            "\(days)",
            "-subj",
            "/UID=com.example.shop/CN=Apple Push Services: com.example.shop"
        )
        try run(
            "pkcs12",
            "-export",
            "-in",
            "push.pem",
            "-inkey",
            "push.key",
            "-out",
            "push.p12",
            "-passout",
            "pass:secret"
        )
        try guardFile("push.p12")
        try write("password", "secret\n")
    }

    /// Creates `account.json`, a service account of a project.
    func makeServiceAccount(project: String) throws {
        try run("genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", "account.key")
        let fields = [
            "type": "service_account", "project_id": project, "client_email": "push@\(project).example",
            "private_key": try read("account.key"), "token_uri": "https://localhost:1/token",
        ]
        try write("account.json", String(decoding: JSONEncoder().encode(fields), as: UTF8.self))
    }

    struct Failure: Error {
        let arguments: [String]
    }
}
