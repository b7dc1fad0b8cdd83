/// A vertical axis from zero to a round number.
struct ChartScale: Equatable {
    /// The largest value on the axis.
    let end: Double
    /// The number of equal parts between grid lines.
    let parts: Int

    /// Creates an axis that fits a value.
    ///
    /// - Parameters:
    ///   - largest: the largest value to fit.
    ///   - whole: whether grid lines are at whole numbers only.
    init(_ largest: Double, whole: Bool = true) {
        let largest = largest.isFinite ? max(largest, whole ? 1 : 1e-6) : 1
        var power = 1.0
        while power * 10 <= largest { power *= 10 }
        while power > largest { power /= 10 }
        // The fewest grid lines that waste the least space.
        var best: (end: Double, parts: Int)?
        for step in [0.2, 0.25, 0.5, 1, 2, 2.5, 5].map({ $0 * power }) {
            guard !whole || step == step.rounded() else { continue }
            let parts = (largest / step - 1e-9).rounded(.up)
            guard parts >= 1, parts <= 5 else { continue }
            let end = parts * step
            guard let found = best else {
                best = (end, Int(parts))
                continue
            }
            if end < found.end - 1e-9 * end { best = (end, Int(parts)) }
        }
        end = best?.end ?? largest.rounded(.up)
        parts = best?.parts ?? 1
    }

    /// The values at the grid lines, from the top down to zero.
    var values: [Double] { (0...parts).reversed().map { end * Double($0) / Double(parts) } }

    /// Returns the height of a value, as a share of the axis.
    func share(_ value: Double) -> Double { value.isFinite ? min(max(value / end, 0), 1) : 0 }
}
