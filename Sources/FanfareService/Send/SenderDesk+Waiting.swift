internal import FanfareCore
internal import PushTransport

/// What was submitted and is not on the wire yet.
extension SenderDesk {
    /// What requests that wait for a connection were submitted on.
    struct Footing: Equatable {
        var owner: Int32?
        var cancels = 0
    }

    /// Lets what waits for a connection wait on, or takes it back: it may not be ours any more, be cancelled or too late.
    ///
    /// A request that is taken back gives up the connection that libcurl makes for it, so that one that takes longer than
    /// cancellations may go unseen would never be made.
    mutating func reconsider() {
        let last = footing
        footing = Footing(owner: context.lease.owner ?? last.owner, cancels: context.cancels.version)
        guard transport.inFlight > 0, let owner = footing.owner else { return }
        let isAnyLate = passDeadlines()
        if !isAnyLate && (footing == last || owner == last.owner && !isAnyCancelled()) {
            transport.sendUntil = Clocks.instant(ofSteady: context.lease.startsUntil(owner: owner))
        } else {
            transport.sendUntil = Clocks.instant(ofSteady: Clocks.steady)
            poll(.zero)
        }
    }

    /// Whether a deadline of what is in flight has passed since the last look.
    private mutating func passDeadlines() -> Bool {
        let now = context.lease.databaseNow
        guard nextDeadline <= now else { return false }
        nextDeadline = slots.reduce(.max) { first, slot in
            guard let slot else { return first }
            let deadline = slot.active.deadline(ofPair: slot.pair)
            return deadline > now ? min(first, deadline) : first
        }
        return true
    }

    /// Whether anything in flight is cancelled.
    private func isAnyCancelled() -> Bool {
        slots.contains { slot in
            guard let active = slot?.active else { return false }
            active.refresh(context.cancels)
            return active.isAnyCancelled
        }
    }
}
