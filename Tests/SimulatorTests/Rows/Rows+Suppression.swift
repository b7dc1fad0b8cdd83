import FanfareCore
import PostgresClient

@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// The model of the statements about suppressions.
extension Rows {
    /// The app's policy, which applies to all its rules.
    struct Policy: Equatable {
        /// The zone of devices without a time zone.
        var zone = "UTC"
        var hours: Hours?
        /// The caps by bit.
        var caps: [Cap] = []
    }

    /// Quiet hours.
    struct Hours: Equatable {
        /// The start, such as `23:30`.
        let from: String
        let until: String
        let isHeld: Bool
    }

    /// A limit of events for each user within a period.
    struct Cap: Equatable {
        let name: String
        let count: Int
        let period: Microseconds
        let since: Microseconds
    }

    /// An event that a user was granted.
    struct Grant: Equatable {
        let event: Int64
        let at: Microseconds
        /// The caps that it counts for, as bits.
        var bits: Int
    }

    func apply(_ statement: FetchSuppressions) -> [SuppressionRow] {
        let own = statement.hours.map { Hours(from: $0.from, until: $0.until, isHeld: $0.mode == .hold) }
        guard let hours = statement.goesByApp ? policy?.hours : own else { return [] }
        return statement.deviceIDs.enumerated().compactMap { position, id in
            let zone = SimulatedZone.named(devices[id]?.zone ?? policy?.zone)
            guard let wakes = zone.wakes(at: statement.now.microseconds, from: hours.from, until: hours.until) else {
                return nil
            }
            return SuppressionRow(
                position: position,
                isOptedOut: false,
                snoozedUntil: nil,
                quietUntil: Timestamp(microseconds: wakes),
                isHeld: hours.isHeld
            )
        }
    }

    mutating func apply(_ statement: TakeCaps) -> [String] {
        let time = statement.now?.microseconds ?? now
        let caps = policy?.caps ?? []
        let mask = caps.indices.reduce(0) { statement.caps.contains(caps[$1].name) ? $0 | 1 << $1 : $0 }
        guard mask != 0 else { return statement.users }
        return zip(statement.users, statement.events).compactMap { user, event in
            let asked = Grant(event: event, at: time / 1000 * 1000, bits: mask)
            let grant = Grant(event: event, at: asked.at + TakeCaps.ahead * Micros.millisecond, bits: mask)
            guard let taken = Self.take(grants[user] ?? [], grant, caps, now: time, isRetry: statement.isRetry) else {
                remember(asked, of: user)
                return nil
            }
            grants[user] = taken
            return user
        }
    }

    /// Models `fanfare.refuse`, for users with several devices.
    private mutating func remember(_ asked: Grant, of user: String) {
        guard let known = grants[user], !known.contains(where: { $0.event == -asked.event }),
            devices.values.count(where: { $0.user == user && $0.disabledReason == nil }) > 1
        else { return }
        let since = Self.decidedSince(known, asked)
        grants[user] =
            known.filter { $0.event > 0 || $0.at >= since } + [
                Grant(event: -asked.event, at: asked.at, bits: asked.bits)
            ]
    }

    /// Models `fanfare.decided_since`, in microseconds.
    private static func decidedSince(_ grants: [Grant], _ asked: Grant) -> Microseconds {
        asked.at - (grants.count > 128 ? Micros.minute : Micros.hour)
    }

    /// Models `fanfare.take`; nil if a cap is full.
    private static func take(
        _ grants: [Grant],
        _ asked: Grant,
        _ caps: [Cap],
        now: Microseconds,
        isRetry: Bool
    ) -> [Grant]? {
        if let refusal = grants.first(where: { $0.event == -asked.event }), refusal.bits & ~asked.bits == 0 {
            return nil
        }
        let since = decidedSince(grants, asked)
        var grants = grants
        let place = grants.firstIndex { $0.event == asked.event }
        func isRecent(_ grant: Grant, _ bit: Int) -> Bool {
            grant.at / 1000 >= max(caps[bit].since + TakeCaps.ahead * Micros.millisecond, now - caps[bit].period) / 1000
        }
        func counts(_ grant: Grant, _ bit: Int) -> Bool {
            grant.event > 0 && grant.bits & 1 << bit != 0 && isRecent(grant, bit)
        }
        var old = 0
        if let place, isRetry {
            for bit in caps.indices where asked.bits & 1 << bit != 0 && !isRecent(grants[place], bit) {
                old |= 1 << bit
            }
        }
        let bits = asked.bits & (~(place.map { grants[$0].bits } ?? 0) | old)
        guard bits != 0 else { return grants }
        for bit in caps.indices where bits & 1 << bit != 0 {
            guard grants.count(where: { counts($0, bit) }) < caps[bit].count else { return nil }
        }
        if let place {
            grants[place] = Grant(
                event: asked.event,
                at: old == 0 ? grants[place].at : asked.at,
                bits: grants[place].bits | bits
            )
        } else {
            grants.append(asked)
        }
        return grants.filter { grant in grant.at >= since || caps.indices.contains { counts(grant, $0) } }
    }

    /// Returns the users of devices, as `FetchDeviceFields` does.
    func fields(of devices: [Int64]) -> [Int64: DeviceContext] {
        var fields: [Int64: DeviceContext] = [:]
        for id in devices { fields[id] = DeviceContext(deviceID: id, userID: self.devices[id]?.user) }
        return fields
    }
}

/// A time zone with a fixed offset, by PostgreSQL's name.
struct SimulatedZone {
    /// A zone where a run begins at midnight.
    static let asleep = "Etc/GMT+8"
    /// A zone where a run begins in the afternoon.
    static let awake = "Etc/GMT-9"

    private static let day = 24 * Micros.hour
    /// The offset east of Greenwich.
    private let offset: Microseconds

    static func named(_ name: String?) -> SimulatedZone {
        switch name {
        case asleep: SimulatedZone(offset: -8 * Micros.hour)
        case awake: SimulatedZone(offset: 9 * Micros.hour)
        default: SimulatedZone(offset: 0)
        }
    }

    /// Models `fanfare.wakes_at`: the end of the quiet hours that contain a time.
    func wakes(at time: Microseconds, from: String, until: String) -> Microseconds? {
        let (from, until) = (Self.time(from), Self.time(until))
        let wall = time + offset
        let midnight = wall / Self.day * Self.day
        let isQuiet =
            from < until ? from..<until ~= wall - midnight : wall - midnight >= from || wall - midnight < until
        guard isQuiet else { return nil }
        let end = midnight + until
        return (end > wall ? end : end + Self.day) - offset
    }

    private static func time(_ text: String) -> Microseconds {
        let parts = text.split(separator: ":").compactMap { Microseconds($0) }
        return parts[0] * Micros.hour + parts[1] * Micros.minute
    }
}
