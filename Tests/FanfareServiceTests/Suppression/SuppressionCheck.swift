import FanfareCore
import TestKit

@testable import DaemonKit

/// Checks the results of a combination's recipients against all its settings.
struct SuppressionCheck {
    /// A push as the phone received it.
    private struct Arrival {
        let user: SuppressionCombination.User
        let token: String
        /// The time by the database's clock, in seconds since 1970.
        let at: Double
        /// The numbers of the events in its digest.
        let numbers: [String]
        /// The number of events that it states.
        let count: String
    }

    /// The largest error of the daemon's estimate of the database's clock, in seconds.
    private static let skew = 0.5

    let combination: SuppressionCombination
    let begin: SuppressionBegin
    /// The times before the first event.
    let start: SuppressionBegin
    let fates: [SuppressionFate]
    let pushes: [ReceivedPush]
    /// The users of the canary, by event.
    let canary: [String: Set<String>]

    /// Returns the violations.
    func problems() throws -> [String] {
        let arrivals = try pushes.map(arrival)
        return ends(arrivals) + times(arrivals) + canaries(arrivals) + rates(arrivals) + caps(arrivals)
            + (combination.isDigest ? digests(arrivals) : [])
    }

    private func arrival(_ push: ReceivedPush) throws -> Arrival {
        let user = combination.users.first { $0.tokens.contains(push.token) }
        guard let user, let body = try push.json("aps", "alert", "body")?.stringValue,
            let count = try push.json("aps", "alert", "title")?.stringValue
        else { throw UnknownPush(path: push.path) }
        return Arrival(
            user: user,
            token: push.token,
            at: Double(push.nanoseconds) / 1e9 + begin.offset,
            numbers: body.split(separator: " ").map(String.init),
            count: count
        )
    }

    /// Each delivery has one outcome, and each accepted one arrived once.
    private func ends(_ arrivals: [Arrival]) -> [String] {
        var problems: [String] = []
        let deliveries = Dictionary(grouping: fates) { "\($0.event) \($0.token)" }
        for (delivery, fates) in deliveries where fates.count != 1 {
            problems.append("delivery \(delivery) ended as \(fates.map(\.outcome))")
        }
        let events = Set(fates.map(\.event)).count
        let devices = combination.users.flatMap(\.tokens).count
        if !combination.isDigest && (events != 3 || deliveries.count != 3 * devices) {
            problems.append("\(deliveries.count) deliveries of \(events) events for \(devices) devices")
        }
        if Set(arrivals.map { "\($0.token) \($0.numbers)" }).count != arrivals.count {
            problems.append("something arrived twice")
        }
        let accepted = fates.count { $0.outcome == "accepted" }
        if accepted != arrivals.count { problems.append("\(accepted) accepted, \(arrivals.count) arrived") }
        for fate in fates where !mayEnd(fate) { problems.append("\(fate.user) ended as \(fate.outcome)") }
        return problems
    }

    private func mayEnd(_ fate: SuppressionFate) -> Bool {
        guard let user = combination.users.first(where: { $0.id == fate.user }) else { return false }
        let isLate = combination.isLocal && !user.isInUTC
        if isLate { return fate.outcome == "expired" }
        if user.isOut { return fate.outcome == "opted_out" }
        return switch fate.outcome {
        case "accepted": true
        case "quiet": combination.quiet == "drop" && user.isInUTC
        case "capped": combination.cap != nil
        default: false
        }
    }

    /// No push arrives before its time or in quiet hours.
    private func times(_ arrivals: [Arrival]) -> [String] {
        arrivals.compactMap { arrival in
            var earliest = start.now
            if combination.isLocal { earliest = max(earliest, begin.due) }
            if combination.quiet != nil && arrival.user.isInUTC { earliest = max(earliest, begin.wakes) }
            if combination.isDigest { earliest = max(earliest, start.now + 5) }
            let early = earliest - arrival.at - Self.skew
            return early > 0 ? "\(arrival.user.id) got \(arrival.numbers) \(early) s early" : nil
        }
    }

    /// Users outside the canary receive theirs the canary's delay after the first canary user.
    private func canaries(_ arrivals: [Arrival]) -> [String] {
        canary.compactMap { number, users in
            let these = arrivals.filter { $0.numbers == [number] }
            let first = these.filter { users.contains($0.user.id) }.map(\.at).min()
            let others = these.filter { !users.contains($0.user.id) }.map(\.at).min()
            guard let first, let others, others < first + 5 - Self.skew else { return nil }
            return "the others got \(number) \(others - first) s after those that go first"
        }
    }

    /// The number of pushes received by a time is at most the rate's, plus a fifth of a second's worth.
    private func rates(_ arrivals: [Arrival]) -> [String] {
        guard let rate = combination.rate.map(Double.init) else { return [] }
        let credit = max(1, rate / 5)
        return arrivals.map(\.at).sorted().enumerated().compactMap { index, at in
            let most = credit + (at - start.now + Self.skew) * rate
            return Double(index + 1) > most ? "push \(index + 1) came after \(at - start.now) s" : nil
        }
    }

    /// No user gets more events than the cap, and a capped user got exactly that many.
    private func caps(_ arrivals: [Arrival]) -> [String] {
        guard let cap = combination.cap else { return [] }
        return combination.users.compactMap { user in
            let events = Set(arrivals.filter { $0.user.id == user.id }.map(\.numbers)).count
            let isCapped = fates.contains { $0.user == user.id && $0.outcome == "capped" }
            guard events > cap || isCapped && events < cap else { return nil }
            return "\(user.id) got \(events) events, \(isCapped ? "capped" : "not capped")"
        }
    }

    /// Each event is in one digest, and the digest's count is right.
    private func digests(_ arrivals: [Arrival]) -> [String] {
        let tokens = Dictionary(grouping: arrivals, by: \.token)
        return tokens.flatMap { token, arrivals in
            var problems = arrivals.filter { String($0.numbers.count) != $0.count }
                .map { "\(token) was told of \($0.count): \($0.numbers)" }
            let numbers = arrivals.flatMap(\.numbers)
            let isWhole = fates.filter { $0.token == token }.allSatisfy { $0.outcome == "accepted" }
            if Set(numbers).count != numbers.count || isWhole && Set(numbers) != ["1", "2", "3"] {
                problems.append("\(token) was told of \(numbers.sorted())")
            }
            return problems
        }
    }
}

private struct UnknownPush: Error {
    let path: String
}
