/// Where a reader of the logs is: the id of a server-sent event, which comes back as `Last-Event-ID`.
struct TailPlace: Sendable, Equatable, CustomStringConvertible {
    /// Which line of those that one daemon has read since it began to follow.
    struct Mark: Sendable, Equatable {
        let run: UInt32
        let number: Int
    }

    /// The numbers that lines may have; one more than any of them is still a number.
    private static let numbers = 0...(1 << 53)

    /// When the line was written, in microseconds since 1970 by the database's clock; by it another daemon finds the place, too.
    let at: Int64
    /// Nil for a place by time alone, as somebody may write it.
    let mark: Mark?

    /// Names a place.
    ///
    /// - Parameters:
    ///   - at: microseconds since 1970.
    ///   - mark: which line it is; nil for what was written at that time.
    init(at: Int64, mark: Mark? = nil) {
        (self.at, self.mark) = (at, mark)
    }

    /// Reads an id; nil for what is none of ours.
    ///
    /// - Parameter text: as it came.
    init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard let at = parts.first.flatMap({ Int64($0) }), at > 0 else { return nil }
        switch parts.count {
        case 1: self.init(at: at)
        case 3:
            guard let run = UInt32(parts[1]), let number = Int(parts[2]), Self.numbers.contains(number) else {
                return nil
            }
            self.init(at: at, mark: Mark(run: run, number: number))
        default: return nil
        }
    }

    var description: String { mark.map { "\(at).\($0.run).\($0.number)" } ?? "\(at)" }
}
