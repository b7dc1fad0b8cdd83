internal import FanfareConfiguration
public import FanfareTools
internal import Foundation
internal import PushCrypto

/// The file to import, or standard input.
public struct ImportSource: Sendable {
    /// The name in messages.
    public let name: String
    /// The size in bytes; nil for a pipe, which cannot be read again.
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

    /// Reads from an offset.
    ///
    /// - Parameters:
    ///   - place: the offset of the first byte; must be 0 for a pipe.
    ///   - line: the number of the line there.
    /// - Returns: a window at the offset.
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

    /// Returns a hash of the file's contents and of how they are read.
    ///
    /// Reads the file once from end to end, which takes a hundredth of the time of importing it.
    ///
    /// - Parameter text: how the file is read.
    /// - Returns: a hash; nil for a pipe.
    /// - Throws: ``ToolError`` if it cannot be read.
    func fingerprint(_ text: String) throws(ToolError) -> [UInt8]? {
        guard size != nil else { return nil }
        var hash = sha256(Array(text.utf8))
        var window = try window()
        // Each block is hashed together with the hash of all blocks before it.
        while try window.fill() {
            hash = sha256(hash + window.bytes[window.start...])
            window.advance(window.count, lines: 0)
        }
        return hash
    }
}
