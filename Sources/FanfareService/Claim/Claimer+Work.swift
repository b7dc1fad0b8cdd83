internal import FanfareCore
internal import FanfareStages
internal import FanfareStore
internal import Threading

extension Claimer {
    /// What a claimer remembers from one look to the next.
    struct Work {
        let badges: BadgeReader
        var floors = ClaimFloors()
        var turns = PacedTurns()
        /// Claimed, and not passed on yet.
        var left: [ClaimedBatch] = []
        /// Prepared, and waiting for room to be marked as attempted.
        var held = HeldBatches()
        var doubts = DoubtfulClaims()
        var unserved = UnservedTargets()
        var leaseToken = Int64.random(in: 1..<Int64.max / 2)
        /// The versions of gates and rates that all this goes by.
        var gates = 0
        var rates = 0

        /// The session has a new connection.
        mutating func began() {
            floors = ClaimFloors()
            turns = PacedTurns()
            // It only reads, and so would never notice that it is on a standby that nothing reaches any more.
            badges.close()
        }

        /// A claim is about to be sent.
        mutating func begin(for owner: Int32) -> DoubtfulClaim {
            leaseToken += 1
            let claim = DoubtfulClaim(owner: owner, leaseToken: leaseToken)
            doubts.began(claim, at: Clocks.steady)
            return claim
        }

        /// A claim was answered.
        mutating func end(_ claim: DoubtfulClaim, _ claimed: [ClaimedBatch]) {
            doubts.answered(claim)
            for batch in claimed { floors.saw(batch) }
            left += claimed
        }
    }
}
