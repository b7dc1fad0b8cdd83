package import FanfareCore
internal import PostgresClient

/// What a round claims in the same statement if it takes a single event: batches of these places.
package struct LoneClaim {
    /// A place where a batch waits: the first attempts of a lane of a target.
    package struct Place {
        package let target: Int16
        package let lane: Lane

        package init(target: Int16, lane: Lane) {
            self.target = target
            self.lane = lane
        }

        /// The number by which the statement knows it.
        package var number: Int32 { Int32(target) * 4 + Int32(lane.rawValue) }
    }

    package let owner: Int32
    package let leaseToken: Int64
    package let places: [Place]
    /// The steady time before its round.
    package let beganAt: Microseconds

    package init(owner: Int32, leaseToken: Int64, places: [Place], beganAt: Microseconds) {
        self.owner = owner
        self.leaseToken = leaseToken
        self.places = places
        self.beganAt = beganAt
    }

    /// The claim that would have to be released.
    package var claim: DoubtfulClaim { DoubtfulClaim(owner: owner, leaseToken: leaseToken) }
}
