public import FanfareConfiguration
internal import Foundation

extension LogOutput {
    /// Opens a file as output, for commands that use the terminal for something else.
    ///
    /// - Parameters:
    ///   - settings: level and format; the text format is not coloured in a file.
    ///   - path: the file's path; an existing file is truncated.
    /// - Throws: an error if the file cannot be created or written.
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
