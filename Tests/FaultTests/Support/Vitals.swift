import Foundation

/// The memory and file descriptors of a process.
struct Vitals: Sendable {
    let megabytes: Double
    let descriptors: Int

    /// Reads the values of a running process.
    init(of process: Int32) throws {
        let folder = "/proc/\(process)"
        let status = try String(contentsOfFile: folder + "/status", encoding: .utf8)
        megabytes = status.firstMatch(of: /VmRSS:\s+([0-9]+) kB/).flatMap { Double($0.1) }.map { $0 / 1024 } ?? 0
        descriptors = try FileManager.default.contentsOfDirectory(atPath: folder + "/fd").count
    }

    private init(megabytes: Double, descriptors: Int) {
        self.megabytes = megabytes
        self.descriptors = descriptors
    }

    /// Returns the median values of a time, not those of one sample.
    static func median(of samples: [Vitals]) -> Vitals? {
        guard !samples.isEmpty else { return nil }
        return Vitals(
            megabytes: samples.map(\.megabytes).sorted()[samples.count / 2],
            descriptors: samples.map(\.descriptors).sorted()[samples.count / 2]
        )
    }

    var description: String { "\(Int(megabytes.rounded())) MiB and \(descriptors) descriptors" }
}
