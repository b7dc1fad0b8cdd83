public import Foundation

/// A file that nobody but its owner may read.
public enum PrivateFile {
    /// Makes one.
    ///
    /// - Parameter path: where; nothing may be there.
    /// - Returns: the empty file, open.
    /// - Throws: ``ToolError`` of kind `usage` if something is there, or it cannot be made.
    public static func new(_ path: String) throws(ToolError) -> FileHandle {
        let files = FileManager.default
        guard !files.fileExists(atPath: path) else {
            throw ToolError(.usage, "\(path) is there already", hint: "Name another file, or delete it.")
        }
        guard files.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o600]) else {
            throw ToolError(.usage, "\(path) cannot be made", hint: "May you write there?")
        }
        return try open(path)
    }

    /// Opens one that is there, to be written further; makes it if it is not.
    ///
    /// - Parameter path: where.
    /// - Returns: the file, open.
    /// - Throws: ``ToolError`` of kind `usage` if it cannot be written.
    static func existingOrNew(_ path: String) throws(ToolError) -> FileHandle {
        FileManager.default.fileExists(atPath: path) ? try open(path) : try new(path)
    }

    private static func open(_ path: String) throws(ToolError) -> FileHandle {
        do {
            return try FileHandle(forUpdating: URL(fileURLWithPath: path))
        } catch {
            throw ToolError(.usage, "\(path) cannot be written: \(error.localizedDescription)")
        }
    }
}
