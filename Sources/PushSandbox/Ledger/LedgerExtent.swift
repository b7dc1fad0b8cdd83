import Foundation
import NIOPosix

/// A complete part of the ledger file that does not change any more.
struct LedgerExtent: Sendable {
    let path: String
    let offset: Int
    let end: Int
    /// The number of lines to skip at the beginning.
    let skip: Int

    private static let blockSize = 256 * 1024

    /// Reads whole lines, block by block.
    ///
    /// - Parameters:
    ///   - limit: the largest number of lines.
    ///   - body: receives one or more lines at a time.
    /// - Throws: errors of reading the file or of `body`.
    func forEachBlock(limit: Int, _ body: (Data) async throws -> Void) async throws {
        var reader = LedgerReader(skip: skip, limit: limit)
        var position = offset
        while position < end, !reader.isFinished {
            let (from, count) = (position, min(Self.blockSize, end - position))
            let block = try await NIOThreadPool.singleton.runIfActive {
                let handle = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
                defer { try? handle.close() }
                try handle.seek(toOffset: UInt64(from))
                return try handle.read(upToCount: count) ?? Data()
            }
            guard !block.isEmpty else { break }
            position += block.count
            let lines = reader.take(block)
            if !lines.isEmpty {
                try await body(lines)
            }
        }
    }
}

/// Splits blocks into lines, skips the first few, and stops after a number of them.
struct LedgerReader {
    private var skip: Int
    private var limit: Int
    private var rest = Data()

    var isFinished: Bool { limit == 0 }

    init(skip: Int, limit: Int) {
        self.skip = skip
        self.limit = limit
    }

    /// - Returns: the lines that this block completes.
    mutating func take(_ block: Data) -> Data {
        let text = rest.isEmpty ? block : rest + block
        if skip == 0, limit == .max {
            // No line is skipped or counted, so only the last line break matters.
            guard let end = text.lastIndex(of: UInt8(ascii: "\n")) else {
                rest = text
                return Data()
            }
            rest = Data(text[(end + 1)...])
            return Data(text[...end])
        }
        var start = text.startIndex
        var wanted = text.startIndex
        while limit > 0, let end = text[start...].firstIndex(of: UInt8(ascii: "\n")) {
            start = end + 1
            if skip > 0 {
                skip -= 1
                wanted = start
            } else {
                limit -= 1
            }
        }
        rest = Data(text[start...])
        return Data(text[wanted..<start])
    }
}
