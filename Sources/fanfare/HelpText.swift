/// Help as the parser writes it, with the options that all commands have named once, in a section of their own.
enum HelpText {
    /// Shortens usage lines.
    ///
    /// - Parameter text: help, or a message with usage.
    /// - Returns: the text with one word in place of the global options in it.
    static func shortened(_ text: String) -> String {
        text.replacing(globalUsage, with: "[<global options>]")
    }

    /// The global options in the order of ``GlobalOptions``, however the lines are broken.
    private static var globalUsage: Regex<Substring> {
        /\[--config <config>\]\s+\[--database-url <database-url>\]\s+\[--log-level <log-level>\]\s+\[--log-format <log-format>\]\s+\[--json\]/
    }
}
