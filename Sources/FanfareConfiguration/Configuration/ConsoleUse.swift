/// A use of the console.
public enum ConsoleUse: String, CaseIterable, Sendable {
    /// Reading pages; without it there is no console.
    case read
    /// Cancelling the unsent deliveries of events, and taking events back.
    case cancel
    /// Replaying a logged event.
    case replay
    /// Re-enabling devices that pruning disabled.
    case restore
    /// Starting a campaign now.
    case start
    /// Sending a campaign to one user.
    case test
    /// Pausing a campaign.
    case pause
    /// Resuming a paused campaign.
    case resume
    /// Aborting a campaign's unsent deliveries.
    case abort
}
