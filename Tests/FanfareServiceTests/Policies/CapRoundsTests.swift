import Testing

@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStore

/// The grouping of a batch's deliveries for the cap query.
struct CapRoundsTests {
    /// Ids that differ only in Unicode normalization are different users, each with their own caps.
    @Test func usersAreToldApartByTheirBytes() {
        let users = ["\u{E9}", "e\u{301}"]
        let deliveries = users.enumerated().map { CapTaker.Delivery(position: $0, user: $1, event: 1) }
        var rounds = CapRounds(deliveries, target: 1, caps: ["daily"])
        let asked = rounds.next()
        #expect(asked?.users.count == 2)
        rounds.answered([users[1]])
        #expect(rounds.full == [0])
    }
}
