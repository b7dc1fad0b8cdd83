import Foundation
import PostgresClient
import TestKit
import Testing
import Threading

/// One line of the ledger, as far as the suite looks at it.
struct LedgerLine: Sendable {
    let pair: Pair
    let fate: ReceivedFate
    let authority: String
    let nanoseconds: UInt64

    /// Reads a push; nil for what is none of the suite's.
    init?(_ push: ReceivedPush) {
        guard let body = push.body else { return nil }
        let token =
            push.provider == "fcm"
            ? Self.text("token", in: body) : push.path.split(separator: "/").last.map(String.init)
        guard let token, let event = Self.text("n", in: body).flatMap({ Int($0) }) else { return nil }
        pair = Pair(event: event, token: token)
        authority = push.headers[":authority"] ?? ""
        nanoseconds = UInt64(push.nanoseconds)
        fate =
            switch push.status {
            case 200?: .accepted
            case let status?: .rejected(status)
            // GOAWAY counts here only where the last stream is below.
            case nil: ["refuse", "goaway"].contains(push.fault) ? .notProcessed : .unanswered
            }
    }

    /// A string member, wherever it is; our own messages need no more of JSON.
    private static func text(_ key: String, in body: String) -> String? {
        guard let start = body.range(of: "\"\(key)\":\"") else { return nil }
        return body[start.upperBound...].split(separator: "\"", maxSplits: 1, omittingEmptySubsequences: false).first
            .map(String.init)
    }
}

extension Rig {
    /// What the provider received for an audience, in order of arrival.
    func ledger(of audience: Audience) async throws -> [LedgerLine] {
        let last = seen.withLock { $0.last }
        // Only what is new: there may be millions.
        let new = try await sandbox.received(after: last)
        return seen.withLock { seen in
            if seen.last == last, let newest = new.last {
                seen.last = newest.number
                seen.lines += new.compactMap(LedgerLine.init)
            }
            return seen.lines.filter { $0.pair.token.hasPrefix(audience.prefix) }
        }
    }

    /// Compares what was emitted, what the provider received and what the database says.
    ///
    /// - Parameters:
    ///   - audience: whose pushes.
    ///   - events: how many were emitted, numbered from 1.
    ///   - dead: tokens that may be disabled.
    func audit(_ audience: Audience, events: Int, dead: Set<String> = []) async throws -> DeliveryAudit {
        var audit = DeliveryAudit()
        audit.dead = dead
        for event in stride(from: 1, through: events, by: 1) { audit.expect(event: event, tokens: audience.tokens) }
        for line in try await ledger(of: audience) { audit.receive(line.pair, line.fate) }
        let (outcomes, disabled) = try await sql { connection in
            let outcomes = try connection.query(
                """
                SELECT e.payload->>'n', v.token, d.outcome
                FROM fanfare.deliveries AS d
                JOIN fanfare.events AS e ON e.id = d.event_id
                JOIN fanfare.devices AS v ON v.id = d.device_id
                WHERE d.rule = $1 AND d.outcome NOT IN ('retrying', 'pending', 'attempted')
                """,
                audience.name
            ).rows
            let disabled = try connection.query(
                "SELECT token FROM fanfare.devices WHERE disabled_at IS NOT NULL AND token LIKE $1",
                audience.prefix + "%"
            ).rows
            return (outcomes, disabled.compactMap { $0[0] })
        }
        for row in outcomes {
            guard let event = row[0].flatMap({ Int($0) }), let token = row[1], let outcome = row[2] else { continue }
            audit.record(Pair(event: event, token: token), outcome: outcome)
        }
        for token in disabled { audit.disabled(token) }
        return audit
    }

    /// Milliseconds from a moment to the first push an audience got after it; nil if there was none.
    func millisecondsToFirstPush(
        after moment: UInt64,
        of audience: Audience,
        where isMeant: (LedgerLine) -> Bool = { _ in true }
    ) async throws -> Int? {
        try await ledger(of: audience).first { $0.nanoseconds > moment && isMeant($0) }
            .map { Int(($0.nanoseconds - moment) / 1_000_000) }
    }

    /// No log line may hold a token, a payload, a password or a key.
    func searchLogsForSecrets() async throws {
        let lines = log.withLock { $0 }
        #expect(!lines.isEmpty, "daemons log")
        var secrets = [Self.secret, Self.password, "PRIVATE KEY", "eyJ"]
        let folder = sandbox.ready.directory
        for file in try FileManager.default.contentsOfDirectory(atPath: folder)
        where file.hasSuffix(".p8") || file.hasSuffix(".pem") {
            let text = (try? String(contentsOfFile: folder + "/" + file, encoding: .utf8)) ?? ""
            secrets += text.split(separator: "\n").filter { $0.count > 30 }.map(String.init)
        }
        secrets += try await sql { connection in
            try connection.query("SELECT DISTINCT left(token, 12) FROM fanfare.devices").rows.compactMap { $0[0] }
        }
        for line in lines {
            // The line itself is what must not be shown.
            if let found = secrets.first(where: { line.contains($0) }) {
                Issue.record(
                    "a log line holds \(found == Self.secret ? "a payload" : "a secret of \(found.count) characters")"
                )
            }
        }
    }
}

/// CLOCK_MONOTONIC in nanoseconds, as in the ledger.
func monotonicNanoseconds() -> UInt64 {
    var now = timespec()
    clock_gettime(CLOCK_MONOTONIC, &now)
    return UInt64(now.tv_sec) * 1_000_000_000 + UInt64(now.tv_nsec)
}

extension DeliveryAudit {
    /// What holds under every fault.
    func expectNothingLost(_ fault: String, sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(!expected.isEmpty, "\(fault): nothing was to be sent", sourceLocation: sourceLocation)
        #expect(lost.isEmpty, "\(fault): \(lost.count) lost", sourceLocation: sourceLocation)
        #expect(unexpected.isEmpty, "\(fault): \(unexpected.count) unexpected", sourceLocation: sourceLocation)
        #expect(unrecorded.isEmpty, "\(fault): \(unrecorded.count) without outcome", sourceLocation: sourceLocation)
        #expect(
            recordedTwice.isEmpty,
            "\(fault): \(recordedTwice.count) recorded twice",
            sourceLocation: sourceLocation
        )
        #expect(
            contradicted.isEmpty,
            "\(fault): \(contradicted.count) recorded wrongly",
            sourceLocation: sourceLocation
        )
        #expect(
            wronglyPruned.isEmpty,
            "\(fault): \(wronglyPruned.count) wrongly pruned",
            sourceLocation: sourceLocation
        )
    }

    /// One line for the table.
    func report(_ fault: String, _ more: String = "") {
        let rest = more.isEmpty ? "" : ", " + more
        FaultTests.report(
            "fault: \(fault): expected \(expected.count), sent \(sent), lost \(lost.count), "
                + "unexpected \(unexpected.count), repeated \(duplicates), of answered ones \(acceptedTwice), "
                + "wrongly pruned \(wronglyPruned.count)\(rest)"
        )
    }
}
