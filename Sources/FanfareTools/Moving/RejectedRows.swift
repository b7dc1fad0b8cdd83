internal import FanfareCore
internal import Foundation

/// A file with the rows that were refused, each with its line, column and reason, in the form of the file they came from: to be
/// mended and imported in its turn.
///
/// It holds tokens as that file does, so nobody but its owner may read it.
public struct RejectedRows: Sendable {
    private let handle: FileHandle

    /// Makes a file.
    ///
    /// - Parameters:
    ///   - path: where.
    ///   - resumes: whether one that is there is written further.
    /// - Throws: ``ToolError`` if there is one already, or it cannot be made.
    public init(path: String, resumes: Bool) throws(ToolError) {
        handle = resumes ? try PrivateFile.existingOrNew(path) : try PrivateFile.new(path)
    }

    /// Drops what a try wrote that was killed before it was committed.
    ///
    /// - Parameter place: how many bytes were.
    /// - Returns: how many bytes there are; fewer if it is another file than then.
    /// - Throws: ``ToolError`` if it cannot be written.
    func cut(to place: Int64) throws(ToolError) -> Int64 {
        do {
            let size = min(place, Int64(try handle.seekToEnd()))
            try handle.truncate(atOffset: UInt64(size))
            return size
        } catch {
            throw ToolError(.failed, "refused rows cannot be written: \(error.localizedDescription)")
        }
    }

    /// Writes rows behind those of before; what stands there beyond them is of a try that did not come to its end, and goes.
    ///
    /// - Parameters:
    ///   - rows: the rows.
    ///   - syntax: how they are written.
    ///   - place: behind how many bytes.
    /// - Returns: the bytes of the file now.
    /// - Throws: what the system says.
    func append(
        _ rows: [(SourceRecord, ImportRowError)],
        _ syntax: ImportRows.Syntax,
        at place: Int64
    ) throws -> Int64 {
        var bytes = place == 0 ? Self.head(syntax) : []
        for (record, refusal) in rows { bytes += Self.line(record, refusal, syntax) }
        try handle.truncate(atOffset: UInt64(place))
        try handle.write(contentsOf: Data(bytes))
        return place + Int64(bytes.count)
    }

    private static func head(_ syntax: ImportRows.Syntax) -> [UInt8] {
        guard case .csv(let separator, _, let header) = syntax else { return [] }
        return joined(["fanfare_line", "fanfare_column", "fanfare_reason"], separator) + [separator] + header + newline
    }

    private static func line(
        _ record: SourceRecord,
        _ refusal: ImportRowError,
        _ syntax: ImportRows.Syntax
    ) -> [UInt8] {
        switch syntax {
        case .csv(let separator, _, _):
            let front = joined(["\(record.line)", refusal.column ?? "", refusal.reason], separator) + [separator]
            // What breaks the rules would break them here, too.
            let isWhole = record.problem == nil
            return front + (isWhole ? record.bytes : Array(quoted(String(decoding: record.bytes, as: UTF8.self)).utf8))
                + newline
        case .jsonLines:
            let row = (try? JSONValue(parsing: record.bytes))?.objectValue
            var object = row ?? JSONObject()
            if row == nil { object["fanfare_row"] = .string(String(decoding: record.bytes, as: UTF8.self)) }
            object["fanfare_line"] = JSONValue(record.line)
            object["fanfare_column"] = JSONValue(orNull: refusal.column)
            object["fanfare_reason"] = .string(refusal.reason)
            return JSONValue.object(object).encoded + newline
        }
    }

    private static let newline = [UInt8(ascii: "\n")]

    private static func joined(_ texts: [String], _ separator: UInt8) -> [UInt8] {
        Array(texts.map(quoted).joined(separator: String(UnicodeScalar(separator))).utf8)
    }

    private static func quoted(_ text: String) -> String { "\"\(text.replacing("\"", with: "\"\""))\"" }
}
