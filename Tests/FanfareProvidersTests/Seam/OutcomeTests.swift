import FanfareCore
import Testing

@testable import FanfareProviders

struct OutcomeTests {
    @Test func everyOutcomeHasAReasonAndAFittingKind() {
        for outcome in Outcome.all {
            #expect(!outcome.reason.hasPrefix("code_"), "\(outcome)")
            switch outcome.range {
            case .pending: #expect(outcome.kind == .pending)
            case .accepted: #expect(outcome.kind == .accepted)
            case .attempted: #expect(outcome.kind == .attempted)
            case .retrying: #expect(outcome.kind == .retrying && outcome.provider == nil)
            case .gone: #expect(outcome.kind == .gone && outcome.provider != nil)
            case .rejected: #expect(outcome.kind == .rejected && outcome.provider != nil)
            case .own: #expect(outcome.range.isFinal && outcome.provider == nil)
            }
        }
    }

    @Test func ownCodesAreThoseOfTheContract() {
        let contract = [
            "pending", "accepted", "attempted", "unknown", "expired", "cancelled", "superseded", "disabled",
            "opted_out",
            "refused", "backlog_dropped", "exhausted",
        ]
        #expect(Outcome.all.prefix(12).map(\.outcome) == contract)
        #expect(Outcome.all.prefix(12).map(\.rawValue) == Array(0...11))
    }

    @Test func everyByteHasAMeaningAlsoThoseOfLaterVersions() {
        let ranges = (UInt8.min...UInt8.max).map(OutcomeRange.init(code:))
        #expect(ranges[31] == .own && ranges[32] == .retrying && ranges[63] == .retrying)
        #expect(ranges[64] == .gone && ranges[95] == .gone && ranges[96] == .rejected && ranges[255] == .rejected)
        #expect(ranges.count { $0 == .own } == 29)
        #expect(ranges.enumerated().filter { !$0.element.isFinal }.map(\.offset) == [0, 2] + Array(32...63))
    }

    @Test func rowsTellOutcomesApart() {
        let rows = Set(Outcome.all.map { "\($0.outcome)|\($0.reason)|\($0.provider?.rawValue ?? "")" })
        #expect(rows.count == Outcome.all.count)
    }

    @Test func keepingTheDeviceKeepsTheReason() {
        for outcome in Outcome.all {
            let kept = outcome.keepingDevice
            if outcome.kind == .gone {
                #expect(kept.kind == .rejected && kept.reason == outcome.reason && kept.provider == outcome.provider)
            } else {
                #expect(kept == outcome)
            }
        }
    }

    @Test func codesLieInTheBlocksOfTheirProvider() {
        var owners: [UInt8: PushProvider] = [:]
        for provider in Providers.all {
            for code in provider.outcomes.codes.joined() {
                #expect(owners.updateValue(provider.name, forKey: code) == nil, "\(code) has two owners")
                #expect([.gone, .rejected].contains(Outcome(rawValue: code).kind), "\(code)")
            }
        }
        for outcome in Outcome.all { #expect(outcome.provider == owners[outcome.rawValue]) }
        // Codes are never reused, so blocks never move.
        let blocks: [PushProvider: [ClosedRange<UInt8>]] = [
            .apns: [64...71, 96...151], .fcm: [72...79, 152...191], .webpush: [80...87, 192...231],
        ]
        for (name, codes) in blocks { #expect(Providers.named(name.rawValue)?.outcomes.codes == codes) }
        for provider in Providers.names {
            let classes = Outcome.all.filter { $0.provider == provider && $0.reason.hasPrefix("status_") }.map(\.reason)
            #expect(Set(classes).isSuperset(of: ["status_4xx", "status_3xx", "status_other"]))
        }
    }

    @Test func theRowsForTheSchemaAreValidSQLValues() throws {
        let lines = Outcome.sqlValues.split(separator: "\n")
        #expect(lines.count == Outcome.all.count)
        #expect(lines.first == "    (0, 'pending', 'not_attempted', NULL, 'Not attempted yet.'),")
        let row = try Regex(#"    \(\d+, '[a-z_]+', '[A-Za-z_0-9]+', (NULL|'[a-z]+'), '([^']|'')+'\),?"#)
        #expect(lines.allSatisfy { $0.wholeMatch(of: row) != nil })
    }

    @Test func eachHasAMeaningOfOneLine() {
        for outcome in Outcome.all {
            #expect((10...120).contains(outcome.meaning.count), "\(outcome)")
            #expect(outcome.meaning.hasSuffix(".") && !outcome.meaning.contains("\n"), "\(outcome)")
        }
    }

    @Test func fatesHaveTheNamesOfTheContract() {
        let names = ["waiting", "planned", "duplicate", "unmatched", "cancelled", "expired", "refused"]
        #expect(EventFate.allCases.map(\.name) == names)
        #expect(EventFate.allCases.map(\.rawValue) == Array(0...6))
    }
}
