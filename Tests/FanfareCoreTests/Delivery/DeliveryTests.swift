import FanfareCore
import Testing

struct DeliveryTests {
    @Test func eventIDsCarryTheirDay() {
        let id = EventID(day: 2516, sequence: .max)
        #expect(id.rawValue == 2516 << 32 | 0xFFFF_FFFF)
        #expect(id.day == 2516)
        #expect(id.sequence == .max)
        #expect(id.ringDay == 2516 % 32)
        #expect(id < EventID(day: 2517, sequence: 0))
    }

    @Test(
        arguments: [
            (1_577_836_799, -1), (1_577_836_800, 0), (1_577_923_199, 0), (1_577_923_200, 1), (1_795_219_200, 2516),
            (0, -18262),
        ] as [(Int64, Int32)]
    )
    func daysSince2020(seconds: Int64, day: Int32) {
        #expect(EventID.day(unixSeconds: seconds) == day)
    }

    @Test func identityIsStable() {
        let id = DeliveryID(event: EventID(rawValue: 1), ruleID: 2, deviceID: 3)
        #expect(id == DeliveryID(event: EventID(rawValue: 1), ruleID: 2, deviceID: 3))
        #expect(id != DeliveryID(event: EventID(rawValue: 1), ruleID: 3, deviceID: 2))
        // Computed by the reference implementation of MurmurHash3_x64_128; version and variant set.
        #expect(id.text == "b50a97f8-b297-8541-97f6-887b59f04f45")
    }

    /// After a failover the sequence may go back, and ids are assigned again.
    @Test func eventsOfOneIDAreToldApartByTheirMoment() {
        let moments = (0..<1000).map { Int64($0) } + [.max]
        let ids = moments.map {
            DeliveryID(event: EventID(rawValue: 1), createdAt: $0, ruleID: 2, deviceID: 3)
        }
        #expect(Set(ids).count == moments.count)
        #expect(ids[7] == DeliveryID(event: EventID(rawValue: 1), createdAt: 7, ruleID: 2, deviceID: 3))
    }

    @Test func textIsAVersion8UUID() {
        var generator = SeededGenerator(seed: 1)
        for _ in 0..<1000 {
            let id = DeliveryID(
                event: EventID(rawValue: .random(in: 0 ... .max, using: &generator)),
                ruleID: .random(in: 0 ... .max, using: &generator),
                deviceID: .random(in: 0 ... .max, using: &generator)
            )
            let text = Array(id.text.utf8)
            #expect(text.count == DeliveryID.textLength)
            for (index, byte) in text.enumerated() {
                switch index {
                case 8, 13, 18, 23: #expect(byte == UInt8(ascii: "-"))
                case 14: #expect(byte == UInt8(ascii: "8"))
                case 19: #expect("89ab".utf8.contains(byte))
                default: #expect("0123456789abcdef".utf8.contains(byte))
                }
            }
        }
    }

    @Test func textHasTheDigitsOfBothWords() {
        func digits(_ word: UInt64) -> String {
            let text = String(word, radix: 16)
            return String(repeating: "0", count: 16 - text.count) + text
        }
        for device in 0..<1000 as Range<Int64> {
            let id = DeliveryID(event: EventID(rawValue: 1), ruleID: 2, deviceID: device)
            let all = Array((digits(id.high) + digits(id.low)).utf8)
            let parts = [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { all[$0] }
            #expect(id.textBytes == Array(parts.joined(separator: [UInt8(ascii: "-")])))
            #expect(id.text == String(decoding: id.textBytes, as: UTF8.self))
        }
    }

    /// As few collisions as random ids would have, at either end of the id: among 60,000 values of 32 bits 0.42 are
    /// expected, and 7 or more come about once in a million times.
    @Test func sequentialInputsAreWellMixed() {
        var heads: Set<UInt64> = []
        var tails: Set<UInt64> = []
        for event in 0..<60 as Range<UInt32> {
            for device in 0..<1000 as Range<Int64> {
                let id = DeliveryID(event: EventID(day: 2500, sequence: event), ruleID: 1, deviceID: device)
                heads.insert(id.high >> 32)
                tails.insert(id.low & 0xFFFF_FFFF)
            }
        }
        #expect(heads.count > 60_000 - 7)
        #expect(tails.count > 60_000 - 7)
    }

    @Test func everyInputBitMatters() {
        let base = DeliveryID(event: EventID(rawValue: 0), ruleID: 0, deviceID: 0)
        for bit in 0..<63 {
            for id in [
                DeliveryID(event: EventID(rawValue: 1 << bit), ruleID: 0, deviceID: 0),
                DeliveryID(event: EventID(rawValue: 0), ruleID: 1 << bit, deviceID: 0),
                DeliveryID(event: EventID(rawValue: 0), ruleID: 0, deviceID: 1 << bit),
                DeliveryID(event: EventID(rawValue: 0), createdAt: 1 << bit, ruleID: 0, deviceID: 0),
            ] {
                let changed = (id.high ^ base.high).nonzeroBitCount + (id.low ^ base.low).nonzeroBitCount
                #expect((25...97).contains(changed))
            }
        }
    }

    @Test func collapseKeysSeparateTheirParts() {
        let key = CollapseKey(ruleID: 1, audience: "ab", collapse: "c")
        #expect(key == CollapseKey(ruleID: 1, audience: "ab", collapse: "c"))
        #expect(key != CollapseKey(ruleID: 1, audience: "a", collapse: "bc"))
        #expect(key != CollapseKey(ruleID: 2, audience: "ab", collapse: "c"))
    }
}
