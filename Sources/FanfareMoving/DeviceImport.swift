internal import FanfareCore
internal import FanfareStore
public import FanfareTools
internal import PostgresClient

/// The arguments of `fanfare devices import`.
public struct DeviceImportRequest: Sendable {
    /// The system that the file comes from.
    public enum Format: String, CaseIterable, Sendable {
        /// Determined by the columns.
        case auto
        /// Comma-separated values with a token per row.
        case csv
        /// JSON lines: an object per line.
        case jsonl
        /// A OneSignal export of subscriptions.
        case onesignal
        /// A table of FCM registration tokens, of any kind of device.
        case firebase
    }

    /// The app; created if it does not exist.
    public var app: String
    /// The system that the file comes from.
    public var format = Format.auto
    /// The column mappings of the command line.
    public var mappings: [ColumnMapping] = []
    /// The provider of rows that name none.
    public var provider: String?
    /// The environment of rows that name none.
    public var environment: String?
    /// The registration time of rows without one, in a form that ``ImportTime`` reads; nil for a time before all
    /// registrations that Fanfare knows.
    public var asOf: String?
    /// Whether devices that get nothing in the other system are imported as disabled.
    public var includesDisabled = false
    /// Whether to change nothing.
    public var isDryRun = false
    /// Whether to continue an import of the same file that stopped.
    public var resumes = false

    /// Makes a request with defaults.
    ///
    /// - Parameter app: the app.
    public init(app: String) {
        self.app = app
    }

    /// The options that determine how rows are read, as text.
    fileprivate var reading: String {
        "\(format.rawValue) \(provider ?? "") \(environment ?? "") \(asOf ?? "") \(includesDisabled) \(mappings)"
    }
}

/// A progress report of an import.
public enum ImportNews: Sendable {
    /// The uses of the columns of the first line, and the columns that are not used.
    case columns(used: [String], unused: [String])
    /// The import continues at a line; the tally counts the rows before it.
    case resumed(line: Int64, ImportTally)
    /// An earlier import of this file stopped at a line, and the request does not ask to continue it.
    case stoppedBefore(line: Int64)
    /// A row was refused.
    case refused(line: Int64, column: String?, reason: String)
    /// The tally so far; `share` is the part of the file that is imported, from 0 to 1, or nil for a pipe.
    case progress(ImportTally, share: Double?)
}

/// Imports a file of devices, 2,000 rows per transaction; each transaction also stores the position in the file.
public struct DeviceImport {
    /// The number of rows in a transaction; more would delay apps that register the same devices.
    var rowsAtOnce = 2000

    private let request: DeviceImportRequest
    private let source: ImportSource
    private let rejects: RejectedRows?
    private let fingerprint: [UInt8]?
    private var rows: ImportRows
    private var tally = ImportTally()
    /// The offset and the line after the last imported row.
    private var reached: (place: Int64, line: Int64) = (0, 1)

    /// Opens a file and reads its first line.
    ///
    /// - Parameters:
    ///   - request: the arguments of the command.
    ///   - source: the file.
    ///   - rejects: the file for refused rows; nil to drop them.
    /// - Throws: ``ToolError`` if the file cannot be imported with these arguments.
    public init(_ request: DeviceImportRequest, _ source: ImportSource, rejects: RejectedRows?) throws(ToolError) {
        if let provider = request.provider { try ToolDatabase.check(provider: provider) }
        var defaults = ImportRowReader.Defaults()
        defaults.provider = request.provider ?? (request.format == .firebase ? "fcm" : nil)
        defaults.environment = request.environment
        defaults.includesDisabled = request.includesDisabled
        defaults.isFirebase = request.format == .firebase
        if let asOf = request.asOf {
            guard let time = ImportTime.normalized(asOf) else {
                throw ToolError(
                    .usage,
                    "--as-of: “\(asOf.printable)” is not a time",
                    hint: "Write a time such as 2026-11-21T13:00:00Z."
                )
            }
            defaults.registeredAt = time
        }
        if let environment = request.environment, !["production", "sandbox"].contains(environment) {
            throw ToolError(
                .usage,
                "“\(environment.printable)” is not an environment",
                hint: "Use production or sandbox."
            )
        }
        self.request = request
        self.source = source
        self.rejects = rejects
        fingerprint = request.isDryRun ? nil : try source.fingerprint(request.reading)
        rows = try ImportRows(
            source,
            plan: ColumnPlan(request.mappings),
            rows: ImportRowReader(defaults: defaults)
        )
        switch (rows.syntax, request.format) {
        case (.csv(_, let header, _), .onesignal)
        where !Set(["identifier", "devicetype"]).isSubset(of: header.map(ImportField.key)):
            throw ToolError(
                .usage,
                "\(source.name) is not an export of OneSignal: it lacks the column identifier or device_type",
                hint: "Leave --format out, and name columns with --map."
            )
        case (.csv, .jsonl):
            throw ToolError(
                .usage,
                "\(source.name) does not look like JSON lines",
                hint: "Leave --format out, or name csv."
            )
        case (.jsonLines, .csv):
            throw ToolError(.usage, "\(source.name) looks like JSON lines", hint: "Leave --format out, or name jsonl.")
        default: break
        }
    }

    /// Imports the file.
    ///
    /// - Parameters:
    ///   - database: the database to import into.
    ///   - tell: receives progress reports; if it throws, the import ends after the rows of that report.
    /// - Returns: the tally of all rows, including those of earlier tries.
    /// - Throws: ``ToolError``; rows imported before the error stay imported.
    public mutating func run(
        on database: ToolDatabase,
        tell: (ImportNews) throws(ToolError) -> Void
    ) async throws(ToolError) -> ImportTally {
        if let (used, unused) = rows.columnsUsed { try tell(.columns(used: used, unused: unused)) }
        guard try await !isDone(database, tell) else { return tally }
        while true {
            var chunk: [ImportChunk.Row] = []
            while chunk.count < rowsAtOnce, let row = try rows.next() {
                chunk.append(ImportChunk.Row(record: row.record, fate: row.fate, values: row.values))
            }
            let isLast = chunk.count < rowsAtOnce
            try await settle(chunk[...], isLast: isLast, database, tell)
            let share = source.size.map { isLast ? 1 : Double(reached.place) / Double(max(1, $0)) }
            try tell(.progress(tally, share: share))
            guard isLast else { continue }
            if tally.read == 0 { throw ToolError(.failed, "\(source.name) has no rows, only a first line") }
            return tally
        }
    }

    /// Moves to the position where an import of the same file stopped.
    ///
    /// - Returns: whether that import was complete.
    private mutating func isDone(
        _ database: ToolDatabase,
        _ tell: (ImportNews) throws(ToolError) -> Void
    ) async throws(ToolError) -> Bool {
        guard let fingerprint, let found = try await database.lastImport(app: request.app, fingerprint) else {
            return false
        }
        guard request.resumes else {
            if !found.isFinished { try tell(.stoppedBefore(line: found.line)) }
            return false
        }
        tally = ImportTally((try? JSONValue(parsing: found.counts)) ?? [:])
        if let rejects { tally.rejectedBytes = try rejects.cut(to: tally.rejectedBytes) }
        try tell(.resumed(line: found.line, tally))
        reached = (found.place, found.line)
        if !found.isFinished { try rows.resume(source, at: found.place, line: found.line) }
        return found.isFinished
    }

    /// Imports a chunk; if the database refuses its data, halves the chunk until the row is found.
    private mutating func settle(
        _ chunk: ArraySlice<ImportChunk.Row>,
        isLast: Bool,
        _ database: ToolDatabase,
        _ tell: (ImportNews) throws(ToolError) -> Void
    ) async throws(ToolError) {
        let work = ImportChunk(
            app: request.app,
            isDryRun: request.isDryRun,
            rows: Array(chunk),
            syntax: rows.syntax,
            rejects: rejects,
            note: fingerprint.map { ($0, source.name, isLast) },
            reached: chunk.last.map { ($0.record.nextPlace, $0.record.nextLine) } ?? reached
        )
        do throws(ToolError) {
            let settled = try await database.settle(work, tally)
            (tally, reached) = (settled.tally, work.reached)
            for (record, refusal) in settled.refused {
                try tell(.refused(line: record.line, column: refusal.column, reason: refusal.reason))
            }
        } catch {
            guard let cause = error.cause, cause.isDataError, let first = chunk.first, !work.isRefused else {
                throw error
            }
            guard chunk.count > 1 else {
                let refusal = ImportRowError(
                    column: nil,
                    reason: "the database refuses it (SQLSTATE \(cause.sqlState ?? "-"))"
                )
                let refused = ImportChunk.Row(record: first.record, fate: .refused(refusal), values: first.values)
                return try await settle([refused], isLast: isLast, database, tell)
            }
            let middle = chunk.index(chunk.startIndex, offsetBy: chunk.count / 2)
            try await settle(chunk[..<middle], isLast: false, database, tell)
            try await settle(chunk[middle...], isLast: isLast, database, tell)
        }
    }
}
