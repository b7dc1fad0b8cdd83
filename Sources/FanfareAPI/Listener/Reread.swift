internal import FanfareTools
internal import Foundation
internal import Threading

/// What is read from files, and read again when one of them is another; what cannot be used changes nothing.
///
/// Nobody watches: who asks looks, but not more often than every so often. Reading is under a lock: the files are small.
final class Reread<Value: Sendable>: Sendable {
    private struct State {
        var value: Value?
        /// Of the files that ``value`` is from, or that could not be used.
        var stamps: [FileStamp]?
        var checkedAt: ContinuousClock.Instant?
    }

    private let files: [String]
    private let interval: Duration
    private let read: @Sendable () throws(ToolError) -> Value
    private let told: @Sendable (ToolError?) -> Void
    private let state: Locked<State>

    /// Reads nothing yet.
    ///
    /// - Parameters:
    ///   - files: absolute paths.
    ///   - interval: how often they are looked at.
    ///   - before: what counts until they could be read.
    ///   - read: reads them.
    ///   - told: what came of it, each time they were read: nil where all is well.
    init(
        _ files: [String],
        every interval: Duration,
        before: Value?,
        read: @escaping @Sendable () throws(ToolError) -> Value,
        told: @escaping @Sendable (ToolError?) -> Void
    ) {
        (self.files, self.interval, self.read, self.told) = (files, interval, read, told)
        state = Locked(State(value: before))
    }

    /// What the files say, or said when they last could be used; nil if they never could.
    var value: Value? {
        state.withLock { state in
            let now = ContinuousClock.now
            if let checkedAt = state.checkedAt, now - checkedAt < interval { return state.value }
            state.checkedAt = now
            let stamps = files.map(FileStamp.init)
            guard stamps != state.stamps else { return state.value }
            state.stamps = stamps
            do throws(ToolError) {
                state.value = try read()
                told(nil)
            } catch {
                told(error)
            }
            return state.value
        }
    }

    /// What counts now, whatever the files say.
    var kept: Value? { state.withLock { $0.value } }

    /// Reads at once.
    ///
    /// - Throws: what is wrong with the files.
    func readNow() throws(ToolError) {
        let stamps = files.map(FileStamp.init)
        let value = try read()
        state.withLock { [value] in $0 = State(value: value, stamps: stamps, checkedAt: .now) }
    }
}

/// By which a file is told from what was there before.
private struct FileStamp: Equatable, Sendable {
    /// Behind symbolic links, which container platforms turn to another folder.
    let path: String
    let number: Int?
    let size: Int?
    let mode: Int?
    let changed: Date?

    init(_ file: String) {
        path = URL(fileURLWithPath: file).resolvingSymlinksInPath().path
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        number = (attributes?[.systemFileNumber] as? NSNumber)?.intValue
        size = (attributes?[.size] as? NSNumber)?.intValue
        mode = (attributes?[.posixPermissions] as? NSNumber)?.intValue
        changed = attributes?[.modificationDate] as? Date
    }
}
