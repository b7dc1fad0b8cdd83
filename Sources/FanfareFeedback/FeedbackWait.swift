package import FanfareCore

/// The backoff of a hook that failed.
package enum FeedbackWait {
    /// The longest backoff, unless the receiver asks for more.
    package static let longest = 5 * Micros.minute

    /// Returns the wait after consecutive failures.
    ///
    /// The ceiling is one second, doubled with each failure, up to five minutes; the wait is random in the upper half.
    /// `Retry-After` is a floor.
    ///
    /// - Parameters:
    ///   - failures: the number of consecutive failures, including this one.
    ///   - retryAfter: the receiver's `Retry-After`, in microseconds.
    ///   - random: a number evenly distributed in 0..<1.
    /// - Returns: the wait in microseconds.
    package static func wait(after failures: Int, retryAfter: Microseconds?, random: Double) -> Microseconds {
        let ceiling = min(Micros.second << Int64(min(max(failures - 1, 0), 20)), longest)
        return max(Microseconds(Double(ceiling) * (0.5 + random / 2)), retryAfter ?? 0)
    }
}
