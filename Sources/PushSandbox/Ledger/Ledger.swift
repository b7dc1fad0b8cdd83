import Foundation
import NIOCore
import NIOHPACK
import NIOPosix
import Threading

/// The record of all requests: counts always, lines unless the sandbox is a sink.
final class Ledger: Sendable {
    private struct Waiter {
        let threshold: Int
        let continuation: CheckedContinuation<Void, Never>
    }

    private struct State {
        var tally = Tally()
        var file: LedgerFile?
        var waiters: [Int: Waiter] = [:]
        var nextWaiter = 0
        var isClosed = false
    }

    private let state: Locked<State>
    /// The path of the file; nil in sink mode.
    let path: String?
    private let collapsePrefix: String?

    /// Creates an empty ledger.
    ///
    /// - Parameters:
    ///   - path: the file for the lines; nil to keep only counts.
    ///   - collapsePrefix: the prefix of the collapse ids of pushes that get a line; nil for all pushes.
    /// - Throws: `SandboxError` if the file cannot be created.
    init(path: String?, collapsePrefix: String? = nil) throws(SandboxError) {
        self.path = path
        self.collapsePrefix = collapsePrefix
        var initial = State()
        if let path {
            initial.file = try LedgerFile(path: path)
        }
        state = Locked(initial)
    }

    /// Records a complete request; called before its response is sent.
    func append(_ reception: Reception) {
        let reached = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            state.tally.count(reception)
            if isWanted(reception) { state.file?.append(reception) }
            guard !state.waiters.isEmpty else { return [] }
            return Self.takeReached(&state)
        }
        for continuation in reached {
            continuation.resume()
        }
    }

    private func isWanted(_ reception: Reception) -> Bool {
        guard let collapsePrefix else { return true }
        return reception.request.head.fields.first(name: "apns-collapse-id")?.hasPrefix(collapsePrefix) ?? false
    }

    private static func takeReached(_ state: inout State) -> [CheckedContinuation<Void, Never>] {
        let received = state.tally.received
        let reached = state.waiters.filter { $0.value.threshold <= received || state.isClosed }
        for id in reached.keys {
            state.waiters[id] = nil
        }
        return reached.values.map(\.continuation)
    }

    func update(_ change: @Sendable (inout Tally) -> Void) {
        state.withLock { change(&$0.tally) }
    }

    var counts: SandboxCounts {
        state.withLock { $0.tally.snapshot }
    }

    /// Waits for a number of requests, a timeout, or the end of the sandbox.
    ///
    /// - Parameters:
    ///   - threshold: the number of complete requests since the start.
    ///   - time: the timeout.
    func wait(forReceived threshold: Int, atMost time: TimeAmount) async {
        guard time > .zero else { return }
        let id = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        // Not on a loop of the sandbox: a client may start to wait after those have ended.
        let timer = MultiThreadedEventLoopGroup.singleton.any().scheduleTask(in: time) { self.release(id) }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isDue = state.withLock { state in
                    guard state.tally.received < threshold, !state.isClosed, !Task.isCancelled else { return true }
                    state.waiters[id] = Waiter(threshold: threshold, continuation: continuation)
                    return false
                }
                if isDue { continuation.resume() }
            }
        } onCancel: {
            release(id)
        }
        timer.cancel()
    }

    private func release(_ id: Int) {
        let waiter = state.withLock { $0.waiters.removeValue(forKey: id) }
        waiter?.continuation.resume()
    }

    /// Writes buffered lines to the file.
    func flush() {
        state.withLock { $0.file?.flush() }
    }

    /// Returns the lines after the n-th, once they are all in the file.
    ///
    /// - Parameter n: the number of the last line before the extent.
    /// - Returns: the extent up to the last line.
    /// - Throws: `SandboxError` for a sink, and if the file could not be written.
    func extent(after n: Int) throws(SandboxError) -> LedgerExtent {
        let found = state.withLock { state -> Result<LedgerExtent, SandboxError> in
            guard state.file != nil else {
                return .failure(SandboxError(.noLedger, "this sandbox is a sink: it keeps counts only, see /counts"))
            }
            state.file?.flush()
            guard let file = state.file else { return .success(LedgerExtent(path: "", offset: 0, end: 0, skip: 0)) }
            if let failure = file.failure {
                return .failure(SandboxError(.folder, failure))
            }
            let position = file.position(after: min(max(n, 0), file.lines))
            return .success(
                LedgerExtent(path: file.path, offset: position.offset, end: file.size, skip: position.skip)
            )
        }
        return try found.get()
    }

    /// Flushes and closes the file, and ends all waits.
    func close() {
        let waiting = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            state.isClosed = true
            state.file?.flush()
            state.file?.close()
            return Self.takeReached(&state)
        }
        for continuation in waiting {
            continuation.resume()
        }
    }
}
