internal import FanfareCore
internal import FanfareStore
internal import FanfareTools
internal import Foundation
internal import PostgresClient

/// The rows of one transaction.
struct ImportChunk: Sendable {
    /// A row and its registration.
    struct Row: Sendable {
        let record: SourceRecord
        let fate: ImportFate
        let values: ImportRowReader.Values
    }

    /// The result of importing the chunk.
    struct Settled: Sendable {
        var tally: ImportTally
        var refused: [(SourceRecord, ImportRowError)] = []
    }

    let app: String
    let isDryRun: Bool
    let rows: [Row]
    let syntax: ImportRows.Syntax
    let rejects: RejectedRows?
    /// The file whose position is stored with the chunk; nil to store none.
    let note: (fingerprint: [UInt8], file: String, isLast: Bool)?
    /// The offset and the line after the chunk.
    let reached: (place: Int64, line: Int64)

    /// Whether no row of the chunk goes to the database.
    var isRefused: Bool { devices.isEmpty }

    private var devices: [JSONValue] {
        rows.compactMap { if case .row(let row) = $0.fate { .object(row.members) } else { nil } }
    }

    /// Imports the rows, inside a transaction.
    ///
    /// - Parameters:
    ///   - connection: the session.
    ///   - tally: the tally of the rows before the chunk.
    /// - Returns: the tally including the chunk.
    /// - Throws: database errors, and an error if refused rows cannot be written.
    func settle(on connection: PostgresConnection, _ tally: ImportTally) throws(PostgresError) -> Settled {
        let devices = devices
        let outcomes =
            devices.isEmpty
            ? []
            : try connection.run(SQL.importDevices(app, JSONValue.array(devices).text, isDryRun))
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
                SQL.noteImport(
                    app,
                    note.fingerprint,
                    note.file,
                    reached.place,
                    reached.line,
                    settled.tally.json.text,
                    note.isLast
                )
            )
        }
        return settled
    }

    private func count(_ outcomes: [ImportOutcome], into settled: inout Settled) {
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

    fileprivate mutating func count(_ outcome: ImportOutcome, _ row: ImportChunk.Row) {
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
    /// The number of tries for a chunk that conflicts with other sessions' locks.
    private static let tries = 5

    /// Imports a chunk in one transaction.
    ///
    /// - Parameters:
    ///   - chunk: the rows.
    ///   - tally: the tally of the rows before the chunk.
    /// - Returns: the tally including the chunk.
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

    /// Returns the stored position of an import.
    ///
    /// - Parameters:
    ///   - app: the app.
    ///   - fingerprint: the hash of the file and of how it is read.
    /// - Returns: the stored position; nil if this file was never imported.
    /// - Throws: ``ToolError``.
    func lastImport(app: String, _ fingerprint: [UInt8]) async throws(ToolError) -> StoredImport? {
        try await rows(of: SQL.findImport(app, fingerprint)).first
    }
}
