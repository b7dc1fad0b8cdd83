import Foundation

/// What the kernel counts about processes, read from outside: what is measured does not have to measure itself.
enum ProcessFiles {
    /// CPU of a process's threads, user and system, in nanoseconds, summed by their names.
    ///
    /// The same clock as the threads' own CLOCK_THREAD_CPUTIME_ID; up to a timer tick late for one that is running.
    static func threadCPU(of process: Int32) -> [String: Int64] {
        var cpu: [String: Int64] = [:]
        for thread in numbers(in: "/proc/\(process)/task") {
            let folder = "/proc/\(process)/task/\(thread)"
            guard let name = text("\(folder)/comm"), let schedule = text("\(folder)/schedstat") else { continue }
            let running = schedule.split(separator: " ").first.flatMap { Int64($0) } ?? 0
            cpu[name.trimmingCharacters(in: .newlines), default: 0] += running
        }
        return cpu
    }

    /// CPU seconds of a process and all its children, those that ended and were waited for included.
    static func familyCPU(of parent: Int32) -> Double {
        var ticks = status(of: parent).map { $0.own + $0.ofEndedChildren } ?? 0
        for process in numbers(in: "/proc") {
            guard let child = status(of: process), child.parent == parent else { continue }
            ticks += child.own + child.ofEndedChildren
        }
        return Double(ticks) / ticksPerSecond
    }

    /// CPU seconds of this process's children that have ended.
    static var endedChildrenCPU: Double {
        Double(status(of: getpid())?.ofEndedChildren ?? 0) / ticksPerSecond
    }

    /// Resident bytes: the most since the last reset, and now.
    static func memory(of process: Int32) -> (peak: Double, now: Double) {
        var values: [String: Double] = [:]
        for line in (text("/proc/\(process)/status") ?? "").split(separator: "\n") {
            let words = line.split(whereSeparator: { " \t:".contains($0) })
            guard words.count >= 2, let kibibytes = Double(words[1]) else { continue }
            values[String(words[0])] = kibibytes * 1024
        }
        return (values["VmHWM"] ?? 0, values["VmRSS"] ?? 0)
    }

    /// Lets the peak of resident memory begin again from what is resident now (proc(5), clear_refs).
    static func resetPeak(of process: Int32) {
        guard let file = FileHandle(forWritingAtPath: "/proc/\(process)/clear_refs") else { return }
        try? file.write(contentsOf: Data("5".utf8))
        try? file.close()
    }

    /// Whether somebody listens on a TCP port of 127.0.0.1.
    static func isListening(port: Int) -> Bool {
        let address = "0100007F:" + String(format: "%04X", port)
        return (text("/proc/net/tcp") ?? "").split(separator: "\n").contains { line in
            let words = line.split(separator: " ")
            return words.count > 3 && words[1] == address && words[3] == "0A"
        }
    }

    private struct Status {
        let parent: Int32
        let own: Int64
        let ofEndedChildren: Int64
    }

    private static let ticksPerSecond = Double(sysconf(Int32(_SC_CLK_TCK)))

    private static func status(of process: Int32) -> Status? {
        // The name stands in parentheses and may hold anything: fields are counted behind it (proc(5), stat).
        guard let line = text("/proc/\(process)/stat"), let end = line.lastIndex(of: ")") else { return nil }
        let fields = line[end...].split(separator: " ").dropFirst().map { Int64($0) ?? 0 }
        guard fields.count > 14 else { return nil }
        return Status(
            parent: Int32(truncatingIfNeeded: fields[1]),
            own: fields[11] + fields[12],
            ofEndedChildren: fields[13] + fields[14]
        )
    }

    private static func numbers(in folder: String) -> [Int32] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.compactMap { Int32($0) }
    }

    private static func text(_ path: String) -> String? {
        try? String(contentsOfFile: path, encoding: .utf8)
    }
}
