internal import CCurl
import Glibc

/// Bytes that libcurl reads by a path although they are in no file system.
///
/// libcurl copies and compares a path for every request, but a blob too: for a bundle of authorities that doubles the CPU
/// of a push.
final class MemoryFile {
    private let descriptor: Int32

    /// What libcurl reads it by, as long as this object lives.
    var path: String { "/proc/self/fd/\(descriptor)" }

    private init(owning descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// Makes one.
    ///
    /// - Returns: nil if the system has no memory or descriptor for it; `errno` says why.
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
