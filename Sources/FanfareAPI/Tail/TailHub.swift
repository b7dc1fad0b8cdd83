internal import FanfareCore
internal import FanfareTools
internal import Foundation
internal import PostgresClient
internal import Threading

/// Follows the logs once for all readers, while there are any and for ``linger`` after the last.
///
/// The same session reads older lines once for all readers that ask for them.
final class TailHub: Sendable {
    /// How long the logs are followed after the last reader has left; a reader that returns within it misses nothing.
    static let linger = Duration.seconds(60)
    /// How far before the requested position the logs are read, in microseconds, for readers that ask for a slightly
    /// earlier one.
    static let margin: Int64 = 60_000_000
    /// The oldest position from which the logs are read, in microseconds before now.
    static let reach: Int64 = 86_400_000_000
    /// The most reads of older lines before lines count as new.
    static let backReads = 20
    private static let pause = 1.0

    private struct State {
        var bells: [Int: AsyncStream<Void>.Continuation] = [:]
        var lastID = 0
        /// The recent lines; nil until the logs are followed.
        var ring: TailRing?
        /// The earliest time that a reader wants to continue after and that arrived before the ring.
        var wanted: Int64?
        var isStopped = false
        var thread: WorkerThread?
        var isPolling = false
    }

    private let database: ToolDatabase
    private let state = Locked(State())

    init(_ database: ToolDatabase) {
        self.database = database
    }

    /// Starts to follow the logs for a reader.
    ///
    /// - Parameter place: the position to continue after; nil for new lines.
    /// - Returns: a bell that rings when ``read(_:)`` may have news, at least every second, and ends when the server
    ///   stops; and the position, if it is already known. Cancelling the bell ends the reader.
    func follow(behind place: TailPlace?) -> (bell: AsyncStream<Void>, place: TailPlace?) {
        let (bell, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let start = state.withLock { state -> TailPlace? in
            guard !state.isStopped else {
                continuation.finish()
                return place
            }
            state.lastID += 1
            let id = state.lastID
            state.bells[id] = continuation
            continuation.onTermination = { [weak self] _ in self?.leave(id) }
            continuation.yield()
            if !state.isPolling {
                state.isPolling = true
                state.thread = WorkerThread.start(name: "api tail") { self.poll() }
            }
            if let ring = state.ring { return place ?? ring.last }
            if let place { state.wanted = min(state.wanted ?? place.at, place.at) }
            return place
        }
        return (bell, start)
    }

    /// Reads from the ring.
    ///
    /// - Parameter body: reads; it holds the lock, so it must be short.
    /// - Returns: what `body` returns; nil until the logs are followed.
    func read<Value: Sendable>(_ body: (TailRing) -> Value?) -> Value? {
        state.withLock { state in state.ring.flatMap { body($0) } }
    }

    /// Ends all streams and accepts no more readers.
    func stop() {
        let bells = state.withLock { state in
            state.isStopped = true
            defer { state.bells = [:] }
            return Array(state.bells.values)
        }
        for bell in bells { bell.finish() }
    }

    /// Whether the hub accepts no more readers.
    var isStopped: Bool { state.withLock { $0.isStopped } }

    /// Stops, and waits until the session is closed.
    func close() async {
        stop()
        await state.withLock { $0.thread }?.value()
    }

    private func leave(_ id: Int) {
        state.withLock { state in _ = state.bells.removeValue(forKey: id) }
    }

    private func poll() {
        var tail: LogTail?
        var checkedAt = ContinuousClock.now
        while isWanted(&checkedAt) {
            var isBusy = false
            do {
                if let tail {
                    let lines = try tail.next().map(TailRing.Entry.init)
                    isBusy = !lines.isEmpty
                    state.withLock { $0.ring?.append(lines) }
                } else {
                    tail = try begin()
                }
            } catch {
                // The ring stays; the next session continues from its newest line.
                tail = nil
            }
            for bell in state.withLock({ Array($0.bells.values) }) { bell.yield() }
            if !isBusy { Thread.sleep(forTimeInterval: Self.pause) }
        }
    }

    /// Opens a session that starts at the ring's newest line, or else at the earliest position that a reader waits for.
    private func begin() throws -> LogTail {
        let behind = state.withLock { $0.ring?.newest ?? $0.wanted }
        guard let behind, behind > Clocks.wallSeconds * 1_000_000 - Self.reach else { return try begin(since: nil) }
        do {
            return try begin(since: behind - Self.margin)
        } catch let error as ToolError where error.cause?.sqlState == "57014" {
            // Reading that far back exceeds the statement timeout; the readers are sent a gap.
            return try begin(since: nil)
        }
    }

    private func begin(since: Int64?) throws -> LogTail {
        var filter = LogTail.Filter()
        filter.since = since.map { Since(Timestamp(microseconds: $0).rfc3339) }
        let tail = try database.tail(filter)
        var ring = TailRing(run: .random(in: 1 ... .max), coveredFrom: tail.from)
        if since != nil {
            for _ in 0..<Self.backReads where !isStopped {
                let lines = try tail.next().map(TailRing.Entry.init)
                if lines.isEmpty { break }
                ring.append(lines)
            }
            ring.begin()
        }
        state.withLock { [ring] in ($0.ring, $0.wanted) = (ring, nil) }
        return tail
    }

    /// Returns whether to keep following; after a false, the next reader starts another thread.
    private func isWanted(_ checkedAt: inout ContinuousClock.Instant) -> Bool {
        let now = ContinuousClock.now
        let (isChecked, isPolling) = state.withLock { [checkedAt] state in
            let isChecked = !state.bells.isEmpty
            state.isPolling = !state.isStopped && (isChecked || now - checkedAt < Self.linger)
            if !state.isPolling { (state.ring, state.wanted) = (nil, nil) }
            return (isChecked, state.isPolling)
        }
        if isChecked { checkedAt = now }
        return isPolling
    }
}
