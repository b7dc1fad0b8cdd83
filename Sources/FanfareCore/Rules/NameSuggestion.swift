/// Finds what somebody who mistyped a name probably meant.
enum NameSuggestion {
    /// A hint that names the nearest known name, or all of them if none is near.
    ///
    /// - Parameters:
    ///   - name: what was written.
    ///   - known: what could have been written; not empty.
    /// - Returns: a text such as "did you mean 'collapse'?".
    static func hint(for name: String, among known: [String]) -> String {
        let ranked = known.map { (name: $0, distance: distance(name.lowercased(), $0.lowercased())) }
        if let best = ranked.min(by: { $0.distance < $1.distance }), best.distance <= max(1, best.name.count / 3) {
            return "did you mean '\(best.name)'?"
        }
        return "known are \(known.joined(separator: ", "))"
    }

    /// How many letters were added, left out, replaced or swapped with their neighbour (optimal string alignment), over
    /// at most 40 characters of each name.
    private static func distance(_ left: String, _ right: String) -> Int {
        let left = Array(left.prefix(40))
        let right = Array(right.prefix(40))
        var rows = [Array(0...right.count)]
        for (i, a) in left.enumerated() {
            var row = [i + 1]
            for (j, b) in right.enumerated() {
                var best = min(rows[i][j] + (a == b ? 0 : 1), rows[i][j + 1] + 1, row[j] + 1)
                if i > 0, j > 0, a == right[j - 1], b == left[i - 1] { best = min(best, rows[i - 1][j - 1] + 1) }
                row.append(best)
            }
            rows.append(row)
        }
        return rows[left.count][right.count]
    }
}
