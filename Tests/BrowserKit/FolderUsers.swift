import Foundation

/// The processes that a folder is for, found by its name among their arguments.
struct FolderUsers: Sendable {
    /// A path that nobody else has among their arguments.
    let folder: String

    /// Waits until there are none, and kills those that stay.
    ///
    /// - Parameter time: how long they may take to end by themselves.
    func end(within time: Duration) async {
        let deadline = ContinuousClock.now + time
        while true {
            let processes = all()
            if processes.isEmpty { return }
            if ContinuousClock.now > deadline { for process in processes { kill(process, SIGKILL) } }
            // They are nobody's children here, so that nothing tells of their end. Cancelled, it asks all the time.
            try? await Task.sleep(for: .milliseconds(20))
        }
    }

    private func all() -> [Int32] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return names.compactMap { Int32($0) }.filter { process in
            // Empty of those that have ended and wait for somebody to ask how.
            let arguments = FileManager.default.contents(atPath: "/proc/\(process)/cmdline") ?? Data()
            return String(decoding: arguments, as: UTF8.self).contains(folder)
        }
    }
}
