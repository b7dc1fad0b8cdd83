package import FanfareCore
internal import PostgresClient

/// What a round claims with planning itself, should it take a single event: batches of these places.
package struct LoneClaim {
    /// Where a batch waits: the first attempts of a lane of a target.
    package struct Place {
        package let target: Int16
        package let lane: Lane

        package init(target: Int16, lane: Lane) {
            self.target = target
            self.lane = lane
        }

        /// As the statement knows it.
        package var number: Int32 { Int32(target) * 4 + Int32(lane.rawValue) }
    }

    package let owner: Int32
    package let leaseToken: Int64
    package let places: [Place]
    /// Steady time before its round.
    package let beganAt: Microseconds

    package init(owner: Int32, leaseToken: Int64, places: [Place], beganAt: Microseconds) {
        self.owner = owner
        self.leaseToken = leaseToken
        self.places = places
        self.beganAt = beganAt
    }

    /// What would have to be given back.
    package var claim: DoubtfulClaim { DoubtfulClaim(owner: owner, leaseToken: leaseToken) }
}
