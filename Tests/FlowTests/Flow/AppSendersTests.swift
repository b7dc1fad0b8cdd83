import Foundation
import Logging
import TestKit
import Testing
import Threading

@testable import DaemonKit
@testable import FanfareConfiguration
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages

/// When an app counts as changed: by its configuration keys and by the content of the files named there.
@Suite(.flowSandbox, .database)
struct AppSendersTests {
    @Test func aKeyReplacedUnderItsOldNameIsSeen() async throws {
        let apps = try Flow.idle().configuration().apps
        let folder = NSTemporaryDirectory() + "fanfare-key-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var shop = try #require(apps["shop"]?.apns)
        let key = folder + "/key.p8"
        try FileManager.default.copyItem(atPath: shop.keyFile, toPath: key)
        shop.keyFile = key
        let first = try read(shop)
        #expect(try read(shop, before: first) === first)

        try FileManager.default.removeItem(atPath: key)
        try await OpenSSL.run(["genpkey", "-out", key] + OpenSSL.p256)
        let second = try read(shop, before: first)
        #expect(second !== first)
        #expect(try token(of: second) != token(of: first))
    }

    @Test func aCAReplacedUnderItsOldNameIsSeen() throws {
        var shop = try #require(try Flow.idle().configuration().apps["shop"]?.apns)
        let copy = NSTemporaryDirectory() + "fanfare-ca-\(UUID().uuidString.prefix(8)).pem"
        defer { try? FileManager.default.removeItem(atPath: copy) }
        try FileManager.default.copyItem(atPath: #require(shop.caFile), toPath: copy)
        shop.caFile = copy
        let first = try read(shop)
        let text = try String(contentsOfFile: copy, encoding: .utf8)
        try (text + text).write(toFile: copy, atomically: true, encoding: .utf8)
        #expect(try read(shop, before: first) !== first)
    }

    @Test func anotherTopicKeepsTheProvidersToken() throws {
        var shop = try #require(try Flow.idle().configuration().apps["shop"]?.apns)
        let first = try read(shop)
        shop.topic = "com.example.other"
        let second = try read(shop, before: first)
        #expect(second !== first)
        #expect(try token(of: second) == token(of: first), "APNs would refuse one that changes so soon")
        shop.keyID = "ZZZZZZZZZZ"
        #expect(try token(of: read(shop, before: second)) != token(of: first))
    }

    private func read(_ shop: APNsSettings, before: AppSenders? = nil) throws -> AppSenders {
        let read = try AppSenders.read(
            ["shop": Configuration.App(shop)],
            before: before.map { ["shop": $0] } ?? [:],
            send: Configuration.Send(),
            environment: [:],
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        return try #require(read["shop"])
    }

    private func token(of app: AppSenders) throws -> String {
        let credential = try #require(app.pools.first).pool.access.credential(at: Clocks.steady, wall: Clocks.wall)
        return try #require(credential?.authorization)
    }
}
