internal import FanfareCore
internal import FanfareStore
internal import Foundation
internal import PostgresClient

/// Rows that are imported in one transaction.
struct ImportChunk: Sendable {
    /// A row, and what becomes of it.
    struct Row: Sendable {
        let record: SourceRecord
        let fate: ImportFate
        let values: ImportRowReader.Values
    }

    /// What became of them.
    struct Settled: Sendable {
        var tally: ImportTally
        var refused: [(SourceRecord, ImportRowError)] = []
    }

    let app: String
    let isDryRun: Bool
    let rows: [Row]
    let syntax: ImportRows.Syntax
    let rejects: RejectedRows?
    /// Of which file is noted how far it is; nil for no note.
    let note: (fingerprint: [UInt8], file: String, isLast: Bool)?
    /// The byte and the line behind them.
    let reached: (place: Int64, line: Int64)

    /// Whether none of them is for the database.
    var isRefused: Bool { devices.isEmpty }

    private var devices: [JSONValue] {
        rows.compactMap { if case .row(let row) = $0.fate { .object(row.members) } else { nil } }
    }

    /// Imports them; runs inside a transaction.
    ///
    /// - Parameters:
    ///   - connection: the session.
    ///   - tally: what became of the rows before them.
    /// - Returns: what became of all.
    /// - Throws: what the database says, and if refused rows cannot be written.
    func settle(on connection: PostgresConnection, _ tally: ImportTally) throws(PostgresError) -> Settled {
        let devices = devices
        let outcomes =
            devices.isEmpty
            ? []
            : try connection.run(
                ImportDevices(app: app, devices: JSONValue.array(devices).text, isDryRun: isDryRun)
            )
        guard outcomes.count == devices.count else {
            throw PostgresError(.protocolMismatch, message: "fanfare.import_devices lost rows")
        }
        var settled = Settled(tally: tally)
        count(outcomes, into: &settled)
        if let rejects, !settled.refused.isEmpty {
            do {
                settled.tally.rejectedBytes = try rejects.append(settled.refused, syntax, at: tally.rejectedBytes)
            } catch {
                let message = "refused rows cannot be written: \(error.localizedDescription)"
                throw PostgresError(.protocolMismatch, message: message)
            }
        }
        if let note {
            try connection.run(
                NoteImport(
                    app: app,
                    fingerprint: note.fingerprint,
                    file: note.file,
                    place: reached.place,
                    line: reached.line,
                    counts: settled.tally.json.text,
                    isFinished: note.isLast
                )
            )
        }
        return settled
    }

    private func count(_ outcomes: [ImportDevices.Outcome], into settled: inout Settled) {
        var next = outcomes[...]
        for row in rows {
            settled.tally.read += 1
            switch row.fate {
            case .skipped(let reason): settled.tally.skipped[reason, default: 0] += 1
            case .refused(let refusal): settled.refuse(row.record, refusal)
            case .row: if let outcome = next.popFirst() { settled.count(outcome, row) }
            }
        }
    }
}

extension ImportChunk.Settled {
    fileprivate mutating func refuse(_ record: SourceRecord, _ refusal: ImportRowError) {
        tally.refuse(refusal)
        refused.append((record, refusal))
    }

    fileprivate mutating func count(_ outcome: ImportDevices.Outcome, _ row: ImportChunk.Row) {
        switch outcome.outcome {
        case "new": tally.new += 1
        case "updated": tally.updated += 1
        case "unchanged": tally.unchanged += 1
        case "older": tally.skipped["older than what is here", default: 0] += 1
        case "ended": tally.skipped["disabled here since", default: 0] += 1
        case "alive": tally.skipped["disabled there, not here", default: 0] += 1
        default:
            let column = outcome.field.map { name in
                ImportField.allCases.first { $0.name == name }.map(row.values.column(of:)) ?? name
            }
            return refuse(row.record, ImportRowError(column: column, reason: outcome.reason ?? "is refused"))
        }
        if let field = outcome.field {
            tally.without["\(field.replacing("_", with: " ")) that is not known", default: 0] += 1
        }
    }
}

extension ToolDatabase {
    /// How often a chunk is tried that met another session's locks.
    private static let tries = 5

    /// Imports rows in one transaction.
    ///
    /// - Parameters:
    ///   - chunk: the rows.
    ///   - tally: what became of the rows before them.
    /// - Returns: what became of all.
    /// - Throws: ``ToolError``; nothing of the chunk is imported then.
    func settle(_ chunk: ImportChunk, _ tally: ImportTally) async throws(ToolError) -> ImportChunk.Settled {
        var tried = 0
        while true {
            do throws(ToolError) {
                return try await change { connection throws(PostgresError) in
                    try chunk.settle(on: connection, tally)
                } action: { settled in
                    let changed = settled.tally.new + settled.tally.updated - tally.new - tally.updated
                    return chunk.isDryRun ? nil : ToolAction("device.import", chunk.app, count: changed)
                }
            } catch {
                tried += 1
                guard tried < Self.tries, ["40P01", "40001", "55P03"].contains(error.cause?.sqlState) else {
                    throw error
                }
            }
        }
    }

    /// How far an import of a file came.
    ///
    /// - Parameters:
    ///   - app: the app.
    ///   - fingerprint: the file's, and how it is read.
    /// - Returns: what was noted; nil if it was never imported.
    /// - Throws: ``ToolError``.
    func lastImport(app: String, _ fingerprint: [UInt8]) async throws(ToolError) -> FindImport.Found? {
        try await run { connection throws(PostgresError) in
            try connection.run(FindImport(app: app, fingerprint: fingerprint)).first
        }
    }
}
