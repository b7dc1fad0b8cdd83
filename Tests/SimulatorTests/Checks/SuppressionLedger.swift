import FanfareCore

@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// What a run has observed about suppressions; kept beside the rows, which a server loses in part with its power.
struct SuppressionLedger {
    /// An event that was granted to a user.
    struct Grant {
        let event: Int64
        /// The time on the steady clock.
        let at: Microseconds
    }

    /// A delivery under one claim.
    struct Held: Hashable {
        let batch: Int64
        let token: Int64
        let position: Int
    }

    /// The times at which power was lost, on the steady clock.
    var powerLosses: [Microseconds] = []
    /// The grants by user, the first of each event.
    var grants: [String: [Grant]] = [:]
    /// The time on the steady clock at which a user was first refused an event, which applies to the user's other
    /// devices too.
    var refusals: [String: [Int64: Microseconds]] = [:]
    /// The time until which deliveries are held.
    var held: [Held: Microseconds] = [:]
    /// The time on the steady clock of each claim at a rate, by the claim's token.
    var paced: [Int64: Microseconds] = [:]
    /// The deliveries sent under such claims.
    var sent: [Int64: Set<Delivery>] = [:]

    /// Returns whether power was lost between two times or just after, so that what was committed shortly before is
    /// lost.
    func lostPower(from begin: Microseconds, to end: Microseconds) -> Bool {
        powerLosses.contains { $0 >= begin && $0 <= end + Micros.second }
    }
}

/// The quiet hours of a place, evaluated minute by minute; independent of the rows' implementation.
struct QuietOracle {
    private static let day = 24 * 60
    private let from: Int
    private let length: Int
    private let offset: Int

    /// - Parameters:
    ///   - hours: the quiet hours.
    ///   - zone: the time zone's name; nil for none.
    init(_ hours: Rows.Hours, zone: String?) {
        func minute(_ text: String) -> Int {
            let digits = text.utf8.compactMap { (48...57).contains($0) ? Int($0) - 48 : nil }
            return digits[0] * 600 + digits[1] * 60 + digits[2] * 10 + digits[3]
        }
        from = minute(hours.from)
        length = (minute(hours.until) - from + Self.day) % Self.day
        offset = [SimulatedZone.asleep: -480, SimulatedZone.awake: 540][zone ?? ""] ?? 0
    }

    /// Returns the end of the quiet hours at a time; nil outside quiet hours.
    func end(at time: Microseconds) -> Microseconds? {
        let minute = Int(time / Micros.minute)
        let passed = (minute + offset - from + 2 * Self.day) % Self.day
        return passed < length ? Microseconds(minute + length - passed) * Micros.minute : nil
    }
}
