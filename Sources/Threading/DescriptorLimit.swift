import Glibc

/// How many file descriptors this process may have open at once.
public struct DescriptorLimit: Equatable, Sendable {
    /// As many as it may have now.
    public let soft: UInt64
    /// As many as it may allow itself.
    public let hard: UInt64

    /// Limits.
    ///
    /// - Parameters:
    ///   - soft: as many as are allowed now.
    ///   - hard: as many as could be.
    public init(soft: UInt64, hard: UInt64) {
        self.soft = soft
        self.hard = hard
    }

    /// The limits in force; none where the system does not tell.
    public static var current: DescriptorLimit {
        var limit = rlimit()
        guard unsafe getrlimit(resource, &limit) == 0 else { return DescriptorLimit(soft: .max, hard: .max) }
        return DescriptorLimit(soft: UInt64(limit.rlim_cur), hard: UInt64(limit.rlim_max))
    }

    /// Allows this process as many as it may have.
    ///
    /// The lower limit is for programs that call select(2), which this one never does.
    ///
    /// - Returns: the limits in force then; the old ones if the system refuses.
    @discardableResult
    public static func raise() -> DescriptorLimit {
        let before = current
        if before.soft < before.hard {
            var limit = rlimit(rlim_cur: rlim_t(before.hard), rlim_max: rlim_t(before.hard))
            _ = unsafe setrlimit(resource, &limit)
        }
        return current
    }

    /// Whether so many more descriptors can be had now.
    ///
    /// Others may take them meanwhile.
    ///
    /// - Parameter count: how many.
    /// - Returns: true if they could be opened.
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
