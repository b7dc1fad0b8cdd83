internal import FanfareCore
internal import FanfareTools

/// The most recent log lines, shared by all readers: lines are numbered, so that readers need no copy and cannot
/// confuse two lines.
struct TailRing: Sendable {
    /// A line and its JSON, which is encoded once for all readers.
    struct Entry: Sendable {
        let line: TailLine
        let text: String

        init(_ line: TailLine) {
            self.line = line
            text = line.json.text
        }
    }

    /// Consecutive lines that were read together.
    private struct Piece {
        let first: Int
        let lines: [Entry]
        let weight: Int
        let newest: Int64

        init(_ lines: [Entry], first: Int) {
            (self.lines, self.first) = (lines, first)
            weight = lines.reduce(0) { $0 + $1.line.weight + $1.text.utf8.count }
            newest = lines.reduce(0) { max($0, $1.line.place) }
        }

        var end: Int { first + lines.count }
    }

    /// The most lines kept.
    static let limit = 100_000
    /// The most bytes of memory that lines take, approximately.
    static let weightLimit = 64 << 20
    /// The most lines that a reader gets at once.
    static let pieceLimit = 100
    /// How much later than its timestamp a line may become visible, in microseconds, because a transaction commits
    /// after it writes.
    static let slack: Int64 = 10_000_000

    /// Distinguishes this ring from earlier ones and from other daemons' rings.
    let run: UInt32
    /// The time from which the ring is complete, in microseconds since 1970.
    private(set) var coveredFrom: Int64
    /// The latest timestamp of a line.
    private(set) var newest: Int64
    /// The number of the next line.
    private(set) var end = 1
    /// The number of the last line that is not new to readers that arrived before the ring.
    private var begun = 0
    private var pieces: [Piece] = []
    private var count = 0
    private var weight = 0

    /// Creates an empty ring.
    ///
    /// - Parameters:
    ///   - run: a number that differs for each ring.
    ///   - coveredFrom: the time from which the ring will be complete, in microseconds since 1970.
    init(run: UInt32, coveredFrom: Int64) {
        (self.run, self.coveredFrom, newest) = (run, coveredFrom, coveredFrom)
    }

    /// Appends lines, and drops the oldest ones beyond the limits.
    ///
    /// - Parameter lines: the lines in the order in which readers get them.
    mutating func append(_ lines: [Entry]) {
        for start in stride(from: 0, to: lines.count, by: Self.pieceLimit) {
            let piece = Piece(Array(lines[start..<min(start + Self.pieceLimit, lines.count)]), first: end)
            pieces.append(piece)
            (end, count, weight) = (piece.end, count + piece.lines.count, weight + piece.weight)
            newest = max(newest, piece.newest)
        }
        var forgotten = 0
        while count > Self.limit || weight > Self.weightLimit {
            let piece = pieces[forgotten]
            (count, weight, forgotten) = (count - piece.lines.count, weight - piece.weight, forgotten + 1)
            coveredFrom = max(coveredFrom, piece.newest + 1)
        }
        pieces.removeFirst(forgotten)
    }

    /// The number of the oldest line kept.
    var first: Int { pieces.first?.first ?? end }

    /// The position after the newest line.
    var last: TailPlace { TailPlace(at: newest, mark: TailPlace.Mark(run: run, number: end - 1)) }

    /// The position before the oldest line.
    var front: TailPlace { TailPlace(at: coveredFrom, mark: TailPlace.Mark(run: run, number: first - 1)) }

    /// The position of a reader of new lines that arrived before the ring.
    var beginning: TailPlace { TailPlace(at: newest, mark: TailPlace.Mark(run: run, number: begun)) }

    /// Marks all lines so far as not new.
    mutating func begin() { begun = end - 1 }

    /// Finds where a reader continues after a position.
    ///
    /// - Parameter place: the reader's position.
    /// - Returns: the number of the next line, and, for a position by time, the time before which lines are skipped;
    ///   nil if lines in between are missing, or if no line had that number.
    func start(behind place: TailPlace) -> (number: Int, since: Int64)? {
        if let mark = place.mark, mark.run == run {
            // Clients send the number, so arithmetic on it comes after the range check.
            return (first - 1..<end).contains(mark.number) ? (mark.number + 1, 0) : nil
        }
        let since = time(of: place) - Self.slack
        return since >= coveredFrom ? (first, since) : nil
    }

    /// Returns the time of a position.
    ///
    /// Clients send positions, so one later than the newest line counts as that line's.
    ///
    /// - Parameter place: a position of this ring or of another.
    /// - Returns: microseconds since 1970.
    func time(of place: TailPlace) -> Int64 { min(place.at, newest) }

    /// Returns consecutive lines of one piece.
    ///
    /// - Parameter number: the number of the first of them; at least ``first``.
    /// - Returns: at most ``pieceLimit`` lines; none if that line has not arrived.
    func lines(from number: Int) -> ArraySlice<Entry> {
        // Binary search for the last piece that begins at or before the number.
        var (low, high) = (0, pieces.count)
        while low < high {
            let middle = (low + high) / 2
            if pieces[middle].first <= number { low = middle + 1 } else { high = middle }
        }
        guard low > 0, number < pieces[low - 1].end else { return [] }
        return pieces[low - 1].lines[(number - pieces[low - 1].first)...]
    }
}
