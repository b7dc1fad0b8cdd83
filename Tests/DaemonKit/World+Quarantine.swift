import FanfareStore
import PostgresClient
import Testing

extension World {
    /// Moves what is in the outbox to the quarantine, as many events as are expected there.
    func quarantined(_ count: Int) throws {
        let round = PlanRoundSummary(try connection.run(SQL.quarantineEvents(OutboxFloor(), 10, OutboxChoice())))
        #expect(round.taken == count && round.quarantine.count == count)
    }
}
