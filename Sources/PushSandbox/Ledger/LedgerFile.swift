import Foundation
import NIOHPACK

/// The append-only file `received.jsonl`, with an index that finds a line without reading the lines before it.
///
/// Lines are buffered in memory and written in blocks; readers flush first.
struct LedgerFile {
    private static let blockSize = 256 * 1024
    /// The index has one entry per this number of lines.
    private static let stride = 256

    let path: String
    private let handle: FileHandle
    private var pending = JSONLine(reservingCapacity: blockSize + 16 * 1024)
    private var written = 0
    /// The number of lines.
    private(set) var lines = 0
    /// The offsets of line 1 and of every `stride`-th line after it.
    private var offsets: [Int] = []
    private(set) var failure: String?
    /// The last `authorization` header, and its text in the file.
    private var credential = (header: "", shown: "")

    /// Creates an empty file; an earlier one is kept as `received.previous.jsonl`.
    init(path: String) throws(SandboxError) {
        self.path = path
        let previous = path.replacing(".jsonl", with: ".previous.jsonl")
        let manager = FileManager.default
        do {
            if manager.fileExists(atPath: path) {
                try? manager.removeItem(atPath: previous)
                try manager.moveItem(atPath: path, toPath: previous)
            }
            // Device tokens and payloads: readable by the owner only.
            guard manager.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o600]) else {
                throw CocoaError(.fileWriteUnknown)
            }
            handle = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        } catch {
            throw SandboxError(.folder, "cannot write \(path): \(error.localizedDescription)")
        }
    }

    mutating func append(_ reception: Reception) {
        lines += 1
        if lines % Self.stride == 1 {
            offsets.append(written + pending.bytes.count)
        }
        pending.append(reception, n: lines, authorization: shownCredential(reception.request.head))
        if pending.bytes.count >= Self.blockSize {
            flush()
        }
    }

    /// Writes buffered lines; an error, such as a full disk, is stored and reported to every reader.
    mutating func flush() {
        guard !pending.bytes.isEmpty else { return }
        do {
            try handle.write(contentsOf: Data(pending.bytes))
            written += pending.bytes.count
        } catch {
            failure = "cannot write \(path): \(error.localizedDescription)"
        }
        pending.removeAll()
    }

    /// Finds where to start reading for the lines after the n-th.
    ///
    /// - Returns: an offset, and the number of lines to skip from there.
    func position(after n: Int) -> (offset: Int, skip: Int) {
        let entry = n / Self.stride
        guard entry < offsets.count else { return (written, 0) }
        return (offsets[entry], n % Self.stride)
    }

    var size: Int { written }

    func close() {
        try? handle.close()
    }

    /// Returns a hash in the place of the credential, so that the file does not reveal it.
    private mutating func shownCredential(_ head: RequestHead) -> String? {
        guard let header = head.fields.first(name: "authorization") else { return nil }
        if header != credential.header {
            var hash = StableHash()
            hash.combine(header)
            let scheme = header.split(separator: " ").first.map { $0.prefix(16).lowercased() } ?? ""
            let isScheme = ["bearer", "vapid", "webpush", "key", "basic"].contains(scheme)
            credential = (header, (isScheme ? scheme + " " : "") + "#" + String(hash.value, radix: 16))
        }
        return credential.shown
    }
}
