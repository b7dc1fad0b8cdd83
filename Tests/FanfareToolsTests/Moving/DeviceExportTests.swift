import Foundation
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareMoving
@testable import FanfareTools

/// The content of exports, the rights that they need, and the import of what was exported.
@Suite(.database)
struct DeviceExportTests {
    @Test func registrarsImportAndReadersExport() async throws {
        try await withNewFolder { folder in
            try await withRole(in: "fanfare_registrar") { role in
                var importer = TestImporter(folder)
                importer.user = role
                importer.request.resumes = true
                let tally = try await importer.run("fcm_token,topics\nt1,news;sport\n")
                #expect(tally.new == 1)
            }
            try await withRole(in: "fanfare_reader") { role in
                let text = try await exported(user: role) { _ in }
                #expect(text.contains("fcm,production") && text.contains("news;sport") && !text.contains("t1"))
                await #expect(throws: ToolError.self) { try await exported(user: role) { $0.withTokens = true } }
            }
        }
    }

    private func exported(
        _ app: String = "shop",
        user: String? = nil,
        _ change: (inout DeviceExport) -> Void
    ) async throws -> String {
        var export = DeviceExport(app: app)
        change(&export)
        var bytes: [UInt8] = []
        _ = try await toolDatabase(user: user).whileOpen { [export] database throws(ToolError) in
            try await export.run(on: database) { part throws(ToolError) in bytes += part }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test(arguments: DeviceExport.Format.allCases)
    func whatIsExportedIsImportedAsItWas(format: DeviceExport.Format) async throws {
        try sql(
            """
            SELECT fanfare.subscribe(fanfare.register_device('shop', 'apns', 'AB01', E'ann, "the\nfirst"', locale => 'es-MX',
                environment => 'sandbox', kind => 'voip', time_zone => 'Europe/Madrid',
                attributes => '{"a": [1.50, {"b": "ü,\\"\\n"}]}'), 'news')
            """
        )
        try sql(
            "SELECT fanfare.register_device('shop', 'webpush', 'https://x.example/1', p256dh => $1, auth => $2)",
            SampleSubscription.p256dh,
            SampleSubscription.auth
        )
        try sql("SELECT fanfare.register_device('shop', 'fcm', 't' || n) FROM generate_series(1, 5) AS n")
        try sql("SELECT fanfare.register_device('shop', 'fcm', 't1', permission => 'denied', presents => '{}')")
        try sql(
            "SELECT fanfare.register_device('shop', 'fcm', 't5', permission => 'authorized', presents => '{badge,alert}')"
        )
        try sql("SELECT fanfare.register_device('shop', 'fcm', 'id4', replaces => 't4', address => 'fid')")
        try sql("SELECT fanfare.unregister_device('shop', 'fcm', 't2')")
        try sql(
            "SELECT fanfare.register_device('shop', 'fcm', 't3', 'ann'), fanfare.register_device('shop', 'fcm', 't3', 'bob')"
        )
        try await withNewFolder { folder in
            let first = try await exported {
                ($0.format, $0.withTokens, $0.includesDisabled) = (format, true, true)
            }
            var importer = TestImporter(folder)
            importer.request.app = "copy"
            importer.request.includesDisabled = true
            let tally = try await importer.run(first)
            #expect(tally.new == tally.read && tally.read == 7)
            let second = try await exported("copy") {
                ($0.format, $0.withTokens, $0.includesDisabled) = (format, true, true)
            }
            // Without ids.
            func plain(_ text: String) -> [String] {
                text.replacing(/(?m)^(\d+|\{"device_id":\d+),/, with: "").split(separator: "\n").map(String.init)
            }
            #expect(plain(first) == plain(second))
            importer.request.app = "shop"
            let same = try await importer.run(first)
            #expect(same.unchanged == 7, "and changes nothing where it came from")
            let enabled = try await exported { $0.provider = "fcm" }
            #expect(enabled.split(separator: "\n").count == 5 && !enabled.contains("t1"))
        }
        let error = await #expect(throws: ToolError.self) { try await exported("shoop") { _ in } }
        #expect(error?.hint == "Did you mean shop?")
    }
}
