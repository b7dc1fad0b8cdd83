import Foundation

/// The kernel's counters of processes, read from outside, so that the measured process does not have to measure itself.
enum ProcessFiles {
    /// Returns the CPU of a process's threads, user and system, in nanoseconds, summed by thread name.
    ///
    /// The same clock as the threads' own CLOCK_THREAD_CPUTIME_ID; for a running thread it is up to a timer tick late.
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

    /// Returns how often the threads of a process slept and were woken.
    static func voluntarySwitches(of process: Int32) -> Int64 {
        numbers(in: "/proc/\(process)/task").reduce(0) { sum, thread in
            let lines = (text("/proc/\(process)/task/\(thread)/status") ?? "").split(separator: "\n")
            let line = lines.first { $0.hasPrefix("voluntary_ctxt_switches:") }
            return sum + (line?.split(separator: "\t").last.flatMap { Int64($0) } ?? 0)
        }
    }

    /// Returns the children of a process.
    static func children(of parent: Int32) -> [Int32] {
        numbers(in: "/proc").filter { status(of: $0)?.parent == parent }
    }

    /// Returns the CPU seconds of a process and all its children, including those that ended and were waited for.
    static func familyCPU(of parent: Int32) -> Double {
        var ticks = status(of: parent).map { $0.own + $0.ofEndedChildren } ?? 0
        for process in children(of: parent) {
            guard let child = status(of: process) else { continue }
            ticks += child.own + child.ofEndedChildren
        }
        return Double(ticks) / ticksPerSecond
    }

    /// The CPU seconds of this process's children that have ended.
    static var endedChildrenCPU: Double {
        Double(status(of: getpid())?.ofEndedChildren ?? 0) / ticksPerSecond
    }

    /// Returns the resident bytes: the peak since the last reset, and the current value.
    static func memory(of process: Int32) -> (peak: Double, now: Double) {
        var values: [String: Double] = [:]
        for line in (text("/proc/\(process)/status") ?? "").split(separator: "\n") {
            let words = line.split(whereSeparator: { " \t:".contains($0) })
            guard words.count >= 2, let kibibytes = Double(words[1]) else { continue }
            values[String(words[0])] = kibibytes * 1024
        }
        return (values["VmHWM"] ?? 0, values["VmRSS"] ?? 0)
    }

    /// Resets the peak of resident memory to its current value (proc(5), clear_refs).
    static func resetPeak(of process: Int32) {
        guard let file = FileHandle(forWritingAtPath: "/proc/\(process)/clear_refs") else { return }
        try? file.write(contentsOf: Data("5".utf8))
        try? file.close()
    }

    /// Returns whether a process listens on a TCP port of 127.0.0.1.
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
        // The name is in parentheses and may contain any character: fields are counted after it (proc(5), stat).
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
