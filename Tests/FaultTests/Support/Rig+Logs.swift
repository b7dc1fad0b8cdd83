import Foundation
import PostgresClient
import TestKit
import Testing
import Threading

extension Rig {
    /// Checks that no log line contains a token, a payload, a password or a key.
    func searchLogsForSecrets() async throws {
        let lines = log.withLock { $0 }
        #expect(!lines.isEmpty, "daemons log")
        var secrets = [Self.secret, Self.password, "PRIVATE KEY", "eyJ"]
        let folder = sandbox.ready.directory
        for file in try FileManager.default.contentsOfDirectory(atPath: folder)
        where file.hasSuffix(".p8") || file.hasSuffix(".pem") {
            let text = (try? String(contentsOfFile: folder + "/" + file, encoding: .utf8)) ?? ""
            secrets += text.split(separator: "\n").filter { $0.count > 30 }.map(String.init)
        }
        secrets += try await sql { connection in
            try connection.query("SELECT DISTINCT left(token, 12) FROM fanfare.devices").rows.compactMap { $0[0] }
        }
        for line in lines {
            // The line itself must not be shown.
            if let found = secrets.first(where: { line.contains($0) }) {
                Issue.record(
                    "a log line holds \(found == Self.secret ? "a payload" : "a secret of \(found.count) characters")"
                )
            }
        }
    }
}
