package import FanfareCore

/// How long a hook that failed is left alone.
package enum FeedbackWait {
    /// The longest that is waited unless the receiver asks for more.
    package static let longest = 5 * Micros.minute

    /// The wait after so many failures in a row: a second, doubled with each, up to five minutes, the upper half of it random.
    ///
    /// - Parameters:
    ///   - failures: how many, this one included.
    ///   - retryAfter: what the receiver asked for.
    ///   - random: evenly distributed in 0..<1.
    /// - Returns: microseconds.
    package static func wait(after failures: Int, retryAfter: Microseconds?, random: Double) -> Microseconds {
        let ceiling = min(Micros.second << Int64(min(max(failures - 1, 0), 20)), longest)
        return max(Microseconds(Double(ceiling) * (0.5 + random / 2)), retryAfter ?? 0)
    }
}
