import Testing

/// A checker that finds nothing proves nothing.
@Suite struct DeliveryAuditTests {
    private static func audit() -> DeliveryAudit {
        var audit = DeliveryAudit()
        audit.expect(event: 1, tokens: ["a", "b"])
        return audit
    }

    @Test func whatWentWellIsClean() {
        var audit = Self.audit()
        for token in ["a", "b"] {
            audit.receive(Pair(event: 1, token: token), .accepted)
            audit.record(Pair(event: 1, token: token), outcome: "accepted")
        }
        #expect(audit.lost.isEmpty && audit.unexpected.isEmpty && audit.unrecorded.isEmpty)
        #expect(audit.recordedTwice.isEmpty && audit.contradicted.isEmpty && audit.wronglyPruned.isEmpty)
        #expect(audit.sent == 2 && audit.duplicates == 0)
    }

    @Test func whatIsRecordedButNeverCameIsLost() {
        var audit = Self.audit()
        audit.receive(Pair(event: 1, token: "a"), .accepted)
        audit.record(Pair(event: 1, token: "b"), outcome: "accepted")
        #expect(audit.lost == [Pair(event: 1, token: "b")])
        #expect(audit.unrecorded == [Pair(event: 1, token: "a")])
    }

    @Test func whatEndsOtherwiseByItsOwnWordIsNotLost() {
        var audit = Self.audit()
        audit.record(Pair(event: 1, token: "a"), outcome: "unknown")
        audit.record(Pair(event: 1, token: "b"), outcome: "expired")
        #expect(audit.lost.isEmpty)
    }

    @Test func repeatsAreCountedByWhatTheProviderProcessed() {
        var audit = Self.audit()
        let pair = Pair(event: 1, token: "a")
        for fate in [ReceivedFate.rejected(503), .notProcessed, .unanswered, .accepted] { audit.receive(pair, fate) }
        #expect(audit.duplicates == 1 && audit.acceptedTwice == 0)
        audit.receive(pair, .accepted)
        #expect(audit.duplicates == 2 && audit.acceptedTwice == 1)
    }

    @Test func whatNobodyAskedForIsFound() {
        var audit = Self.audit()
        audit.receive(Pair(event: 2, token: "a"), .accepted)
        audit.record(Pair(event: 1, token: "c"), outcome: "accepted")
        #expect(audit.unexpected == [Pair(event: 2, token: "a"), Pair(event: 1, token: "c")])
    }

    @Test func twoOutcomesAndWrongOnesAreFound() {
        var audit = Self.audit()
        let pair = Pair(event: 1, token: "a")
        audit.receive(pair, .accepted)
        audit.record(pair, outcome: "accepted")
        audit.record(pair, outcome: "expired")
        #expect(audit.recordedTwice == [pair] && audit.contradicted == [pair])
        audit.dead = ["b"]
        audit.disabled("a")
        audit.disabled("b")
        #expect(audit.wronglyPruned == ["a"])
    }
}
