public import FanfareProviders

extension CheckItem {
    init(_ name: String, _ error: ToolError) {
        self.init(.fail, name, error.reason, advice: error.hint)
    }

    /// The item on one line: `fail  database: what was found; what to do`.
    public var text: String {
        let word = level.rawValue + String(repeating: " ", count: 4 - level.rawValue.count)
        let found = detail.split(separator: "\n").map { TextTable.printable(String($0)) }.joined(separator: "\n      ")
        return "\(word)  \(name): \(found)\(advice.isEmpty ? "" : "\n      → \(advice)")"
    }
}
