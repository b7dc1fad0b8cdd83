import FanfareProviders
import FanfareTools

extension CheckItem {
    /// The item on one line: `fail  database: what was found; what to do`.
    var text: String {
        let word = level.rawValue + String(repeating: " ", count: 4 - level.rawValue.count)
        let found = detail.split(separator: "\n").map { String($0).printable }.joined(separator: "\n      ")
        return "\(word)  \(name): \(found)\(advice.isEmpty ? "" : "\n      → \(advice)")"
    }
}
