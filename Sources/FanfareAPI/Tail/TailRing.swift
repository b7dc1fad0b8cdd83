internal import FanfareCore
internal import FanfareTools

/// The last lines of the logs, for all who look: each is numbered, so that nobody needs a copy, and none is taken for another.
struct TailRing: Sendable {
    /// A line, and its JSON: written once, however many readers get it.
    struct Entry: Sendable {
        let line: TailLine
        let text: String

        init(_ line: TailLine) {
            self.line = line
            text = line.json.text
        }
    }

    /// Lines that were read together, or a part of them.
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

    /// How many lines are kept.
    static let limit = 100_000
    /// About how many bytes of memory they may have.
    static let weightLimit = 64 << 20
    /// How many lines a reader gets at once.
    static let pieceLimit = 100
    /// How much later than others of its time a line may have come to be seen, in microseconds: transactions end after what they write.
    static let slack: Int64 = 10_000_000

    /// Tells it from what was followed before or elsewhere.
    let run: UInt32
    /// Since when all lines are here, in microseconds since 1970.
    private(set) var coveredFrom: Int64
    /// The latest time that a line has.
    private(set) var newest: Int64
    /// What the next line is numbered.
    private(set) var end = 1
    /// Behind which line those begin that are new to whoever came before the ring.
    private var begun = 0
    private var pieces: [Piece] = []
    private var count = 0
    private var weight = 0

    /// Keeps nothing yet.
    ///
    /// - Parameters:
    ///   - run: another for each.
    ///   - coveredFrom: from which time on all lines will be here, in microseconds since 1970.
    init(run: UInt32, coveredFrom: Int64) {
        (self.run, self.coveredFrom, newest) = (run, coveredFrom, coveredFrom)
    }

    /// Keeps lines behind those that are there, and forgets the oldest where they are too many.
    ///
    /// - Parameter lines: in the order in which readers get them.
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

    /// The number of the oldest line that is here.
    var first: Int { pieces.first?.first ?? end }

    /// The place behind all that is here.
    var last: TailPlace { TailPlace(at: newest, mark: TailPlace.Mark(run: run, number: end - 1)) }

    /// The place before all that is here.
    var front: TailPlace { TailPlace(at: coveredFrom, mark: TailPlace.Mark(run: run, number: first - 1)) }

    /// The place of whoever waits for what is new, and came before the ring.
    var beginning: TailPlace { TailPlace(at: newest, mark: TailPlace.Mark(run: run, number: begun)) }

    /// Takes what is here for old.
    mutating func begin() { begun = end - 1 }

    /// Finds where a reader goes on behind a place.
    ///
    /// - Parameter place: where he was.
    /// - Returns: the number of the line, and the time before which lines are none of his if he is there by time; nil if what was
    ///   between is not here, or if no line ever had that number.
    func start(behind place: TailPlace) -> (number: Int, since: Int64)? {
        if let mark = place.mark, mark.run == run {
            // No arithmetic on the number: clients send it.
            return (first - 1..<end).contains(mark.number) ? (mark.number + 1, 0) : nil
        }
        let since = time(of: place) - Self.slack
        return since >= coveredFrom ? (first, since) : nil
    }

    /// When a place is: clients send it, so one later than the newest line counts as that line's.
    ///
    /// - Parameter place: from here or from elsewhere.
    /// - Returns: microseconds since 1970.
    func time(of place: TailPlace) -> Int64 { min(place.at, newest) }

    /// Some lines in their order.
    ///
    /// - Parameter number: of the first of them; at least ``first``.
    /// - Returns: at most ``pieceLimit``; none if that line has not come.
    func lines(from number: Int) -> ArraySlice<Entry> {
        // The last piece that begins at or before it.
        var (low, high) = (0, pieces.count)
        while low < high {
            let middle = (low + high) / 2
            if pieces[middle].first <= number { low = middle + 1 } else { high = middle }
        }
        guard low > 0, number < pieces[low - 1].end else { return [] }
        return pieces[low - 1].lines[(number - pieces[low - 1].first)...]
    }
}
