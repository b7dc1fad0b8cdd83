internal import CCurl
import Glibc

/// An anonymous file in memory that libcurl reads by a path.
///
/// libcurl copies and compares a path for every request. It does the same with a blob, which for a bundle of
/// authorities doubles the CPU cost of a push.
final class MemoryFile {
    private let descriptor: Int32

    /// The path, valid as long as this object lives.
    var path: String { "/proc/self/fd/\(descriptor)" }

    private init(owning descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// Creates a file with the given content.
    ///
    /// - Returns: nil if the system lacks memory or a descriptor; `errno` has the reason.
    static func holding(_ bytes: [UInt8]) -> MemoryFile? {
        let descriptor = unsafe ccurl_memory_file("fanfare")
        guard descriptor >= 0 else { return nil }
        let file = MemoryFile(owning: descriptor)
        return file.append(bytes) ? file : nil
    }

    private func append(_ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let written = unsafe rest.withUnsafeBytes { unsafe write(descriptor, $0.baseAddress, $0.count) }
            if written < 0 && errno == EINTR { continue }
            guard written > 0 else { return false }
            rest = rest.dropFirst(written)
        }
        return true
    }
}
