import Foundation
import PrivateCluster

extension PrivateCluster {
    /// Returns the server's processes, the first one first.
    func processes() throws -> [Int32] {
        let file = try String(contentsOfFile: directory + "/data/postmaster.pid", encoding: .utf8)
        guard let first = file.split(separator: "\n").first.flatMap({ Int32($0) }), first > 1 else {
            throw RigError(message: "no process id in postmaster.pid")
        }
        let children = try FileManager.default.contentsOfDirectory(atPath: "/proc").compactMap { Int32($0) }.filter {
            process in
            // The name, in parentheses, may contain spaces: the parent is the second field after it.
            let stat = (try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)) ?? ""
            return stat.split(separator: ")").last?.split(separator: " ").dropFirst().first == "\(first)"
        }
        return [first] + children
    }
}
