extension String {
    /// Without white space around it, as it comes when it is pasted; nil for nothing else.
    var trimmed: String? {
        let text = trimmingPrefix { $0.isWhitespace }
        guard let last = text.lastIndex(where: { !$0.isWhitespace }) else { return nil }
        return String(text[...last])
    }
}
