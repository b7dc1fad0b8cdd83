internal import FanfareConfiguration
internal import Foundation
internal import PushCrypto

/// The file that is imported, or standard input.
public struct ImportSource: Sendable {
    /// What messages call it.
    public let name: String
    /// How many bytes it has; nil for a pipe, which cannot be read again.
    public let size: Int64?
    private let handle: FileHandle

    /// Opens a file.
    ///
    /// - Parameter path: its path; `-` for standard input.
    /// - Throws: ``ToolError`` of kind `usage` if it cannot be read.
    public init(_ path: String) throws(ToolError) {
        guard path != StandardInput.argument else {
            (name, size, handle) = ("standard input", nil, .standardInput)
            return
        }
        do {
            handle = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
            let attributes = try FileManager.default.attributesOfItem(atPath: path)
            let isRegular = attributes[.type] as? FileAttributeType == .typeRegular
            size = isRegular ? (attributes[.size] as? NSNumber)?.int64Value : nil
        } catch {
            throw ToolError(.usage, "\(path) cannot be read: \(error.localizedDescription)")
        }
        name = URL(fileURLWithPath: path).lastPathComponent
    }

    /// Reads it from a place on.
    ///
    /// - Parameters:
    ///   - place: the first byte; of a pipe only 0.
    ///   - line: its line.
    /// - Returns: what is there.
    /// - Throws: ``ToolError`` if it cannot be read from there.
    func window(at place: Int64 = 0, line: Int64 = 1) throws(ToolError) -> ByteWindow {
        let handle = handle
        do {
            if size != nil { try handle.seek(toOffset: UInt64(place)) }
        } catch {
            throw ToolError(.failed, "\(name) cannot be read from byte \(place) on: \(error.localizedDescription)")
        }
        return ByteWindow(at: place, line: line) { try handle.read(upToCount: $0) }
    }

    /// What tells it, and how it is read, from others: all that is in it, and some text.
    ///
    /// Reads it once from end to end, which takes a hundredth of the time that importing it does.
    ///
    /// - Parameter text: how it is read.
    /// - Returns: a hash; nil for a pipe.
    /// - Throws: ``ToolError`` if it cannot be read.
    func fingerprint(_ text: String) throws(ToolError) -> [UInt8]? {
        guard size != nil else { return nil }
        var hash = sha256(Array(text.utf8))
        var window = try window()
        // Each block with the hash of all before it.
        while try window.fill() {
            hash = sha256(hash + window.bytes[window.start...])
            window.advance(window.count, lines: 0)
        }
        return hash
    }
}
