/// Suggests the known name that is nearest to a mistyped one.
public enum NearestName {
    /// Returns a hint with the nearest known name, or with all known names if none is near.
    ///
    /// - Parameters:
    ///   - name: the name as written.
    ///   - known: the valid names; not empty.
    /// - Returns: a text such as "did you mean 'collapse'?".
    package static func hint(for name: String, among known: [String]) -> String {
        if let near = suggestion(for: name, among: known) { return "did you mean '\(near)'?" }
        return "known are \(known.joined(separator: ", "))"
    }

    /// Returns the known name nearest to the written one, if it is near enough.
    ///
    /// - Parameters:
    ///   - name: the name as written.
    ///   - known: the valid names.
    /// - Returns: the nearest name within a distance of a third of its length, ignoring case; nil if there is none.
    public static func suggestion(for name: String, among known: some Sequence<String>) -> String? {
        known
            .map { (name: $0, distance: distance(name.lowercased(), $0.lowercased())) }
            .filter { $0.distance <= max(1, $0.name.count / 3) }
            .min { ($0.distance, $0.name) < ($1.distance, $1.name) }?
            .name
    }

    /// Returns the number of letters added, left out, replaced or swapped with their neighbour (optimal string
    /// alignment), over at most 64 characters of each name.
    static func distance(_ left: String, _ right: String) -> Int {
        let left = Array(left.prefix(64))
        let right = Array(right.prefix(64))
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
