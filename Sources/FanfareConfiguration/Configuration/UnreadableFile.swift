internal import Foundation

/// Why a file could not be read, determined after the failure.
enum UnreadableFile {
    case missing
    case folder
    case forbidden
    /// The file can be read, but is not text.
    case other

    /// - Parameter path: the path that was tried; symbolic links are followed.
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
