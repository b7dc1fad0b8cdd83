import Testing

/// Tests that the audit finds errors, without which it would prove nothing.
@Suite struct DeliveryAuditTests {
    private static let audit = DeliveryAudit(devices: 2, events: 1)

    @Test func whatWentWellIsClean() {
        var audit = Self.audit
        for device in 1...2 {
            audit.receive(Delivery(event: 1, device: device), .accepted)
            audit.record(Delivery(event: 1, device: device), outcome: "accepted")
        }
        #expect(audit.lost.isEmpty && audit.unexpected.isEmpty && audit.unrecorded.isEmpty)
        #expect(audit.recordedTwice.isEmpty && audit.contradicted.isEmpty && audit.wronglyPruned.isEmpty)
        #expect(audit.expected == 2 && audit.sent == 2 && audit.duplicates == 0 && audit.count("accepted") == 2)
    }

    @Test func whatIsRecordedButNeverCameIsLost() {
        var audit = Self.audit
        audit.receive(Delivery(event: 1, device: 1), .accepted)
        audit.record(Delivery(event: 1, device: 2), outcome: "accepted")
        #expect(audit.lost == [Delivery(event: 1, device: 2)])
        #expect(audit.unrecorded == [Delivery(event: 1, device: 1)])
    }

    @Test func whatWasNeverHeardOfIsLost() {
        var audit = Self.audit
        #expect(audit.lost.count == 2 && audit.unrecorded.count == 2)
        audit.receive(Delivery(event: 1, device: 2), .accepted)
        audit.events = 2
        #expect(
            audit.lost == [Delivery(event: 2, device: 1), Delivery(event: 2, device: 2), Delivery(event: 1, device: 1)]
        )
    }

    @Test func whatEndsOtherwiseByItsOwnWordIsNotLost() {
        var audit = Self.audit
        audit.record(Delivery(event: 1, device: 1), outcome: "unknown")
        audit.record(Delivery(event: 1, device: 2), outcome: "expired")
        #expect(audit.lost.isEmpty)
    }

    @Test func repeatsAreCountedByWhatTheProviderProcessed() {
        var audit = Self.audit
        let delivery = Delivery(event: 1, device: 1)
        for fate in [ReceivedFate.rejected(503), .notProcessed, .unanswered, .accepted] {
            audit.receive(delivery, fate)
        }
        #expect(audit.duplicates == 1 && audit.acceptedTwice == 0)
        audit.receive(delivery, .accepted, daemon: 7, nanoseconds: 5)
        #expect(audit.duplicates == 2 && audit.acceptedTwice == 1)
        #expect(audit.repeats.last?.daemon == 7 && audit.repeats.last?.nanoseconds == 5)
    }

    @Test func repeatsAreLaidAtTheDoorOfWhoSentBefore() {
        var audit = Self.audit
        let delivery = Delivery(event: 1, device: 2)
        for daemon: UInt16 in [3, 3, 4] { audit.receive(delivery, .accepted, daemon: daemon) }
        #expect(audit.repeats.map(\.previous) == [3, 3] && audit.repeats.map(\.daemon) == [3, 4])
    }

    @Test func whatNobodyAskedForIsFound() {
        var audit = Self.audit
        audit.receive(Delivery(event: 2, device: 1), .rejected(400))
        audit.record(Delivery(event: 1, device: 3), outcome: "accepted")
        #expect(audit.unexpected == [Delivery(event: 1, device: 3), Delivery(event: 2, device: 1)])
    }

    @Test(arguments: [["accepted", "expired"], ["expired", "accepted"]])
    func twoOutcomesAndWrongOnesAreFound(outcomes: [String]) {
        var audit = Self.audit
        let delivery = Delivery(event: 1, device: 1)
        audit.receive(delivery, .accepted)
        for outcome in outcomes { audit.record(delivery, outcome: outcome) }
        #expect(audit.recordedTwice == [delivery] && audit.contradicted == [delivery])
    }

    @Test func onlyTheDeadMayBeDisabled() {
        var audit = Self.audit
        audit.dead = [2]
        audit.disabled(1)
        audit.disabled(2)
        #expect(audit.wronglyPruned == [1] && audit.pruned == 2)
    }
}
