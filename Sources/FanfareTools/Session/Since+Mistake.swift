internal import FanfareCore
internal import PostgresClient

extension Since {
    /// Returns the usage error if PostgreSQL cannot read the typed time; nil for any other error.
    func mistake(in error: PostgresError) -> ToolError? {
        // Invalid time, out of range, two errors for unknown time zones, and infinity.
        guard let text, let state = error.sqlState, ["22007", "22008", "22009", "22023", "0A000"].contains(state) else {
            return nil
        }
        return ToolError(
            .usage,
            "\(ToolError.Input.since.name): “\(text.printable)” is neither a span of time nor a time",
            hint: "Write how long ago, as 90s, 15m, 2h or 7d, or a time such as 2026-11-21T13:00:00Z.",
            subject: .input(.since)
        )
    }
}
