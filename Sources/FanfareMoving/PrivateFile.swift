public import FanfareTools
public import Foundation

/// A file that only its owner may read.
public enum PrivateFile {
    /// Creates a file.
    ///
    /// - Parameter path: the path, which must not exist.
    /// - Returns: the empty file, open.
    /// - Throws: ``ToolError`` of kind `usage` if the path exists, or the file cannot be created.
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

    /// Opens a file for appending, and creates it if it does not exist.
    ///
    /// - Parameter path: the path.
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
