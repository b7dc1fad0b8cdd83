import Glibc

/// The limits for the number of open file descriptors of this process.
public struct DescriptorLimit: Equatable, Sendable {
    /// The limit in force.
    public let soft: UInt64
    /// The highest limit that the process may set.
    public let hard: UInt64

    /// Creates a pair of limits.
    ///
    /// - Parameters:
    ///   - soft: the limit in force.
    ///   - hard: the highest limit that the process may set.
    public init(soft: UInt64, hard: UInt64) {
        self.soft = soft
        self.hard = hard
    }

    /// The limits in force; unlimited if the system does not report them.
    public static var current: DescriptorLimit {
        var limit = rlimit()
        guard unsafe getrlimit(resource, &limit) == 0 else { return DescriptorLimit(soft: .max, hard: .max) }
        return DescriptorLimit(soft: UInt64(limit.rlim_cur), hard: UInt64(limit.rlim_max))
    }

    /// Raises the soft limit to the hard limit.
    ///
    /// The lower default protects programs that call select(2), which this one does not.
    ///
    /// - Returns: the limits in force afterwards; the old ones if the system refuses.
    @discardableResult
    public static func raise() -> DescriptorLimit {
        let before = current
        if before.soft < before.hard {
            var limit = rlimit(rlim_cur: rlim_t(before.hard), rlim_max: rlim_t(before.hard))
            _ = unsafe setrlimit(resource, &limit)
        }
        return current
    }

    /// Returns whether a number of further descriptors can be opened now.
    ///
    /// Other threads may open them in the meantime.
    ///
    /// - Parameter count: the number of descriptors.
    /// - Returns: whether they could be opened.
    public static func hasRoom(for count: Int) -> Bool {
        var opened: [Int32] = []
        defer { for descriptor in opened { close(descriptor) } }
        while opened.count < count {
            let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
            guard descriptor >= 0 else { return false }
            opened.append(descriptor)
        }
        return true
    }

    private static var resource: __rlimit_resource_t { __rlimit_resource_t(RLIMIT_NOFILE.rawValue) }
}
