import FanfareConfiguration
internal import FanfareCore
internal import FanfareRecords
internal import FanfareStore
internal import FanfareTools
import Foundation

/// The address of the daemon's HTTP API, and a token with all scopes.
struct DevAPI: Sendable {
    /// The host's address.
    let host: String
    /// The port.
    let port: Int
    /// The token's text.
    let token: String
    /// The path of the file with the token.
    let tokenFile: String

    /// The console's address with the token, which begins a session.
    var consoleAddress: String { "http://\(host):\(port)/login?token=\(token)" }

    /// Creates a token, and stores it in a file that only its owner can read.
    ///
    /// - Parameters:
    ///   - address: the daemon's address.
    ///   - configuration: the configuration of the database.
    ///   - directory: the folder for the file.
    /// - Returns: the address and the token.
    /// - Throws: the error of creating the token or the file.
    static func open(
        at address: (host: String, port: Int),
        _ configuration: Configuration,
        in directory: String
    ) async throws -> DevAPI {
        let request = APITokenRequest(name: "dev", scopes: TokenScope.allCases)
        let database = try ToolDatabase(configuration, environment: [:])
        let token = try await database.whileOpen { database throws(ToolError) in
            // The token of the last run is in no file any more.
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
