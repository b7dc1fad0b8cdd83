import FanfareCore

@testable import FanfareProviders
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// What a run has seen of whom it disturbed; kept beside the rows, which a server without power forgets some of.
struct SuppressionLedger {
    /// An event that was granted to a user.
    struct Grant {
        let event: Int64
        /// Steady time.
        let at: Microseconds
    }

    /// A delivery under one claim.
    struct Held: Hashable {
        let batch: Int64
        let token: Int64
        let position: Int
    }

    /// When power was lost; steady times.
    var powerLosses: [Microseconds] = []
    /// The first of each event and user.
    var grants: [String: [Grant]] = [:]
    /// When a user was first refused an event (steady): the user's other devices are refused it too.
    var refusals: [String: [Int64: Microseconds]] = [:]
    /// Until when deliveries are held.
    var held: [Held: Microseconds] = [:]
    /// When what goes at a rate was claimed (steady), by the claim's token.
    var paced: [Int64: Microseconds] = [:]
    /// The deliveries that were sent by such claims.
    var sent: [Int64: Set<Delivery>] = [:]

    /// Whether power was lost between two times, or just after: what was committed shortly before is gone.
    func lostPower(from begin: Microseconds, to end: Microseconds) -> Bool {
        powerLosses.contains { $0 >= begin && $0 <= end + Micros.second }
    }
}

/// When it is quiet somewhere, told minute by minute: shares nothing with the rows' reading of the same.
struct QuietOracle {
    private static let day = 24 * 60
    private let from: Int
    private let length: Int
    private let offset: Int

    /// - Parameters:
    ///   - hours: the hours.
    ///   - zone: a zone's name; nil for none.
    init(_ hours: Rows.Hours, zone: String?) {
        func minute(_ text: String) -> Int {
            let digits = text.utf8.compactMap { (48...57).contains($0) ? Int($0) - 48 : nil }
            return digits[0] * 600 + digits[1] * 60 + digits[2] * 10 + digits[3]
        }
        from = minute(hours.from)
        length = (minute(hours.until) - from + Self.day) % Self.day
        offset = [SimulatedZone.asleep: -480, SimulatedZone.awake: 540][zone ?? ""] ?? 0
    }

    /// When it is over at a time; nil where it is not quiet.
    func end(at time: Microseconds) -> Microseconds? {
        let minute = Int(time / Micros.minute)
        let passed = (minute + offset - from + 2 * Self.day) % Self.day
        return passed < length ? Microseconds(minute + length - passed) * Micros.minute : nil
    }
}
