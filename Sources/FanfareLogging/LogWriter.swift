internal import Foundation
internal import Threading

/// Writes log lines on a thread of its own, so that a full pipe never blocks the daemon.
///
/// Lines keep their order and are never split. Each write(2) gets whole lines, at most ``chunk`` bytes unless one line
/// is longer, so that lines of several processes on one pipe do not mix (pipe(7), PIPE_BUF). When more than ``limit``
/// bytes wait, further lines are dropped and counted; the next line that fits reports the count.
final class LogWriter: Sendable {
    /// The limit of queued bytes: about ten thousand lines.
    static let limit = 2 << 20
    /// PIPE_BUF on Linux.
    static let chunk = 4096

    private struct State {
        var waiting = 0
        var dropped = 0
    }

    private let state: Locked<State>
    private let lines: Mailbox<[UInt8]>
    private let idle: Mailbox<Void>
    private let limit: Int

    /// Starts the writing thread.
    ///
    /// - Parameters:
    ///   - limit: the limit of queued bytes.
    ///   - write: writes all bytes, or throws. Runs on the writing thread, where SIGPIPE is blocked.
    init(limit: Int = LogWriter.limit, write: @escaping @Sendable ([UInt8]) throws -> Void) {
        let state = Locked(State())
        let (lines, idle) = (Mailbox<[UInt8]>(), Mailbox<Void>())
        (self.state, self.lines, self.idle, self.limit) = (state, lines, idle, limit)
        _ = WorkerThread.start(name: "log") {
            while let taken = lines.take() {
                Self.write(taken, state, write)
            }
            idle.close()
        }
    }

    private static func write(
        _ lines: [[UInt8]],
        _ state: Locked<State>,
        _ write: @Sendable ([UInt8]) throws -> Void
    ) {
        var next = lines.startIndex
        while next < lines.endIndex {
            var bytes = lines[next]
            var count = 1
            while next + count < lines.endIndex, bytes.count + lines[next + count].count <= chunk {
                bytes += lines[next + count]
                count += 1
            }
            let size = bytes.count
            do {
                try write(bytes)
                state.withLock { $0.waiting -= size }
            } catch {
                // The loss can only be reported by a later line.
                let lost = count
                state.withLock { state in
                    state.waiting -= size
                    state.dropped += lost
                }
            }
            next += count
        }
    }

    /// Queues a line; returns at once.
    ///
    /// - Parameters:
    ///   - line: the line with its line feed.
    ///   - notice: makes the line that reports the number of lines dropped before.
    func put(_ line: String, droppedNotice notice: (Int) -> String) {
        let bytes = Array(line.utf8)
        let limit = limit
        let dropped = state.withLock { state -> Int? in
            guard state.waiting + bytes.count <= limit else {
                state.dropped += 1
                return nil
            }
            state.waiting += bytes.count
            defer { state.dropped = 0 }
            return state.dropped
        }
        guard let dropped else { return }
        if dropped > 0 {
            let extra = Array(notice(dropped).utf8)
            state.withLock { $0.waiting += extra.count }
            lines.put(extra)
        }
        lines.put(bytes)
    }

    /// Writes the queued lines and stops; later lines are lost.
    ///
    /// - Parameter timeout: the maximum wait, because the reader of the log may have stopped.
    /// - Returns: true if everything was written.
    @discardableResult
    func close(timeout: Duration) -> Bool {
        lines.close()
        return idle.take(timeout: timeout) == nil
    }
}
