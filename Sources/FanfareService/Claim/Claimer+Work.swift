internal import FanfareCore
internal import FanfareStages
internal import FanfareStore
internal import Threading

extension Claimer {
    /// The claimer's state between two turns.
    struct Work {
        let badges: BadgeReader
        var floors = ClaimFloors()
        var turns = PacedTurns()
        /// Batches that are claimed, but not handed over yet.
        var left: [ClaimedBatch] = []
        /// Batches that are prepared and wait for budget before they are marked as attempted.
        var held = HeldBatches()
        var doubts = DoubtfulClaims()
        var unserved = UnservedTargets()
        var leaseToken = Int64.random(in: 1..<Int64.max / 2)
        /// Whether no batch was waiting a second ago, and the bell has not rung since.
        var isIdle = false
        /// The versions of the gates and rates that this state is based on.
        var gates = 0
        var rates = 0

        /// Resets the state for a new connection of the session.
        mutating func began() {
            floors = ClaimFloors()
            turns = PacedTurns()
            // The badge session only reads, so it would not notice that its server has become a standby that no longer
            // receives changes.
            badges.close()
        }

        /// Records a claim that is about to be sent.
        mutating func begin(for owner: Int32) -> DoubtfulClaim {
            leaseToken += 1
            let claim = DoubtfulClaim(owner: owner, leaseToken: leaseToken)
            doubts.began(claim, at: Clocks.steady)
            return claim
        }

        /// Records the result of a claim.
        mutating func end(_ claim: DoubtfulClaim, _ claimed: [ClaimedBatch]) {
            doubts.answered(claim)
            for batch in claimed { floors.saw(batch) }
            left += claimed
        }
    }
}
