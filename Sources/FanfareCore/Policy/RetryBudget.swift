/// Limits the retries sent beside new pushes, so that retries never become the load that keeps a provider down.
///
/// The budget is 10 % of the answers of the last 10 s, and at least 10 in each second. Retries beyond the budget wait;
/// none is dropped. The first attempt in the other environment does not count as a retry (``RetryHistory/isMove``).
/// There is one budget for each app and provider. Times are microseconds of any monotonic clock.
public struct RetryBudget: Equatable, Sendable {
    /// Retries per hundred answers.
    public static let percent = 10
    /// The retries allowed in every second.
    public static let leastPerSecond = 10

    private struct Tally: WindowTally {
        var answers = 0
        var retries = 0

        static func += (tally: inout Tally, other: Tally) {
            tally.answers += other.answers
            tally.retries += other.retries
        }
    }

    private var window = SlidingWindow<Tally>(width: 10 * Micros.second, buckets: 10)

    /// Makes a budget without answers.
    public init() {}

    /// Counts answers, of first attempts and of retries.
    ///
    /// - Parameters:
    ///   - count: the number of answers.
    ///   - now: the time.
    public mutating func answered(_ count: Int, at now: Microseconds) {
        window.add(Tally(answers: max(count, 0)), at: now)
    }

    /// Takes retries from the budget.
    ///
    /// - Parameters:
    ///   - wanted: the number of retries that are ready.
    ///   - now: the time.
    /// - Returns: how many may be sent now, at most `wanted`; the others wait for answers, or for the next second.
    public mutating func take(_ wanted: Int, at now: Microseconds) -> Int {
        let total = window.total(at: now)
        let byShare = total.answers * Self.percent / 100 - total.retries
        let bySecond = Self.leastPerSecond - window.current(at: now).retries
        let granted = min(max(byShare, bySecond, 0), max(wanted, 0))
        window.add(Tally(retries: granted), at: now)
        return granted
    }
}
