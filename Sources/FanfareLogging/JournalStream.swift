internal import Foundation
internal import Logging

/// Detects systemd's journal, which reads a line's priority from its prefix: `<4>` for a warning (sd-daemon(3)).
enum JournalStream {
    /// Returns whether a stream of this process is the one that systemd connected to the journal.
    ///
    /// - Parameters:
    ///   - descriptor: the stream's descriptor.
    ///   - environment: variables of the process.
    /// - Returns: true if it is.
    static func isConnected(_ descriptor: Int32, environment: [String: String]) -> Bool {
        let file = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor)")
        return isConnected(file: file, variable: environment["JOURNAL_STREAM"])
    }

    /// Compares a stream with the one in systemd's variable; a child process inherits the variable, but may have other
    /// streams.
    ///
    /// - Parameters:
    ///   - file: the stream's target in `/proc`, as `socket:[INODE]`; nil if unknown.
    ///   - variable: `JOURNAL_STREAM`, as `DEVICE:INODE`.
    /// - Returns: whether both name the same socket.
    static func isConnected(file: String?, variable: String?) -> Bool {
        guard let inode = variable?.split(separator: ":").last, !inode.isEmpty else { return false }
        return file == "socket:[\(inode)]"
    }
}

extension Logger.Level {
    /// The level as a syslog priority.
    var priority: Int {
        switch self {
        case .trace, .debug: 7
        case .info: 6
        case .notice: 5
        case .warning: 4
        case .error: 3
        case .critical: 2
        }
    }
}
