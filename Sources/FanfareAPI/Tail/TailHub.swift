internal import FanfareTools
internal import Foundation
internal import Threading

/// Follows the logs once for all who look, and only while somebody does.
final class TailHub: Sendable {
    /// What a viewer gets.
    enum Signal: Sendable {
        case lines([TailLine])
        /// Nothing came for a while.
        case quiet
    }

    /// How many signals wait for a viewer at most; one that is slower is dropped, and holds up nobody.
    static let patience = 256
    /// Looks without a line after which viewers hear that nothing came.
    private static let quietLooks = 15
    private static let pause = 1.0

    private struct Viewer {
        let filter: LogTail.Filter
        let continuation: AsyncStream<Signal>.Continuation
    }

    private struct State {
        var viewers: [Int: Viewer] = [:]
        var lastID = 0
        var isStopped = false
        var thread: WorkerThread?
        var isPolling = false
    }

    private let database: ToolDatabase
    private let state = Locked(State())

    init(_ database: ToolDatabase) {
        self.database = database
    }

    /// Begins to follow.
    ///
    /// - Parameter filter: what; its `since` is not looked at.
    /// - Returns: what comes; ends when the viewer was too slow, and when the server stops. Who looks no more cancels it.
    func follow(_ filter: LogTail.Filter) -> AsyncStream<Signal> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: Signal.self,
            bufferingPolicy: .bufferingOldest(Self.patience)
        )
        state.withLock { state in
            guard !state.isStopped else { return continuation.finish() }
            state.lastID += 1
            let id = state.lastID
            state.viewers[id] = Viewer(filter: filter, continuation: continuation)
            continuation.onTermination = { [weak self] _ in self?.leave(id) }
            guard !state.isPolling else { return }
            state.isPolling = true
            state.thread = WorkerThread.start(name: "api tail") { self.poll() }
        }
        return stream
    }

    /// Lets all viewers go; nobody can follow any more.
    func stop() {
        let viewers = state.withLock { state in
            state.isStopped = true
            defer { state.viewers = [:] }
            return state.viewers.values.map(\.continuation)
        }
        for viewer in viewers { viewer.finish() }
    }

    /// Whether nobody can follow any more.
    var isStopped: Bool { state.withLock { $0.isStopped } }

    /// Waits until the session is gone.
    func close() async {
        stop()
        await state.withLock { $0.thread }?.value()
    }

    private func leave(_ id: Int) {
        state.withLock { state in _ = state.viewers.removeValue(forKey: id) }
    }

    private func poll() {
        var tail: LogTail?
        var idle = 0
        while hasViewers() {
            do {
                let current = try tail ?? database.tail(LogTail.Filter())
                tail = current
                let lines = try current.next()
                idle = lines.isEmpty ? idle + 1 : 0
                if !lines.isEmpty { deliver(lines) }
            } catch {
                // What came meanwhile is missed: `Last-Event-ID` asks for it.
                tail = nil
                idle += 1
            }
            if idle > 0, idle.isMultiple(of: Self.quietLooks) { tell { _ in .quiet } }
            if idle > 0 { Thread.sleep(forTimeInterval: Self.pause) }
        }
    }

    private func deliver(_ lines: [TailLine]) {
        tell { filter in
            let passing = lines.filter(filter.passes)
            return passing.isEmpty ? nil : .lines(passing)
        }
    }

    private func tell(_ signal: (LogTail.Filter) -> Signal?) {
        for (id, viewer) in state.withLock({ $0.viewers }) {
            guard let signal = signal(viewer.filter) else { continue }
            if case .dropped = viewer.continuation.yield(signal) {
                leave(id)
                viewer.continuation.finish()
            }
        }
    }

    /// The thread ends with the last viewer; whoever comes later starts another.
    private func hasViewers() -> Bool {
        state.withLock { state in
            state.isPolling = !state.viewers.isEmpty
            return state.isPolling
        }
    }
}
