extension String {
    /// The text without leading and trailing white space; nil if nothing is left.
    var trimmed: String? {
        let text = trimmingPrefix { $0.isWhitespace }
        guard let last = text.lastIndex(where: { !$0.isWhitespace }) else { return nil }
        return String(text[...last])
    }
}
