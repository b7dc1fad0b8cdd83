package import PostgresClient

/// The result for one row of an import.
package struct ImportOutcome: Sendable {
    /// The row's number, from 1.
    package let number: Int64
    /// `new`, `updated`, `unchanged`, `refused`, `older`, `ended` or `alive`.
    package let outcome: String
    /// The field that the reason is about.
    package let field: String?
    /// Why it was refused, or which value it was registered without.
    package let reason: String?
}

/// How far a file was imported.
package struct StoredImport: Sendable {
    /// The offset of the next byte.
    package let place: Int64
    /// The number of the next line.
    package let line: Int64
    /// The counts, as they were stored.
    package let counts: String
    /// Whether the file was imported to its end.
    package let isFinished: Bool
    package let startedAt: Timestamp
}

extension SQL {
    /// Calls `fanfare.import_devices`.
    ///
    /// Binds: app, devices, isDryRun.
    package static let importDevices = Statement<ImportOutcome, String, String, Bool>(
        "import_devices",
        "SELECT number, outcome, field, reason FROM fanfare.import_devices($1, $2::jsonb, $3)",
        row: ImportOutcome.init
    )

    /// Calls `fanfare.note_import`.
    ///
    /// Binds: app, fingerprint, file, place, line, counts, isFinished.
    package static let noteImport = Statement<Void, String, [UInt8], String, Int64, Int64, String, Bool>(
        "note_import",
        "SELECT fanfare.note_import($1, $2, $3, $4, $5, $6::jsonb, $7)"
    )

    /// Deletes the progress of files of which nothing was imported for a month; another import of such a file starts over.
    package static let forgetImports = Statement<Void>(
        "forget_imports",
        """
        DELETE FROM fanfare.imports WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM fanfare.imports WHERE noted_at < statement_timestamp() - interval '30 days'
            LIMIT \(Forgetting.limit) FOR UPDATE SKIP LOCKED))
        """
    )

    /// Reads how far a file was imported.
    ///
    /// Binds: app, fingerprint.
    package static let findImport = Statement<StoredImport, String, [UInt8]>(
        "find_import",
        """
        SELECT i.place, i.line, i.counts::text, i.finished_at IS NOT NULL, i.started_at
        FROM fanfare.imports AS i
        WHERE i.app = $1 AND i.fingerprint = $2
        """,
        row: StoredImport.init
    )
}
