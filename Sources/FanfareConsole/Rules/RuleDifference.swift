internal import FanfareConsoleView
internal import FanfareCore
internal import FanfareTools

/// The differences of a rule's version from the one before, line by line.
enum RuleDifference {
    /// The number of unchanged lines shown around a change.
    private static let context = 2

    /// Compares two versions.
    ///
    /// - Parameters:
    ///   - old: the older definition, JSON as it is stored.
    ///   - new: the newer definition.
    /// - Returns: the changed lines with their context; one line if only the formatting differs.
    static func lines(from old: String, to new: String) -> [DifferenceLine] {
        let (old, new) = (written(old), written(new))
        let difference = new.difference(from: old)
        var removed: Set<Int> = []
        var added: Set<Int> = []
        for change in difference {
            switch change {
            case .remove(let offset, _, _): removed.insert(offset)
            case .insert(let offset, _, _): added.insert(offset)
            }
        }
        guard !removed.isEmpty || !added.isEmpty else {
            return [DifferenceLine(kind: "same", sign: " ", words: "No changes.")]
        }
        var lines: [DifferenceLine] = []
        var (here, there) = (0, 0)
        while here < old.count || there < new.count {
            if removed.contains(here) {
                lines.append(DifferenceLine(kind: "removed", sign: "\u{2212}", words: old[here]))
                here += 1
            } else if added.contains(there) {
                lines.append(DifferenceLine(kind: "added", sign: "+", words: new[there]))
                there += 1
            } else {
                lines.append(DifferenceLine(kind: "same", sign: " ", words: new[there]))
                (here, there) = (here + 1, there + 1)
            }
        }
        return shortened(lines)
    }

    private static func written(_ json: String) -> [String] {
        let value = try? JSONValue(parsing: json)
        return (value?.yaml ?? json).split(separator: "\n").map(String.init)
    }

    /// Returns the changed lines with their context.
    private static func shortened(_ lines: [DifferenceLine]) -> [DifferenceLine] {
        let changed = lines.indices.filter { lines[$0].kind != "same" }
        let near = Set(changed.flatMap { $0 - context...$0 + context })
        var short: [DifferenceLine] = []
        var isLeftOut = false
        for (index, line) in lines.enumerated() {
            if near.contains(index) {
                short.append(line)
            } else if !isLeftOut {
                short.append(DifferenceLine(kind: "same", sign: " ", words: "…"))
            }
            isLeftOut = !near.contains(index)
        }
        return short
    }
}

/// One line of a difference.
struct DifferenceLine: ViewContext {
    /// `added`, `removed` or `same`.
    let kind: String
    /// `+`, `−` or a space.
    let sign: String
    let words: String
}
