internal import FanfareMetrics
internal import Foundation

/// The process metrics that Prometheus clients export, read from `/proc`.
enum ProcessFigures {
    /// Returns the current figures; unreadable ones are left out.
    static func families() -> [MetricFamily] {
        var families: [MetricFamily] = []
        let ticks = 100.0
        if let stat = fields("/proc/self/stat", behind: ")"), stat.count > 20 {
            let busy = ((Double(stat[11]) ?? 0) + (Double(stat[12]) ?? 0)) / ticks
            families.append(FigureMetric.processCPU.family(busy))
            if let boot = bootTime(), let started = Double(stat[19]) {
                families.append(FigureMetric.processStart.family(boot + started / ticks))
            }
        }
        if let memory = fields("/proc/self/statm"), memory.count > 1, let pages = Double(memory[1]) {
            families.append(FigureMetric.processMemory.family(pages * Double(sysconf(Int32(_SC_PAGESIZE)))))
        }
        if let open = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") {
            families.append(FigureMetric.processDescriptors.family(Double(open.count)))
        }
        return families
    }

    private static func fields(_ path: String, behind mark: Character? = nil) -> [Substring]? {
        guard let data = FileManager.default.contents(atPath: path) else { return nil }
        var text = String(decoding: data, as: UTF8.self)[...]
        if let mark, let place = text.lastIndex(of: mark) { text = text[text.index(after: place)...] }
        return text.split(whereSeparator: \.isWhitespace)
    }

    private static func bootTime() -> Double? {
        guard let all = fields("/proc/stat"), let place = all.firstIndex(of: "btime"), place + 1 < all.count
        else { return nil }
        return Double(all[place + 1])
    }
}
