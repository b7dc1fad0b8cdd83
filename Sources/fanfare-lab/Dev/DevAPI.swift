import FanfareConfiguration
internal import FanfareCore
internal import FanfareStore
internal import FanfareTools
import Foundation

/// Where the daemon answers by HTTP, and a token that allows everything there.
struct DevAPI: Sendable {
    /// The host's address.
    let host: String
    /// The port.
    let port: Int
    /// The token's text.
    let token: String
    /// Path of the file that has it too.
    let tokenFile: String

    /// Where the console is, for who has the token: it begins a session.
    var consoleAddress: String { "http://\(host):\(port)/login?token=\(token)" }

    /// Makes a token, and keeps it where only its owner reads it.
    ///
    /// - Parameters:
    ///   - address: where the daemon listens.
    ///   - configuration: of the database.
    ///   - directory: for the file.
    /// - Returns: what to ask with.
    /// - Throws: why there is no token, or no file.
    static func open(
        at address: (host: String, port: Int),
        _ configuration: Configuration,
        in directory: String
    ) async throws -> DevAPI {
        let request = APITokenRequest(name: "dev", scopes: TokenScope.allCases)
        let database = try ToolDatabase(configuration, environment: [:])
        let token = try await database.whileOpen { database throws(ToolError) in
            // That of the last time is in no file any more.
            for row in try await database.tokens(onlyValid: true) where row.name == request.name {
                _ = try await database.revokeToken(row.id)
            }
            return try await database.createToken(request)
        }
        let file = directory + "/api-token"
        try? FileManager.default.removeItem(atPath: file)
        let isWritten = FileManager.default.createFile(
            atPath: file,
            contents: Data((token.text + "\n").utf8),
            attributes: [.posixPermissions: 0o600]
        )
        guard isWritten else { throw DevError(description: "\(file) cannot be written.") }
        return DevAPI(host: address.host, port: address.port, token: token.text, tokenFile: file)
    }
}
