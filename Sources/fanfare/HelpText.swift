/// Shortens the parser's usage lines: the global options are listed once, in a section of their own.
enum HelpText {
    /// Shortens usage lines.
    ///
    /// - Parameter text: a help text, or an error message with a usage line.
    /// - Returns: the text with one word in place of the global options.
    static func shortened(_ text: String) -> String {
        text.replacing(globalUsage, with: "[<global options>]")
    }

    /// Matches the global options in the order of ``GlobalOptions``, with any line breaks.
    private static var globalUsage: Regex<Substring> {
        /\[--config <config>\]\s+\[--database-url <database-url>\]\s+\[--log-level <log-level>\]\s+\[--log-format <log-format>\]\s+\[--json\]/
    }
}
