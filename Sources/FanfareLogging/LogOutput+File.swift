public import FanfareConfiguration
internal import Foundation

extension LogOutput {
    /// Opens an output that is a file, for runs whose terminal shows something else.
    ///
    /// - Parameters:
    ///   - settings: level and form; the text form is never coloured here.
    ///   - path: of the file; made if missing, emptied if not.
    /// - Throws: if the file cannot be made or written.
    public convenience init(_ settings: Configuration.Log, replacing path: String) throws {
        try Data().write(to: URL(fileURLWithPath: path))
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        self.init(
            settings,
            colour: false,
            now: { LogTimestamp(microsecondsSince1970: Int64((Date().timeIntervalSince1970 * 1e6).rounded())) },
            writer: LogWriter { try handle.write(contentsOf: Data($0)) }
        )
    }
}
