internal import FanfareTools

/// The position and filter of one reader of a ring.
///
/// A reader keeps no lines, so a slow reader costs no extra memory and delays no other reader.
struct TailCursor: Sendable {
    /// The next step of a reader.
    enum News: Sendable {
        /// The lines of the next piece that pass the filter, possibly none, with their positions.
        case lines([(place: TailPlace, entry: TailRing.Entry)])
        /// Lines written between two times, in microseconds since 1970, are missing here, at least in part.
        case gap(after: Int64, until: Int64)
    }

    private let filter: LogTail.Filter
    /// The position that the reader has reached; nil before the ring exists, for a reader that started without a
    /// position.
    private(set) var place: TailPlace?
    /// Lines older than this are skipped, in microseconds since 1970.
    private var since: Int64 = 0

    /// Creates a cursor.
    ///
    /// - Parameters:
    ///   - filter: selects the lines; its `since` is ignored.
    ///   - place: the position to continue after; nil for lines that arrive after the ring begins.
    init(_ filter: LogTail.Filter, behind place: TailPlace?) {
        (self.filter, self.place) = (filter, place)
    }

    /// Returns the next lines and advances.
    ///
    /// - Parameter ring: the current ring, which may have replaced an earlier one.
    /// - Returns: the next step; nil if no new line has arrived.
    mutating func next(in ring: TailRing) -> News? {
        let behind = place ?? ring.beginning
        let time = ring.time(of: behind)
        guard let start = ring.start(behind: behind) else {
            (place, since) = (ring.front, 0)
            return .gap(after: time, until: ring.coveredFrom)
        }
        since = max(since, start.since)
        let lines = ring.lines(from: start.number)
        guard !lines.isEmpty else {
            // A reader that continued by time has received all lines that were here.
            (place, since) = (start.since > 0 ? ring.last : behind, 0)
            return nil
        }
        let latest = lines.reduce(time) { max($0, $1.line.place) }
        place = TailPlace(at: latest, mark: TailPlace.Mark(run: ring.run, number: start.number + lines.count - 1))
        return .lines(
            zip(start.number..., lines).filter { $1.line.place >= since && filter.passes($1.line) }.map {
                number,
                entry in
                (TailPlace(at: max(time, entry.line.place), mark: TailPlace.Mark(run: ring.run, number: number)), entry)
            }
        )
    }
}
