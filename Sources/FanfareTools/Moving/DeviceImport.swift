internal import FanfareCore
internal import FanfareStore
internal import PostgresClient

/// What `fanfare devices import` was asked for.
public struct DeviceImportRequest: Sendable {
    /// Of which system the file is.
    public enum Format: String, CaseIterable, Sendable {
        /// Whatever its columns say.
        case auto
        /// A table of tokens.
        case csv
        /// An object a line.
        case jsonl
        /// What OneSignal exports of subscriptions.
        case onesignal
        /// A table of FCM's tokens, whatever phones and browsers they are of.
        case firebase
    }

    /// The app; it is made if it is new.
    public var app: String
    /// Of which system the file is.
    public var format = Format.auto
    /// What columns are taken for, told by hand.
    public var mappings: [ColumnMapping] = []
    /// The provider of rows that name none.
    public var provider: String?
    /// The environment of rows that name none.
    public var environment: String?
    /// When rows that do not say so were registered: a time as ``ImportTime`` reads it; nil for before all that Fanfare knows.
    public var asOf: String?
    /// Whether those are imported, disabled, that get nothing there.
    public var includesDisabled = false
    /// Whether nothing is changed.
    public var isDryRun = false
    /// Whether it goes on where an import of the same file stopped.
    public var resumes = false

    /// Asks for an import.
    ///
    /// - Parameter app: the app.
    public init(app: String) {
        self.app = app
    }

    /// How the file is read, as far as that decides what its rows mean.
    fileprivate var reading: String {
        "\(format.rawValue) \(provider ?? "") \(environment ?? "") \(asOf ?? "") \(includesDisabled) \(mappings)"
    }
}

/// What an import has to tell while it runs.
public enum ImportNews: Sendable {
    /// What the columns of the first line are taken for, and which are not used.
    case columns(used: [String], unused: [String])
    /// It goes on at a line, with what became of the rows before it.
    case resumed(line: Int64, ImportTally)
    /// There is an import of this file that stopped at a line, and it was not asked to go on.
    case stoppedBefore(line: Int64)
    /// A row was refused.
    case refused(line: Int64, column: String?, reason: String)
    /// So far, rows are imported; `share` is how much of the file, from 0 to 1, or nil of a pipe.
    case progress(ImportTally, share: Double?)
}

/// Imports a file of devices: two thousand rows at a time, each with how far it is in one transaction.
public struct DeviceImport {
    /// How many rows are imported in one transaction: more would keep apps waiting that register the same devices.
    var rowsAtOnce = 2000

    private let request: DeviceImportRequest
    private let source: ImportSource
    private let rejects: RejectedRows?
    private let fingerprint: [UInt8]?
    private var rows: ImportRows
    private var tally = ImportTally()
    /// The byte and the line behind what is imported.
    private var reached: (place: Int64, line: Int64) = (0, 1)

    /// Opens a file and reads its first line.
    ///
    /// - Parameters:
    ///   - request: what was asked for.
    ///   - source: the file.
    ///   - rejects: where refused rows are written; nil for nowhere.
    /// - Throws: ``ToolError`` if the file is none that can be imported so.
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
                    "--as-of: “\(TextTable.printable(asOf))” is no time",
                    hint: "Write a time such as 2026-11-21T13:00:00Z."
                )
            }
            defaults.registeredAt = time
        }
        if let environment = request.environment, !["production", "sandbox"].contains(environment) {
            throw ToolError(
                .usage,
                "“\(TextTable.printable(environment))” is no environment",
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
                "\(source.name) is no export of OneSignal: it lacks the column identifier or device_type",
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

    /// Imports it.
    ///
    /// - Parameters:
    ///   - database: where.
    ///   - tell: hears what there is to tell; what it throws ends the import behind the rows that were told of.
    /// - Returns: what became of all rows, those of the tries before included.
    /// - Throws: ``ToolError``; what was imported until then stays so.
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

    /// Goes to where an import of the same file stopped.
    ///
    /// - Returns: whether that was its end.
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

    /// Has a chunk imported; one whose data the database cannot take is halved until the row is found.
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
