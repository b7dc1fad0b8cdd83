/// Finds what somebody probably meant by a misspelled name.
enum NearestName {
    /// The candidate nearest to a name, if it is near enough to be meant.
    ///
    /// - Parameters:
    ///   - name: as written.
    ///   - candidates: the names that would be right.
    /// - Returns: the nearest one within a third of its length; nil if none is.
    static func suggestion(for name: String, among candidates: some Sequence<String>) -> String? {
        candidates
            .map { (candidate: $0, distance: distance(name.lowercased(), $0.lowercased())) }
            .filter { $0.distance <= max(1, $0.candidate.count / 3) }
            .min { ($0.distance, $0.candidate) < ($1.distance, $1.candidate) }?
            .candidate
    }

    /// Optimal string alignment distance: insertions, deletions, substitutions and swaps of neighbours.
    static func distance(_ left: String, _ right: String) -> Int {
        let left = Array(left.prefix(64))
        let right = Array(right.prefix(64))
        var rows = [Array(0...right.count)]
        for i in 0..<left.count {
            var row = [i + 1]
            for j in 0..<right.count {
                var best = min(row[j] + 1, rows[i][j + 1] + 1, rows[i][j] + (left[i] == right[j] ? 0 : 1))
                if i > 0, j > 0, left[i] == right[j - 1], left[i - 1] == right[j] {
                    best = min(best, rows[i - 1][j - 1] + 1)
                }
                row.append(best)
            }
            rows.append(row)
        }
        return rows[left.count][right.count]
    }
}
