/// A reader's position in the logs: the id of a server-sent event, which a client returns as `Last-Event-ID`.
struct TailPlace: Sendable, Equatable, CustomStringConvertible {
    /// The number of a line among those that one daemon has read since it started to follow.
    struct Mark: Sendable, Equatable {
        let run: UInt32
        let number: Int
    }

    /// The accepted line numbers; the largest plus one still fits.
    private static let numbers = 0...(1 << 53)

    /// The time the line was written, in microseconds since 1970 by the database's clock; other daemons find the
    /// position by it.
    let at: Int64
    /// The line; nil for a position given by time alone, as a person may write it.
    let mark: Mark?

    /// Creates a position.
    ///
    /// - Parameters:
    ///   - at: microseconds since 1970.
    ///   - mark: the line; nil for a position by time alone.
    init(at: Int64, mark: Mark? = nil) {
        (self.at, self.mark) = (at, mark)
    }

    /// Parses an id; nil if it does not have the form of a position.
    ///
    /// - Parameter text: the id as received.
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
