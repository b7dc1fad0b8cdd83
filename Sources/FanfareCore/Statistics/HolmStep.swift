/// The result of one of several comparisons, by Holm's procedure.
///
/// The smallest of m p-values is compared with `alpha / m`, the next with `alpha / (m - 1)`, and so on up to the first
/// that is too large. The probability of any false rejection is then at most `alpha`.
public struct HolmStep: Hashable, Sendable {
    /// The error level that decided the comparison.
    ///
    /// A rejected comparison has the level of its own step. The others have the level at which the procedure stopped.
    /// The interval at this level excludes 0 exactly if the comparison is rejected.
    public let level: Double
    /// The adjusted p-value, which is compared with `alpha` itself.
    public let adjustedP: Double
    /// Whether equal rates are rejected.
    public let isRejected: Bool

    /// Applies the procedure.
    ///
    /// - Parameters:
    ///   - values: the p-values; values outside 0...1 are clamped, and NaN counts as 1.
    ///   - alpha: the error level of all comparisons together, clamped to 10^-12...0.5.
    /// - Returns: a result for each p-value, in their order.
    public static func all(of values: [Double], alpha: Double = RateTest.alpha) -> [HolmStep] {
        let alpha = Normal.clamped(alpha)
        let clean = values.map { $0 < 1 ? max(0, $0) : 1 }
        let order = clean.indices.sorted { (clean[$0], $0) < (clean[$1], $1) }
        var steps = [HolmStep](repeating: HolmStep(level: alpha, adjustedP: 1, isRejected: false), count: clean.count)
        var adjusted = 0.0
        var level = alpha
        var isStopped = false
        for (rank, index) in order.enumerated() {
            let left = Double(clean.count - rank)
            adjusted = max(adjusted, min(1, clean[index] * left))
            if !isStopped { level = alpha / left }
            isStopped = isStopped || clean[index] > level
            steps[index] = HolmStep(level: level, adjustedP: adjusted, isRejected: !isStopped)
        }
        return steps
    }
}
