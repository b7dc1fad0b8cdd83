internal import Foundation

/// The bytes of a file or a pipe, a block at a time: of what was read, only the record at hand is kept.
struct ByteWindow {
    /// How much is read at once.
    static let block = 256 << 10
    /// The longest record: what a lost quote may swallow before it is missed.
    static let longestRecord = 1 << 20

    /// What is in memory.
    private(set) var bytes: [UInt8] = []
    /// Where the record at hand begins in ``bytes``.
    private(set) var start = 0
    /// Where it begins in the file.
    private(set) var place: Int64
    /// The number of the line it begins in, from 1.
    private(set) var line: Int64
    /// Whether lines end with carriage returns alone: then each is read as the end of a line.
    private(set) var hasBareReturns = false
    private let read: (Int) throws -> Data?

    /// Looks through a window.
    ///
    /// - Parameters:
    ///   - place: where the first byte is in the file.
    ///   - line: the number of its line.
    ///   - read: gives up to so many bytes more; nil or none at the end.
    init(at place: Int64 = 0, line: Int64 = 1, read: @escaping (Int) throws -> Data?) {
        self.place = place
        self.line = line
        self.read = read
    }

    /// How many bytes of the record at hand, and of what comes after it, are in memory.
    var count: Int { bytes.count - start }

    /// Reads a block more.
    ///
    /// - Returns: whether there was anything.
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

    /// Takes each carriage return for the end of a line.
    mutating func readBareReturns() {
        hasBareReturns = true
        endLines(from: start)
    }

    private mutating func endLines(from index: Int) {
        for index in index..<bytes.count where bytes[index] == UInt8(ascii: "\r") { bytes[index] = UInt8(ascii: "\n") }
    }

    /// Whether the first line ends with a carriage return alone.
    ///
    /// - Returns: whether there is one before any line feed, and none behind it.
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

    /// The record is over.
    ///
    /// - Parameters:
    ///   - length: how many bytes it had, with what ends its line.
    ///   - lines: how many lines.
    mutating func advance(_ length: Int, lines: Int64) {
        start += length
        place += Int64(length)
        line += lines
    }

    /// Whether what comes begins with some bytes.
    ///
    /// - Parameter prefix: the bytes.
    /// - Returns: whether it does.
    /// - Throws: ``ToolError`` if the file cannot be read.
    mutating func begins(with prefix: [UInt8]) throws(ToolError) -> Bool {
        while count < prefix.count { guard try fill() else { return false } }
        return bytes[start..<start + prefix.count].elementsEqual(prefix)
    }

    /// Where the line at hand ends.
    ///
    /// - Returns: how many bytes it has, without and with what ends it; nil at the end of the file.
    /// - Throws: ``ToolError`` if the file cannot be read, or the line is beyond all measure.
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
