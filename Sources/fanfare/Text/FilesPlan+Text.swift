import FanfareConfiguration
import FanfareCore
import FanfareTools

extension FilesPlan {
    /// The plan as text for people: a line per change, its differences and times below it, and a sum.
    var text: String {
        let signs = [Change.added: "+", .changed: "~", .unchanged: "=", .dropped: "-"]
        var lines: [String] = []
        for item in items {
            let times = forecasts[item.id]?.lines ?? []
            guard ![.unchanged, .kept].contains(item.change) || !times.isEmpty else { continue }
            lines.append("\(signs[item.change] ?? " ") \(item.id.app)" + (item.name.isEmpty ? "" : "/\(item.name)"))
            lines += (item.differences.map(\.text) + times).map { "    " + $0 }
        }
        let counts = [Change.added, .changed, .unchanged, .dropped].map { change in
            "\(items.count { $0.change == change }) \(change.rawValue)"
        }
        lines += warnings.map { "warning: \($0)" }
        lines.append(counts.joined(separator: ", "))
        let kept = items.count { $0.change == .kept }
        if kept > 0 { lines.append("\(kept) of other files kept; --prune drops what is not in these") }
        return lines.joined(separator: "\n")
    }
}

extension FilesApplied where Definition.Row: Tabular {
    /// The changes and the state of each definition, as text for people.
    var text: String {
        guard let hasDaemon else { return plan.text }
        var lines = [plan.text, Definition.Row.table(stored)]
        if stored.contains(where: \.isUnchecked) {
            let runs = Definition.kind == .campaign ? ", and start due runs" : ""
            lines.append(
                hasDaemon
                    ? "unchecked: a daemon will check it; until then the version in force stays"
                    : "unchecked: no daemon runs; the next one that starts will check it\(runs)"
            )
        }
        return lines.joined(separator: "\n")
    }
}

extension JSONDifference {
    /// `ttl: "4h" → "2h"`.
    var text: String {
        "\(path): \(old.map(Self.short) ?? "(none)") → \(new.map(Self.short) ?? "(none)")"
    }

    private static func short(_ value: JSONValue) -> String {
        let text = value.text.printable
        return text.count > 200 ? text.prefix(199) + "…" : text
    }
}
