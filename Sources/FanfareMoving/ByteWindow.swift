internal import FanfareTools
internal import Foundation

/// The bytes of a file or a pipe, read a block at a time; only the current record stays in memory.
struct ByteWindow {
    /// The size of a block.
    static let block = 256 << 10
    /// The size limit of a record, which bounds how much an unclosed quote can swallow.
    static let longestRecord = 1 << 20

    /// The bytes in memory.
    private(set) var bytes: [UInt8] = []
    /// The index in ``bytes`` where the current record begins.
    private(set) var start = 0
    /// The offset in the file where the current record begins.
    private(set) var place: Int64
    /// The number of the record's first line, from 1.
    private(set) var line: Int64
    /// Whether lines end with bare carriage returns, which are then read as line ends.
    private(set) var hasBareReturns = false
    private let read: (Int) throws -> Data?

    /// Makes a window that reads through a closure.
    ///
    /// - Parameters:
    ///   - place: the offset of the first byte in the file.
    ///   - line: the number of its line.
    ///   - read: returns up to this many more bytes; nil or none at the end.
    init(at place: Int64 = 0, line: Int64 = 1, read: @escaping (Int) throws -> Data?) {
        self.place = place
        self.line = line
        self.read = read
    }

    /// The number of bytes in memory from the start of the current record.
    var count: Int { bytes.count - start }

    /// Reads another block.
    ///
    /// - Returns: whether there were more bytes.
    /// - Throws: ``ToolError`` if the file cannot be read.
    mutating func fill() throws(ToolError) -> Bool {
        do {
            guard let data = try read(Self.block), !data.isEmpty else { return false }
            bytes.removeSubrange(..<start)
            start = 0
            bytes.append(contentsOf: data)
            if hasBareReturns { endLines(from: bytes.count - data.count) }
            return true
        } catch {
            throw ToolError(.failed, "the import cannot be read further: \(error.localizedDescription)")
        }
    }

    /// Makes each bare carriage return count as a line end.
    mutating func readBareReturns() {
        hasBareReturns = true
        endLines(from: start)
    }

    private mutating func endLines(from index: Int) {
        for index in index..<bytes.count where bytes[index] == UInt8(ascii: "\r") { bytes[index] = UInt8(ascii: "\n") }
    }

    /// Checks whether the first line ends with a bare carriage return.
    ///
    /// - Returns: whether there is a carriage return before any line feed, and no line feed after it.
    /// - Throws: ``ToolError`` if the file cannot be read.
    mutating func endsLinesWithBareReturns() throws(ToolError) -> Bool {
        let ends: Set<UInt8> = [UInt8(ascii: "\r"), UInt8(ascii: "\n")]
        while true {
            let end = bytes[start...].firstIndex { ends.contains($0) }
            if let end, bytes[end] == UInt8(ascii: "\n") { return false }
            if let end, end + 1 < bytes.count { return bytes[end + 1] != UInt8(ascii: "\n") }
            guard count <= Self.longestRecord, try fill() else { return end != nil }
        }
    }

    /// Ends the record and moves to the next one.
    ///
    /// - Parameters:
    ///   - length: the record's length in bytes, with its line end.
    ///   - lines: the record's number of lines.
    mutating func advance(_ length: Int, lines: Int64) {
        start += length
        place += Int64(length)
        line += lines
    }

    /// Checks whether the next bytes are a prefix.
    ///
    /// - Parameter prefix: the bytes to compare.
    /// - Returns: whether they match.
    /// - Throws: ``ToolError`` if the file cannot be read.
    mutating func begins(with prefix: [UInt8]) throws(ToolError) -> Bool {
        while count < prefix.count { guard try fill() else { return false } }
        return bytes[start..<start + prefix.count].elementsEqual(prefix)
    }

    /// Finds the end of the current line.
    ///
    /// - Returns: its length in bytes without and with its line end; nil at the end of the file.
    /// - Throws: ``ToolError`` if the file cannot be read, or the line exceeds ``longestRecord``.
    mutating func lineLengths() throws(ToolError) -> (text: Int, all: Int)? {
        var looked = 0
        while true {
            if let end = bytes[(start + looked)...].firstIndex(of: UInt8(ascii: "\n")) {
                let length = end - start
                let hasReturn = length > 0 && bytes[end - 1] == UInt8(ascii: "\r")
                return (hasReturn ? length - 1 : length, length + 1)
            }
            looked = count
            guard looked <= Self.longestRecord else {
                throw ToolError(
                    .failed,
                    "line \(line) has no end within \(Self.longestRecord) bytes",
                    hint: "Is it a text file? A compressed one is read with `zcat FILE | fanfare devices import -`."
                )
            }
            guard try fill() else { return count == 0 ? nil : (count, count) }
        }
    }
}
