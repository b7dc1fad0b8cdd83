internal import FanfareCore
internal import FanfareTools

/// The rows of a file, each with its result.
struct ImportRows {
    /// The syntax of a file.
    enum Syntax {
        case csv(separator: UInt8, header: [String], headerBytes: [UInt8])
        case jsonLines
    }

    let syntax: Syntax
    private let plan: ColumnPlan
    private let rows: ImportRowReader
    private var reader: any RecordReader
    /// Whether lines end with bare carriage returns, as in spreadsheets of old Macs.
    private let hasBareReturns: Bool
    /// The uses of the columns, for a CSV file.
    private let columns: [ColumnPlan.Use]
    /// The uses of the members seen so far, for JSON lines.
    private var members: [String: ColumnPlan.Use] = [:]

    /// Reads a file from its beginning.
    ///
    /// - Parameters:
    ///   - source: the file.
    ///   - plan: the uses of the columns.
    ///   - rows: makes registrations from rows.
    /// - Throws: ``ToolError`` if the syntax is wrong, or there is no token column.
    init(_ source: ImportSource, plan: ColumnPlan, rows: ImportRowReader) throws(ToolError) {
        self.plan = plan
        self.rows = rows
        var window = try source.window()
        try Self.check(&window, source.name)
        if try window.endsLinesWithBareReturns() { window.readBareReturns() }
        hasBareReturns = window.hasBareReturns
        guard let (length, _) = try window.lineLengths() else {
            throw ToolError(.failed, "\(source.name) is empty")
        }
        let first = window.bytes[window.start..<window.start + length]
        guard first.first(where: { $0 > 0x20 }) != UInt8(ascii: "{") else {
            syntax = .jsonLines
            columns = []
            reader = JSONLinesReader(window)
            return
        }
        let separator = Self.separator(of: first)
        var reader = CSVReader(window, separator: separator)
        guard let record = try reader.next() else { throw ToolError(.failed, "\(source.name) is empty") }
        let header = record.fields.map { record.text(of: $0) ?? "" }
        syntax = .csv(separator: separator, header: header, headerBytes: record.bytes)
        columns = header.map(plan.use(of:))
        self.reader = reader
        let sources: Set<ImportField> = [.token, .subscription]
        guard columns.contains(where: { if case .field(let field, _) = $0 { sources.contains(field) } else { false } })
        else {
            throw ToolError(
                .failed,
                "\(source.name): no column of its first line is known to hold tokens",
                hint: "Name the column: --map COLUMN=token. Firebase's own exports of users have no tokens."
            )
        }
    }

    /// Continues where an import stopped.
    ///
    /// - Parameters:
    ///   - source: the file, which must not be a pipe.
    ///   - place: the offset of the next byte.
    ///   - line: the number of the next line.
    /// - Throws: ``ToolError`` if it cannot be read from there.
    mutating func resume(_ source: ImportSource, at place: Int64, line: Int64) throws(ToolError) {
        var window = try source.window(at: place, line: line)
        if hasBareReturns { window.readBareReturns() }
        reader =
            switch syntax {
            case .csv(let separator, _, _): CSVReader(window, separator: separator)
            case .jsonLines: JSONLinesReader(window)
            }
    }

    /// The columns that are used and those that are not; nil for JSON lines, where each line has its own members.
    var columnsUsed: (used: [String], unused: [String])? {
        guard case .csv(_, let header, _) = syntax else { return nil }
        var (used, unused): ([String], [String]) = ([], [])
        for (name, use) in zip(header, columns) {
            switch use {
            case .field(let field, _): used.append("\(name.printable) → \(field.name)")
            case .attribute(let key): used.append("\(name.printable) → attributes.\(key)")
            case .none: unused.append(name.printable)
            }
        }
        return (used, unused)
    }

    /// Returns the next row.
    ///
    /// - Returns: the row's text, its result, and its values by column; nil at the end.
    /// - Throws: ``ToolError`` if the file cannot be read.
    mutating func next() throws(ToolError) -> (record: SourceRecord, fate: ImportFate, values: ImportRowReader.Values)?
    {
        guard let record = try reader.next() else { return nil }
        do throws(ImportRowError) {
            if let problem = record.problem { throw ImportRowError(column: nil, reason: "the row \(problem)") }
            let values =
                switch syntax {
                case .csv(_, let header, _): try cells(record, header)
                case .jsonLines: try object(record)
                }
            return (record, rows.fate(of: values), values)
        } catch {
            return (record, .refused(error), ImportRowReader.Values())
        }
    }

    private func cells(_ record: SourceRecord, _ header: [String]) throws(ImportRowError) -> ImportRowReader.Values {
        guard record.fields.count == header.count else {
            let reason = "the row has \(record.fields.count) fields, the first line \(header.count)"
            throw ImportRowError(column: nil, reason: reason)
        }
        var values = ImportRowReader.Values()
        for (index, use) in columns.enumerated() {
            if case .none = use { continue }
            guard let text = record.text(of: record.fields[index]) else {
                throw ImportRowError(column: header[index], reason: "is not UTF-8")
            }
            switch use {
            case .field(let field, let rank): values.set(field, text, rank: rank, column: header[index])
            case .attribute(let key): if !text.isEmpty { values.attributes[key] = .string(text) }
            case .none: break
            }
        }
        return values
    }

    private mutating func object(_ record: SourceRecord) throws(ImportRowError) -> ImportRowReader.Values {
        let value: JSONValue
        do {
            value = try JSONValue(parsing: record.bytes)
        } catch {
            throw ImportRowError(column: nil, reason: "the line is not JSON: \(error)")
        }
        guard let object = value.objectValue else {
            throw ImportRowError(column: nil, reason: "the line is \(value.kindName), not an object")
        }
        var values = ImportRowReader.Values()
        take(object, below: "", into: &values)
        return values
    }

    private mutating func take(_ object: JSONObject, below prefix: String, into values: inout ImportRowReader.Values) {
        for member in object.members where !member.value.isNull {
            let name = prefix + member.key
            let use = members[name] ?? plan.use(of: name)
            // The cache is bounded, because a file may have millions of member names.
            if members.count < 1000 { members[name] = use }
            switch use {
            case .field(let field, let rank):
                values.set(field, member.value.stringValue ?? member.value.text, rank: rank, column: name)
            case .attribute(let key): values.attributes[key] = member.value
            case .none:
                guard let inner = member.value.objectValue, prefix.utf8.count < 200 else { continue }
                take(inner, below: name + ".", into: &values)
            }
        }
    }

    /// Refuses text that is not UTF-8, and skips a byte order mark.
    private static func check(_ window: inout ByteWindow, _ name: String) throws(ToolError) {
        if try window.begins(with: [0x1F, 0x8B]) {
            throw ToolError(.usage, "\(name) is compressed", hint: "Run `zcat FILE | fanfare devices import -`.")
        }
        let isBigEndian = try window.begins(with: [0xFE, 0xFF])
        let isLittleEndian = try window.begins(with: [0xFF, 0xFE])
        if isBigEndian || isLittleEndian {
            throw ToolError(.usage, "\(name) is UTF-16", hint: "Run `iconv -f UTF-16 -t UTF-8` over it first.")
        }
        if try window.begins(with: [0xEF, 0xBB, 0xBF]) { window.advance(3, lines: 0) }
        if try window.begins(with: [UInt8(ascii: "[")]) {
            throw ToolError(.usage, "\(name) is one JSON array", hint: "Run `jq -c '.[]'` over it first: a line each.")
        }
    }

    /// Returns the separator of the first line: a comma, a semicolon or a tab.
    private static func separator(of line: ArraySlice<UInt8>) -> UInt8 {
        var counts: [UInt8: Int] = [:]
        var isQuoted = false
        for byte in line {
            if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
            if !isQuoted { counts[byte, default: 0] += 1 }
        }
        let candidates = [UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: "\t")]
        return candidates.max { counts[$0, default: 0] < counts[$1, default: 0] } ?? candidates[0]
    }
}
