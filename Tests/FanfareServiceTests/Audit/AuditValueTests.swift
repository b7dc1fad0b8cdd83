import FanfareCore
import PostgresClient
import Testing

@testable import DaemonKit
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// The audit's decisions, without a database.
struct AuditValueTests {
    @Test func onlyWhatIsSeenAgainAndAgainStandsStill() {
        var sightings = Sightings<Int>(patience: 30)
        #expect(sightings.check([1, 2], at: 0).isEmpty && !sightings.isConclusive(at: 0))
        #expect(sightings.check([2, 3], at: 29).isEmpty && !sightings.isConclusive(at: 29))
        #expect(sightings.check([2, 3], at: 30) == [2] && sightings.isConclusive(at: 30))
        #expect(sightings.check([3], at: 60) == [3])
        #expect(sightings.check([2, 3], at: 90) == [3], "it was away in between, and is new")
    }

    /// One closed batch, and the findings expected for it.
    struct Case: Sendable {
        let outcomes: [UInt8]
        var deliveries = 3
        let retried: Int64
        var words: String?
    }

    private static let cases = [
        Case(outcomes: [1, 3, 105], retried: 0),
        Case(outcomes: [1, 35, 36], retried: 2),
        Case(outcomes: [1, 35, 36], retried: 1, words: "has 2 deliveries to try again, and 1 are in retry batches"),
        Case(outcomes: [1, 35, 36], retried: 3, words: "has 2 deliveries to try again, and 3 are in retry batches"),
        Case(outcomes: [1, 0, 2], retried: 0, words: "was closed with 2 deliveries undecided"),
        Case(outcomes: [1, 1], retried: 0, words: "has 3 deliveries and 2 outcomes"),
    ]

    @Test(arguments: cases) func aClosedBatchAddsUp(_ example: Case) {
        let batch = ClosedBatch(
            id: 1,
            eventID: 2,
            deliveries: example.deliveries,
            outcomes: example.outcomes,
            closedDay: 3
        )
        #expect(batch.imbalance(retried: example.retried) == example.words)
    }

    @Test func aLookIntoTheLogIsBounded() {
        var cursor = LogCursor()
        cursor.begin(blocks: 10)
        #expect(cursor.after.text == "(0,0)")
        cursor.passed([RowPlace(block: 9, row: 7), RowPlace(block: 3, row: 90)])
        #expect(cursor.after.text == "(9,7)")
        cursor.begin(blocks: 9 + LogCursor.reach)
        #expect(cursor.after.text == "(9,7)")
        cursor.begin(blocks: 1000)
        #expect(cursor.after.text == "(\(1000 - LogCursor.reach),0)")
        cursor.passed([])
        cursor.begin(blocks: 2)
        #expect(cursor.after.text == "(0,0)", "it was emptied")
    }

    @Test func findingsNameTheFirstFew() {
        let events = (1...7).map { WaitingEvent(id: Int64($0), createdAt: Timestamp(microseconds: Int64(10 - $0))) }
        let finding = AuditFinding(unplanned: events)
        #expect(finding.detail == "no planner takes 7 events: 1, 2, 3, 4, 5 …")
        #expect(finding.count == 7 && finding.oldest?.microseconds == 3)
        #expect(AuditFinding(overdue: []).detail == "none")
        let lost = ClosedBatch(id: 8, eventID: 9, deliveries: 1, outcomes: [0], closedDay: 0)
        let unbalanced = AuditFinding(unbalanced: Array(repeating: (lost, "is odd"), count: 6))
        #expect(unbalanced.detail.hasPrefix("batch 8 of event 9 is odd; "))
        #expect(unbalanced.detail.hasSuffix("; and 1 more"))
    }
}
