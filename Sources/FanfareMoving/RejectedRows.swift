internal import FanfareCore
public import FanfareTools
internal import Foundation

/// A file of refused rows, each with its line, column and reason, in the syntax of the imported file: for correction
/// and another import.
///
/// It holds tokens like that file, so only its owner may read it.
public struct RejectedRows: Sendable {
    private let handle: FileHandle

    /// Creates the file.
    ///
    /// - Parameters:
    ///   - path: the file's path.
    ///   - resumes: whether to append to an existing file.
    /// - Throws: ``ToolError`` if the file exists already and is not resumed, or cannot be created.
    public init(path: String, resumes: Bool) throws(ToolError) {
        handle = resumes ? try PrivateFile.existingOrNew(path) : try PrivateFile.new(path)
    }

    /// Truncates the file to its committed length, dropping rows of a try that was killed before its commit.
    ///
    /// - Parameter place: the committed length in bytes.
    /// - Returns: the length in bytes now; less than `place` if it is another file.
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

    /// Appends rows at an offset; bytes after it are left from a try that did not commit, and are dropped.
    ///
    /// - Parameters:
    ///   - rows: the rows.
    ///   - syntax: the syntax of the imported file.
    ///   - place: the offset in bytes.
    /// - Returns: the length of the file in bytes now.
    /// - Throws: errors of the file system.
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
            // A malformed row would make this file malformed too.
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
