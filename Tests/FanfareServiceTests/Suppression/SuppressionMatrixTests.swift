import FanfareCore
import Foundation
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages

/// All suppressions together: through a daemon, to the simulated providers, in real time.
@Suite(.database, .flowSandbox, .timeLimit(.minutes(10)))
struct SuppressionMatrixTests {
    private static let policy =
        #"{"time_zone": "UTC", "caps": {"max1": {"max": 1, "per": "1d"}, "max2": {"max": 2, "per": "1d"}}}"#

    @Test func eachRecipientEndsOnceAndAtATimeThatAllOfThemAllow() async throws {
        try await Flow.run { flow in
            try await flow.sql { world in
                try world.put(policy: Self.policy)
                for one in SuppressionCombination.all { try world.register(one) }
            }
            let begin = try await flow.sql { try SuppressionBegin(on: $0.connection) }
            try await flow.sql { world in
                for one in SuppressionCombination.all { try world.put(one, begin) }
            }
            // Put into force by the daemon, like the rates.
            try await flow.until(
                """
                SELECT bool_and(state = 'active') AND count(*) = \(SuppressionCombination.all.count)
                FROM (SELECT DISTINCT ON (v.rule_id) v.state FROM fanfare.rule_versions AS v JOIN fanfare.rules AS r ON r.id = v.rule_id
                    WHERE r.name ~ '^(campaign/)?m[0-9]+$' ORDER BY v.rule_id, v.id DESC) AS v
                """
            )
            let start = try await flow.sql { try SuppressionBegin(on: $0.connection) }
            try await flow.sql { world in
                for number in 1...3 {
                    for one in SuppressionCombination.all { try world.happen(one, number, begin) }
                }
            }
            try await flow.until(
                """
                SELECT NOT EXISTS (SELECT FROM fanfare.outbox) AND NOT EXISTS (SELECT FROM fanfare.plans)
                    AND NOT EXISTS (SELECT FROM fanfare.batches) AND NOT EXISTS (SELECT FROM fanfare.open_digests)
                """,
                seconds: 480
            )
            let fates = try await flow.sql { try $0.fates() }
            let pushes = try await flow.received(by: "c5")
            #expect(Set(fates.map(\.outcome)).isSuperset(of: ["accepted", "quiet", "capped", "expired", "opted_out"]))
            for one in SuppressionCombination.all {
                let canary = try await flow.sql { try $0.canary(of: one) }
                let check = SuppressionCheck(
                    combination: one,
                    begin: begin,
                    start: start,
                    fates: fates.filter { $0.user.hasPrefix(one.name + "-") },
                    pushes: pushes.filter { push in one.users.contains { $0.tokens.contains(push.token) } },
                    canary: canary
                )
                for problem in try check.problems() { Issue.record("\(one): \(problem)") }
            }
        }
    }
}

/// The start of a run, and the times derived from it.
struct SuppressionBegin: Sendable {
    /// The offset from the sandbox's clock to the database's, in seconds.
    let offset: Double
    /// The time by the database's clock, in seconds since 1970.
    let now: Double
    /// The scheduled local time for recipients at UTC: one to two minutes later, at a full minute.
    var due: Double { (now / 60).rounded(.up) * 60 + 60 }
    /// The end of quiet hours: a minute after ``due``.
    var wakes: Double { due + 60 }

    init(on connection: PostgresConnection) throws {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        now = Double(try connection.number("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint")) / 1e6
        offset = now - Double(time.tv_sec) - Double(time.tv_nsec) / 1e9
    }

    /// The members of the quiet hours, which begin two hours before they end.
    var quietHours: String { #""from": "\#(Self.clock(wakes - 7200))", "until": "\#(Self.clock(wakes))""# }

    /// Returns a time of day at UTC, such as `07:30`.
    private static func clock(_ time: Double) -> String {
        let minutes = Int(time) / 60 % 1440
        return [minutes / 60, minutes % 60].map { String($0 + 100).suffix(2) }.joined(separator: ":")
    }
}

/// The outcome of a delivery.
struct SuppressionFate: Sendable {
    let event: Int64
    let user: String
    let token: String
    let outcome: String
}

extension World {
    fileprivate func register(_ one: SuppressionCombination) throws {
        for user in one.users {
            for token in user.tokens {
                let id = try device(token, user: user.id, user.zone.map { "time_zone => '\($0)'" } ?? "")
                _ = try connection.query("SELECT fanfare.subscribe($1::bigint, $2)", String(id), one.name)
            }
            guard user.isOut else { continue }
            _ = try connection.query("SELECT fanfare.set_preference('shop', $1, $2, true)", user.id, one.name)
        }
    }

    fileprivate func put(_ one: SuppressionCombination, _ begin: SuppressionBegin) throws {
        let members = one.members(quietHours: begin.quietHours)
        if one.isCampaign {
            let schedule = one.isLocal ? #"{"cron": "0 0 1 1 *", "time_zone": "recipient"}"# : nil
            try put(campaign: one.name, schedule: schedule, #""to": {"topic": "\#(one.name)"}, "# + members)
        } else {
            let to = one.isDigest ? #"{"users": "$.user_id"}"# : #"{"topic": "\#(one.name)"}"#
            let rule = #"{"app": "shop", "name": "\#(one.name)", "event": "\#(one.name)", "to": \#(to), \#(members)}"#
            _ = try connection.query("SELECT fanfare.put_rule($1::jsonb)", rule)
        }
    }

    /// Emits the first, second or third event of a combination.
    fileprivate func happen(_ one: SuppressionCombination, _ number: Int, _ begin: SuppressionBegin) throws {
        if one.isCampaign {
            _ = try connection.query(
                """
                SELECT fanfare.fire(c, clock_timestamp(), jsonb_build_object('n', $2::int),
                    CASE WHEN $3::float8 > 0 THEN to_timestamp($3::float8) AT TIME ZONE 'UTC' END)
                FROM fanfare.campaigns AS c WHERE c.name = $1
                """,
                one.name,
                String(number),
                String(one.isLocal ? begin.due : 0)
            )
        } else if one.isDigest {
            for user in one.users { try emit(one.name, #"{"user_id": "\#(user.id)", "n": \#(number)}"#) }
        } else {
            try emit(one.name, #"{"n": \#(number)}"#)
        }
    }

    /// Returns the outcomes of all deliveries, including those in progress.
    fileprivate func fates() throws -> [SuppressionFate] {
        try connection.query(
            """
            SELECT d.event_id, v.user_id, v.token, d.outcome FROM fanfare.deliveries AS d JOIN fanfare.devices AS v ON v.id = d.device_id
            WHERE d.outcome <> 'retrying'
            """
        ).rows.map { row in
            SuppressionFate(
                event: Int64(row[0] ?? "") ?? 0,
                user: row[1] ?? "",
                token: row[2] ?? "",
                outcome: row[3] ?? ""
            )
        }
    }

    /// Returns the canary's users by the event's `n`; empty without a canary.
    fileprivate func canary(of one: SuppressionCombination) throws -> [String: Set<String>] {
        guard one.isCanary else { return [:] }
        let rows = try connection.query(
            """
            SELECT l.payload ->> 'n', u.user_id FROM fanfare.event_log AS l CROSS JOIN unnest(string_to_array($2, ' ')) AS u (user_id)
            WHERE l.type = 'campaign.shop.' || $1 AND fanfare.bucket(l.id || ':canary', u.user_id) < 2147483648
            """,
            one.name,
            one.users.map(\.id).joined(separator: " ")
        ).rows
        return Dictionary(grouping: rows) { $0[0] ?? "" }.mapValues { Set($0.compactMap { $0[1] }) }
    }
}
