/// Something that the console is there for.
public enum ConsoleUse: String, CaseIterable, Sendable {
    /// Looking at pages; without it there is no console.
    case read
    /// Stopping what is not sent of events.
    case cancel
    /// Emitting a logged event again.
    case replay
    /// Enabling devices again that pruning had disabled.
    case restore
    /// Starting a campaign now.
    case start
    /// Sending a campaign to one user.
    case test
    /// Pausing a campaign.
    case pause
    /// Going on with a paused campaign.
    case resume
    /// Ending what is not sent of a campaign.
    case abort
}
