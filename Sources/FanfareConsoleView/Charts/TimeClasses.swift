/// The counts of a histogram of durations.
package struct TimeClasses: Sendable {
    /// The upper bounds of all classes but the last, in seconds.
    let bounds: [Double]
    /// The count of each class, including the last.
    package var counts: [Int64]

    /// Creates an empty histogram.
    ///
    /// - Parameter bounds: the upper bounds of all classes but the last, in seconds.
    package init(_ bounds: [Double]) {
        self.bounds = bounds
        counts = [Int64](repeating: 0, count: bounds.count + 1)
    }

    /// The sum of all classes.
    package var total: Int64 { counts.reduce(0, +) }

    /// Adds a count; an unknown class counts as the last.
    ///
    /// - Parameters:
    ///   - count: the count.
    ///   - code: the class's number.
    package mutating func add(_ count: Int64, _ code: Int) {
        counts[min(max(code, 0), counts.count - 1)] += count
    }

    /// Returns a quantile, interpolated linearly within its class.
    ///
    /// - Parameter share: 0.95 for the 95th percentile.
    /// - Returns: seconds; in the last class its lower bound. Nil if all counts are zero.
    package func quantile(_ share: Double) -> Double? {
        let total = total
        guard total > 0 else { return nil }
        let rank = share * Double(total)
        var before = 0.0
        for (index, count) in counts.enumerated() where count > 0 {
            let lower = index == 0 ? 0 : bounds[index - 1]
            guard before + Double(count) >= rank else {
                before += Double(count)
                continue
            }
            guard index < bounds.count else { return lower }
            return lower + (bounds[index] - lower) * max(0, rank - before) / Double(count)
        }
        return bounds.last
    }

    /// Merges classes for a drawing.
    ///
    /// - Parameter limits: the upper bounds of the merged classes, in seconds; a subset of ``bounds``.
    /// - Returns: names and counts; the last class has all longer durations.
    package func merged(at limits: [Double]) -> [(name: String, count: Int64)] {
        var from = 0
        var classes: [(name: String, count: Int64)] = []
        for limit in limits {
            let to = (bounds.firstIndex { $0 >= limit } ?? bounds.count - 1) + 1
            classes.append((FigureText.duration(limit), counts[from..<max(from, to)].reduce(0, +)))
            from = max(from, to)
        }
        classes.append(("> \(FigureText.duration(limits.last ?? 0))", counts[from...].reduce(0, +)))
        return classes
    }
}
