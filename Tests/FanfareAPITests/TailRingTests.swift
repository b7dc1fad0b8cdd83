import FanfareCore
import PostgresClient
import Testing

@testable import FanfareAPI
@testable import FanfareTools

@Suite struct TailRingTests {
    private static let noon: Int64 = 1_800_000_000_000_000

    private static func line(_ id: Int, at: Int64, type: String = "t", detail: String? = nil) -> TailRing.Entry {
        TailRing.Entry(
            TailLine(
                at: Timestamp(microseconds: at),
                eventID: Int64(id),
                eventType: type,
                emittedAt: nil,
                subject: .event(fate: "planned", key: nil, detail: detail)
            )
        )
    }

    /// Returns all lines that a reader gets, and the number of gaps.
    private static func read(_ cursor: inout TailCursor, _ ring: TailRing) -> (ids: [Int64], gaps: Int) {
        var read: (ids: [Int64], gaps: Int) = ([], 0)
        while let news = cursor.next(in: ring) {
            switch news {
            case .lines(let lines): read.ids += lines.compactMap(\.entry.line.eventID)
            case .gap: read.gaps += 1
            }
        }
        return read
    }

    /// All lines have the same time, as deliveries of a batch do.
    @Test(arguments: [1, 99, 100, 101, 250])
    func linesOfOneMicrosecondAreToldApart(known: Int) throws {
        var ring = TailRing(run: 1, coveredFrom: Self.noon)
        var first = TailCursor(LogTail.Filter(), behind: ring.last)
        ring.append((1...250).map { Self.line($0, at: Self.noon) })
        var places: [String] = []
        while case .lines(let lines)? = first.next(in: ring) { places += lines.map(\.place.description) }
        #expect(Set(places).count == 250)
        let place = try #require(TailPlace(places[known - 1]))
        var again = TailCursor(LogTail.Filter(), behind: place)
        let read = Self.read(&again, ring)
        #expect(read.gaps == 0 && read.ids == (1...250).dropFirst(known).map(Int64.init))
    }

    @Test func anotherDaemonGoesOnByTheTime() {
        var ring = TailRing(run: 2, coveredFrom: Self.noon - TailRing.slack)
        ring.append((-2...2).map { Self.line($0 + 3, at: Self.noon + Int64($0) * (TailRing.slack / 2)) })
        let mark = TailPlace.Mark(run: 1, number: 7)
        var cursor = TailCursor(LogTail.Filter(), behind: TailPlace(at: Self.noon + 1, mark: mark))
        // The first line may be older than the position; the rest may arrive twice.
        var read = Self.read(&cursor, ring)
        #expect(read.gaps == 0 && read.ids == [2, 3, 4, 5])
        // A late line is no longer skipped as old.
        ring.append([Self.line(6, at: Self.noon - TailRing.slack)])
        read = Self.read(&cursor, ring)
        #expect(read.gaps == 0 && read.ids == [6])
        var tooOld = TailCursor(LogTail.Filter(), behind: TailPlace(at: Self.noon - 1, mark: mark))
        read = Self.read(&tooOld, ring)
        #expect(read.gaps == 1 && read.ids == [1, 2, 3, 4, 5, 6])
    }

    @Test func whoIsTooSlowIsToldWhatHeMissed() {
        var ring = TailRing(run: 1, coveredFrom: Self.noon)
        var slow = TailCursor(LogTail.Filter(), behind: ring.last)
        let all = TailRing.limit + 1000
        for first in stride(from: 1, through: all, by: 500) {
            ring.append((first..<first + 500).map { Self.line($0, at: Self.noon + Int64($0)) })
        }
        guard case .gap(let after, let until)? = slow.next(in: ring) else {
            Issue.record("nothing was said")
            return
        }
        #expect(after == Self.noon && until == Self.noon + 1001)
        let read = Self.read(&slow, ring)
        #expect(read.gaps == 0 && read.ids == (1001...all).map(Int64.init))
        // A position by time never gets a part without a gap.
        var byTime = TailCursor(LogTail.Filter(), behind: TailPlace(at: Self.noon + 1000))
        #expect(Self.read(&byTime, ring).gaps == 1)
    }

    @Test func longLinesAreFewer() {
        var ring = TailRing(run: 1, coveredFrom: Self.noon)
        let detail = String(repeating: "x", count: 1 << 20)
        for id in 1...100 { ring.append([Self.line(id, at: Self.noon, detail: detail)]) }
        #expect(ring.end == 101 && (69...71).contains(ring.first))
    }

    @Test func whoCameBeforeTheRingGetsWhatIsNew() {
        var filter = LogTail.Filter()
        filter.eventType = "wanted"
        var cursor = TailCursor(filter, behind: nil)
        var ring = TailRing(run: 1, coveredFrom: Self.noon)
        ring.append([Self.line(1, at: Self.noon, type: "wanted")])
        ring.begin()
        ring.append([Self.line(2, at: Self.noon, type: "other"), Self.line(3, at: Self.noon, type: "wanted")])
        #expect(Self.read(&cursor, ring).ids == [3])
        // Lines that the filter drops advance the position too.
        ring.append([Self.line(4, at: Self.noon, type: "other")])
        #expect(Self.read(&cursor, ring).ids.isEmpty)
        #expect(cursor.place == ring.last)
    }

    /// The client sends the number, and may make it up.
    @Test(arguments: [251, 252, 1 << 53, Int.max - 1, Int.max])
    func aNumberThatNoLineHasIsAGap(number: Int) {
        var ring = TailRing(run: 1, coveredFrom: Self.noon)
        ring.append((1...250).map { Self.line($0, at: Self.noon) })
        let mark = TailPlace.Mark(run: 1, number: number)
        var cursor = TailCursor(LogTail.Filter(), behind: TailPlace(at: .max, mark: mark))
        let read = Self.read(&cursor, ring)
        #expect(read.gaps == 1 && read.ids == (1...250).map(Int64.init))
        #expect(cursor.place == ring.last)
    }

    @Test func aPlaceInTheFutureIsTheNewestLine() {
        var ring = TailRing(run: 1, coveredFrom: Self.noon - TailRing.slack)
        ring.append([Self.line(1, at: Self.noon)])
        var cursor = TailCursor(LogTail.Filter(), behind: TailPlace(at: .max))
        #expect(Self.read(&cursor, ring) == ([1], 0))
        ring.append([Self.line(2, at: Self.noon + 1)])
        #expect(Self.read(&cursor, ring) == ([2], 0))
        // Another daemon gets a position that it can continue from.
        #expect(cursor.place?.at == Self.noon + 1)
    }

    @Test(arguments: [
        "1.2.9223372036854775807", "1.2.9223372036854775808", "", "0", "-1", "1.2", "1.2.3.4", "1..3", "1.2.-3",
        "1.4294967296.3", "x", "1.2.3 ",
    ])
    func whatIsNoPlaceIsRefused(text: String) {
        #expect(TailPlace(text) == nil)
    }
}
