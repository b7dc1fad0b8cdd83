import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareProviders
@testable import FanfareStore
@testable import FanfareTools

/// The items of `check` for an existing schema.
@Suite(.database)
struct SchemaCheckTests {
    private func items() async throws -> [CheckItem] {
        await Checkup(try toolConfiguration(), environment: [:]).items(online: false)
    }

    private func schema() async throws -> CheckItem? {
        try await items().first { $0.name == "schema" }
    }

    @Test func anotherProgramsSchemaIsWarnedAbout() async throws {
        let version = "version \(Schema.versions.upperBound)"
        try sql("SELECT fanfare.adopt()")
        #expect(try await schema() == CheckItem(.ok, "schema", version))
        try sql("UPDATE fanfare.schema_version SET text_hash = 'another'")
        let foreign = CheckItem(
            .warn,
            "schema",
            "\(version), loaded by another program",
            advice: "Run `fanfare migrate` of the newest Fanfare."
        )
        #expect(try await schema() == foreign)
        try sql("UPDATE fanfare.schema_version SET text_hash = NULL")
        let unknown = try await schema()
        #expect(unknown?.level == .ok && unknown?.detail.hasSuffix("is not known") == true)
        try DatabaseSetup(toolConfiguration(), environment: [:]).migrate()
        #expect(try await schema() == CheckItem(.ok, "schema", version))
    }

    @Test func publishedQueuesAreWarnedAbout() async throws {
        try sql("SELECT fanfare.adopt()")
        try sql("CREATE TABLE public.orders (id int PRIMARY KEY)")
        try sql("CREATE PUBLICATION orders FOR TABLE public.orders")
        #expect(try await !items().contains { $0.name.hasPrefix("publication") })
        try sql("CREATE PUBLICATION everything FOR ALL TABLES")
        let item = try await items().first { $0.name == "publication everything" }
        #expect(item?.level == .warn && item?.detail.contains("every change of the queues") == true)
    }
}
