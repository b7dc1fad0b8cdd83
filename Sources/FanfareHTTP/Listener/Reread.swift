package import FanfareTools
internal import Foundation
internal import Threading

/// A value read from files and read again after one of them changes; unusable files leave the value as it was.
///
/// There is no file watcher: reading ``value`` checks the files, at most once per interval. The files are read under
/// the lock, because they are small.
package final class Reread<Value: Sendable>: Sendable {
    private struct State {
        var value: Value?
        /// The stamps of the files that ``value`` was read from, or of the last files that could not be used.
        var stamps: [FileStamp]?
        var checkedAt: ContinuousClock.Instant?
    }

    private let files: [String]
    private let interval: Duration
    private let read: @Sendable () throws(ToolError) -> Value
    private let told: @Sendable (ToolError?) -> Void
    private let state: Locked<State>

    /// Creates the value without reading the files.
    ///
    /// - Parameters:
    ///   - files: absolute paths.
    ///   - interval: the shortest time between two checks of the files.
    ///   - before: the value until the files could be read.
    ///   - read: reads the files.
    ///   - told: called after each read with its error, or nil if it succeeded.
    package init(
        _ files: [String],
        every interval: Duration,
        before: Value?,
        read: @escaping @Sendable () throws(ToolError) -> Value,
        told: @escaping @Sendable (ToolError?) -> Void
    ) {
        (self.files, self.interval, self.read, self.told) = (files, interval, read, told)
        state = Locked(State(value: before))
    }

    /// The value of the last read that succeeded, after checking the files; nil if none did.
    package var value: Value? {
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

    /// The current value, without checking the files.
    package var kept: Value? { state.withLock { $0.value } }

    /// Reads the files now.
    ///
    /// - Throws: the reason why the files cannot be used; the value then stays as it was.
    package func readNow() throws(ToolError) {
        let stamps = files.map(FileStamp.init)
        let value = try read()
        state.withLock { [value] in $0 = State(value: value, stamps: stamps, checkedAt: .now) }
    }
}

/// The attributes by which a changed file is recognized.
private struct FileStamp: Equatable, Sendable {
    /// The path with symbolic links resolved; container runtimes replace files by moving a link to another folder.
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
