import FanfareCore
import Foundation

@testable import APIKit
@testable import FanfareConfiguration

/// Two apps that accept phone tokens of their backends, `shop` and `bank`, and one that does not, `news`; pages of two
/// origins are listed.
final class PhoneWorld: Sendable {
    let shop = TokenForge()
    let bank = TokenForge()
    private let folder: URL

    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "fanfare-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try write(shop.keySet, "shop")
        try write(bank.keySet, "bank")
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    /// Runs a body with a server.
    ///
    /// - Parameter body: receives the server and the signer of `shop`.
    static func with(_ body: (APIWorld, TokenForge) async throws -> Void) async throws {
        let world = try PhoneWorld()
        try await APIWorld.with(world.configuration()) { try await body($0, world.shop) }
    }

    /// Returns the file with an app's keys.
    func file(_ app: String) -> URL { folder.appending(path: "\(app).json") }

    /// Replaces the file with an app's keys.
    func write(_ keySet: String, _ app: String, mode: Int = 0o600) throws {
        try Data(keySet.utf8).write(to: file(app), options: .atomic)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file(app).path)
    }

    /// Returns a configuration for the running test's database.
    ///
    /// - Parameter limit: a further line below `shop`'s `jwt`.
    func configuration(_ limit: String = "user_rate: 1000") throws -> Configuration {
        let provider = "fcm: { service_account_file: sa.json }"
        return try APIWorld.configuration(
            """
              phone_topics: [ "news.*", sport ]
              origins: [ "https://shop.example", "http://localhost:3000" ]
            apps:
              shop:
                \(provider)
                jwt:
                  jwks_file: \(file("shop").path)
                  \(limit)
              bank: { \(provider), jwt: { jwks_file: \(file("bank").path), user_rate: 1000 } }
              news: { \(provider) }
            """
        )
    }
}

/// The documentation's article on the HTTP API.
enum APIArticle {
    private static let file = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Sources/fanfare/Documentation.docc/HTTPAPI.md")

    /// Returns the article's text.
    static func text() throws -> String { try String(contentsOf: file, encoding: .utf8) }

    /// Replaces the article's text.
    static func write(_ text: String) throws { try text.write(to: file, atomically: true, encoding: .utf8) }
}
