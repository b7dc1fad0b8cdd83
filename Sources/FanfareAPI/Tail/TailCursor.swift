internal import FanfareTools

/// One reader's way through the ring.
///
/// Nothing is kept for him elsewhere: however slow he is, he costs no more memory than others, and holds up nobody.
struct TailCursor: Sendable {
    /// What comes next for a reader.
    enum News: Sendable {
        /// Those of the next lines that pass his filter, perhaps none of them, and their places.
        case lines([(place: TailPlace, entry: TailRing.Entry)])
        /// What was written between two times, in microseconds since 1970, is not here, or not all of it.
        case gap(after: Int64, until: Int64)
    }

    private let filter: LogTail.Filter
    /// Behind what he is; nil before the ring is there, for whoever waits for what is new.
    private(set) var place: TailPlace?
    /// What is older is none of his.
    private var since: Int64 = 0

    /// Begins.
    ///
    /// - Parameters:
    ///   - filter: what he gets; its `since` is not looked at.
    ///   - place: behind what; nil for what is new when the ring begins.
    init(_ filter: LogTail.Filter, behind place: TailPlace?) {
        (self.filter, self.place) = (filter, place)
    }

    /// Goes on.
    ///
    /// - Parameter ring: what there is; may be another than before.
    /// - Returns: what comes next; nil if nothing has come yet.
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
            // Whoever came by time has got all that was there.
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
