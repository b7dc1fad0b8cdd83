internal import FanfareProviders
internal import FanfareRecords
internal import FanfareStore
internal import PostgresClient

extension DatabaseCheckup {
    /// Checks whether the schema is this program's, which publications include it, and which queries lack rows.
    func schemaItems(version: Int) throws(PostgresError) -> [CheckItem] {
        let isOwn = try connection.run(SQL.isLoadedFrom(Schema.sql)).first ?? nil
        let item = Self.schemaItem(version: version, isOwn: isOwn)
        // Another program's schema may lack functions that these checks call.
        guard isOwn != false else { return [item] }
        return [item] + (try publicationItems()) + (try hiddenItems()) + (try authorsItems())
    }

    private static func schemaItem(version: Int, isOwn: Bool?) -> CheckItem {
        let newest = Schema.versions.upperBound
        let text = "version \(version)"
        if version < newest {
            let detail = "\(text), this program brings \(newest)"
            // A daemon refuses what lacks tables and columns that it reads.
            let level: CheckItem.Level = Schema.versions.contains(version) ? .warn : .fail
            return CheckItem(level, "schema", detail, advice: "Run `fanfare migrate`.")
        }
        return switch isOwn {
        case true?: CheckItem(.ok, "schema", text)
        case nil: CheckItem(.ok, "schema", "\(text), loaded by psql: its text is not known")
        case false?:
            CheckItem(
                .warn,
                "schema",
                "\(text), loaded by another program",
                advice: "Run `fanfare migrate` of the newest Fanfare."
            )
        }
    }

    /// Checks authors' queries: those of rules and campaigns are read-only and have time limits, but can still fill the
    /// server's disk.
    private func authorsItems() throws(PostgresError) -> [CheckItem] {
        guard let limits = try connection.run(SQL.authorsLimits()).first else { return [] }
        var items: [CheckItem] = []
        if !limits.hasFileLimit {
            items.append(
                CheckItem(
                    .warn,
                    "temp_file_limit",
                    "none: a query of a rule or campaign may fill the server's disk",
                    advice: "ALTER DATABASE … SET temp_file_limit = '10GB', as a superuser."
                )
            )
        }
        if limits.mayWriteWAL {
            items.append(
                CheckItem(
                    .warn,
                    "pg_logical_emit_message",
                    "PUBLIC may execute it: a query of a rule or campaign may write WAL",
                    advice: "REVOKE EXECUTE ON FUNCTION pg_logical_emit_message … FROM PUBLIC; see Operation."
                )
            )
        }
        return items
    }

    private func publicationItems() throws(PostgresError) -> [CheckItem] {
        try connection.run(SQL.publications()).map { name in
            CheckItem(
                .warn,
                "publication \(name)",
                "includes tables of the schema fanfare: PostgreSQL decodes and sends every change of the queues",
                advice: "Publish your own tables only: FOR TABLE, or FOR TABLES IN SCHEMA public."
            )
        }
    }

    private func hiddenItems() throws(PostgresError) -> [CheckItem] {
        try connection.run(SQL.hiddenTables()).map { place, table in
            CheckItem(
                .warn,
                place,
                "row-level security of \(table) hides rows from fanfare_sql",
                advice: "CREATE POLICY fanfare ON \(table) FOR SELECT TO fanfare_sql USING (true);"
            )
        }
    }
}
