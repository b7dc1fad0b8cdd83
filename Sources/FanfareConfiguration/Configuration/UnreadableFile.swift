internal import Foundation

/// Why a file could not be read, found out afterwards.
enum UnreadableFile {
    case missing
    case folder
    case forbidden
    /// It can be read, and is no text.
    case other

    /// - Parameter path: what was tried; symbolic links are followed.
    init(_ path: String) {
        let real = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: real) else {
            self = FileManager.default.fileExists(atPath: real) ? .forbidden : .missing
            return
        }
        if attributes[.type] as? FileAttributeType == .typeDirectory {
            self = .folder
        } else {
            self = FileManager.default.isReadableFile(atPath: real) ? .other : .forbidden
        }
    }
}
