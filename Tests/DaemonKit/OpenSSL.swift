import Foundation
import TestKit

extension OpenSSL {
    /// Creates `push.p12` for topic `com.example.shop`, with the password in `password`.
    func makeCertificate(days: Int) async throws {
        try await makeKey("push.key")
        let subject = "/UID=com.example.shop/CN=Apple Push Services: com.example.shop"
        try await run(
            ["req", "-x509", "-new", "-key", "push.key", "-out", "push.pem", "-days", "\(days)", "-subj", subject]
        )
        let files = ["-in", "push.pem", "-inkey", "push.key", "-out", "push.p12"]
        try await run(["pkcs12", "-export"] + files + ["-passout", "pass:secret"])
        try setMode("push.p12", 0o600)
        try write("password", "secret\n")
    }

    /// Creates `account.json`, a service account of a project.
    func makeServiceAccount(project: String) async throws {
        try await makeKey("account.key", ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"])
        let fields = [
            "type": "service_account", "project_id": project, "client_email": "push@\(project).example",
            "private_key": String(decoding: try read("account.key"), as: UTF8.self),
            "token_uri": "https://localhost:1/token",
        ]
        try write("account.json", Array(JSONEncoder().encode(fields)))
    }
}
