package import PostgresClient

/// Calls `fanfare.import_devices`.
package struct ImportDevices: PostgresStatement {
    /// The result for one row.
    package struct Outcome: Sendable {
        /// The row's number, from 1.
        package let number: Int64
        /// `new`, `updated`, `unchanged`, `refused`, `older`, `ended` or `alive`.
        package let outcome: String
        /// The field that the reason is about.
        package let field: String?
        /// Why it was refused, or which value it was registered without.
        package let reason: String?
    }

    package static let name = "import_devices"
    package static let sql =
        "SELECT number, outcome, field, reason FROM fanfare.import_devices($1, $2::jsonb, $3)"

    package let app: String
    package let devices: String
    package let isDryRun: Bool

    package init(app: String, devices: String, isDryRun: Bool) {
        self.app = app
        self.devices = devices
        self.isDryRun = isDryRun
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(app)
        binds.append(devices)
        binds.append(isDryRun)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Outcome {
        Outcome(
            number: try row.int64(0),
            outcome: try row.string(1),
            field: try row.string(orNil: 2),
            reason: try row.string(orNil: 3)
        )
    }
}

extension SQL {
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
}

/// Reads how far a file was imported.
package struct FindImport: PostgresStatement {
    /// The progress stored last.
    package struct Found: Sendable {
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

    package static let name = "find_import"
    package static let sql = """
        SELECT i.place, i.line, i.counts::text, i.finished_at IS NOT NULL, i.started_at
        FROM fanfare.imports AS i
        WHERE i.app = $1 AND i.fingerprint = $2
        """

    package let app: String
    package let fingerprint: [UInt8]

    package init(app: String, fingerprint: [UInt8]) {
        self.app = app
        self.fingerprint = fingerprint
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(app)
        binds.append(fingerprint)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Found {
        Found(
            place: try row.int64(0),
            line: try row.int64(1),
            counts: try row.string(2),
            isFinished: try row.bool(3),
            startedAt: try row.timestamp(4)
        )
    }
}
