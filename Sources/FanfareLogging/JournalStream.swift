internal import Foundation
internal import Logging

/// Whether lines go to systemd's journal, which takes a line's priority from its head: `<4>` for a warning (sd-daemon(3)).
enum JournalStream {
    /// Whether a stream of this process is the one that systemd connected to the journal.
    ///
    /// - Parameters:
    ///   - descriptor: of the stream.
    ///   - environment: variables of the process.
    /// - Returns: true if it is.
    static func isConnected(_ descriptor: Int32, environment: [String: String]) -> Bool {
        let file = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor)")
        return isConnected(file: file, variable: environment["JOURNAL_STREAM"])
    }

    /// Compares a stream with what systemd said of the one it made: a child's streams may lead elsewhere.
    ///
    /// - Parameters:
    ///   - file: what `/proc` says the stream is, as `socket:[INODE]`; nil if it says nothing.
    ///   - variable: `JOURNAL_STREAM`, as `DEVICE:INODE`.
    /// - Returns: whether both name the same socket.
    static func isConnected(file: String?, variable: String?) -> Bool {
        guard let inode = variable?.split(separator: ":").last, !inode.isEmpty else { return false }
        return file == "socket:[\(inode)]"
    }
}

extension Logger.Level {
    /// The level in syslog's numbers, as the journal has them.
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
