import Foundation

/// The processes that use a folder, found by its path in their arguments.
struct FolderUsers: Sendable {
    /// The path, which no other process has in its arguments.
    let folder: String

    /// Waits until these processes have ended, and kills those that remain.
    ///
    /// - Parameter time: the time they have to end by themselves.
    func end(within time: Duration) async {
        let deadline = ContinuousClock.now + time
        while true {
            let processes = all()
            if processes.isEmpty { return }
            if ContinuousClock.now > deadline { for process in processes { kill(process, SIGKILL) } }
            // They are not children of this process, so their end must be polled. If the task is cancelled, the loop
            // polls without pauses.
            try? await Task.sleep(for: .milliseconds(20))
        }
    }

    private func all() -> [Int32] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return names.compactMap { Int32($0) }.filter { process in
            // Empty for a zombie process.
            let arguments = FileManager.default.contents(atPath: "/proc/\(process)/cmdline") ?? Data()
            return String(decoding: arguments, as: UTF8.self).contains(folder)
        }
    }
}
