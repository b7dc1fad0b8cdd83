import Foundation
import Testing

@testable import FanfareConfiguration
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages

@Suite struct ConfigurationSecretTests {
    static let marker = "hunter2"

    @Test(
        arguments: [
            ("postgres://app:hunter2@db/app", "postgres://app:***@db/app"),
            (
                "postgresql://app:hunter2@h1:5432,h2:5433/app?sslmode=require",
                "postgresql://app:***@h1:5432,h2:5433/app?sslmode=require"
            ),
            ("postgres://app:hunter2@db", "postgres://app:***@db"),
            ("postgres://app:hunter2@hunter2@db/app", "postgres://app:***@db/app"),
            ("postgres://app:hunter2/hunter2@db/app", "postgres://app:***@db/app"),
            ("postgres://app:hunter2?x@db/app", "postgres://app:***@db/app"),
            ("postgres://db/app?user=app&password=hunter2", "postgres://db/app?user=app&password=***"),
            ("postgres://db/app?PASSWORD=hunter2&a=b", "postgres://db/app?PASSWORD=***&a=b"),
            ("postgres://db/app?p%61ssword=hunter2", "postgres://db/app?p%61ssword=***"),
            ("host=db password=hunter2 dbname=app", "host=db password=*** dbname=app"),
            ("host=db password = 'hunter2 \\' hunter2' user=a", "host=db password=*** user=a"),
            ("dbname='postgres://app:hunter2@db/app'", "dbname=***"),
            ("host=db password='hunter2", "***"),
        ]
    ) func passwordsAreHidden(text: String, shown: String) {
        let url = DatabaseURL(text)
        #expect(url.description == shown)
        #expect(url.hasPassword)
        #expect(url.connectionString == text)
    }

    @Test(
        arguments: [
            "postgres:///app", "postgres://app@db:5432/app?application_name=a@b", "host=db dbname=app",
            "postgres://[::1]:5432/app", "postgres://db:5432/app", "postgres://%2Fvar%2Frun/app",
        ]
    ) func textsWithoutAPasswordStayAsTheyAre(text: String) {
        let url = DatabaseURL(text)
        #expect(url.description == text)
        #expect(!url.hasPassword)
    }

    @Test func noDescriptionShowsAPassword() throws {
        let loaded = try configuration("database: { url: 'postgres://app:\(Self.marker)@db/app' }")
        var dumped = ""
        dump(loaded, to: &dumped)
        let changes = loaded.changes(from: try configuration("database: { url: 'postgres:///app' }"))
        let texts = ["\(loaded)", String(reflecting: loaded), dumped, "\(changes)", "\(loaded.database.url)"]
        for text in texts + loaded.warnings { #expect(!text.contains(Self.marker)) }
        #expect(loaded.database.url.description == "postgres://app:***@db/app")
        #expect(loaded.warnings.first?.contains("database.password_file") == true)
        #expect(loaded.database.url.connectionString.contains(Self.marker))
    }

    @Test(
        arguments: [
            "database: { url: 'mysql://app:hunter2@db/app' }",
            "database: { url: 'hunter2' }",
            "database: { password: hunter2 }",
            "database: { url: ['hunter2'] }",
            "database: { url: 'postgres://${USER}:hunter2@db/app' }",
            "apps: { shop: { apns: { key_file: '-----BEGIN PRIVATE KEY-----hunter2' } } }",
            "database: { password_file: '${hunter' }\npassword: \"hunter2",
        ]
    ) func noErrorShowsASecret(yaml: String) {
        let found = problems(yaml, environment: [:])
        #expect(!found.isEmpty)
        for text in found { #expect(!text.contains(Self.marker)) }
    }

    @Test func passwordFilesMustNotBeReadByOthers() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "password").path
        try "\(Self.marker)\n".write(toFile: path, atomically: false, encoding: .utf8)
        let files = FileManager.default

        try files.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
        let untrusting = PasswordFile(environment: [:])
        #expect {
            try untrusting.password(at: path, for: "database.password_file")
        } throws: {
            "\($0)" == "\(path): database.password_file: may be read by everybody (mode 644)"
                && ($0 as? ConfigurationError)?.mend == "Run: chmod o= \(path)"
        }
        let trusting = PasswordFile(environment: ["CREDENTIALS_DIRECTORY": folder.path])
        #expect(try trusting.password(at: path, for: "database.password_file") == Self.marker)

        try files.setAttributes([.posixPermissions: 0o640], ofItemAtPath: path)
        #expect(try untrusting.password(at: path, for: "database.password_file") == Self.marker)

        let link = folder.appending(path: "link").path
        try files.createSymbolicLink(atPath: link, withDestinationPath: path)
        #expect(try untrusting.password(at: link, for: "k") == Self.marker)
        for bad in ["", "two\nlines\n", "\n"] {
            try bad.write(toFile: path, atomically: false, encoding: .utf8)
            #expect(throws: ConfigurationError.self) { try untrusting.password(at: path, for: "k") }
        }
        #expect {
            try untrusting.password(at: path + "x", for: "database.password_file")
        } throws: {
            "\($0)" == "\(path)x: database.password_file: there is no such file"
        }
        #expect(throws: ConfigurationError.self) { try untrusting.password(at: folder.path, for: "k") }
    }
}
