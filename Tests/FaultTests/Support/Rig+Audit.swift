import PostgresClient
import TestKit
import Testing
import Threading

extension Rig {
    /// The number of ledger lines or database rows that are read at once.
    private static let page = 20_000

    /// Returns the requests for an audience, in order of arrival.
    func ledger(of audience: Audience) async throws -> [LedgerLine] {
        while true {
            let last = seen.withLock { $0.last }
            // Only new lines, in parts: there may be millions.
            let new = try await sandbox.received(after: last, limit: Self.page)
            let senders = register.withLock { $0 }
            let lines = new.compactMap { push in
                LedgerLine(push) { port, moment in Int(port).map { senders.daemon(port: $0, at: moment) } ?? 0 }
            }
            seen.withLock { seen in
                guard seen.last == last, let newest = new.last else { return }
                seen.last = newest.number
                for line in lines { seen.lines[line.audience, default: []].append(line) }
            }
            if new.count < Self.page { return seen.withLock { $0.lines[audience.number] ?? [] } }
        }
    }

    /// Adds the provider's requests to an audit.
    func readLedger(of audience: Audience, into audit: inout DeliveryAudit) async throws {
        for line in try await ledger(of: audience) {
            audit.receive(line.delivery, line.fate, daemon: line.daemon, nanoseconds: line.nanoseconds)
        }
    }

    /// Compares the emitted events, the provider's ledger and the database.
    ///
    /// - Parameters:
    ///   - audience: the audience.
    ///   - events: the number of emitted events, numbered from 1.
    ///   - dead: the devices that may be disabled.
    func audit(_ audience: Audience, events: Int, dead: Set<Int> = []) async throws -> DeliveryAudit {
        var audit = DeliveryAudit(devices: audience.devices, events: events)
        audit.dead = dead
        try await readLedger(of: audience, into: &audit)
        return try await sql { [audit] connection in
            var audit = audit
            try connection.execute("BEGIN READ ONLY")
            try Self.readOutcomes(of: audience, on: connection, into: &audit)
            try Self.readDisabled(of: audience, on: connection) { audit.disabled($0) }
            try connection.execute("COMMIT")
            return audit
        }
    }

    /// Returns the disabled devices of an audience.
    func disabled(_ audience: Audience) async throws -> Set<Int> {
        try await sql { connection in
            var devices: Set<Int> = []
            try connection.execute("BEGIN READ ONLY")
            try Self.readDisabled(of: audience, on: connection) { devices.insert($0) }
            try connection.execute("COMMIT")
            return devices
        }
    }

    private static func readOutcomes(
        of audience: Audience,
        on connection: PostgresConnection,
        into audit: inout DeliveryAudit
    ) throws {
        let query = """
            SELECT e.payload->>'n', \(Audience.deviceNumber("v.token")), d.outcome
            FROM fanfare.deliveries AS d
            JOIN fanfare.events AS e ON e.id = d.event_id
            JOIN fanfare.devices AS v ON v.id = d.device_id
            WHERE d.rule = '\(audience.name)' AND d.outcome NOT IN ('retrying', 'pending', 'attempted')
            """
        try forEachRow(of: query, on: connection) { row in
            guard let event = row[0].flatMap({ Int($0) }), let device = row[1].flatMap({ Int($0) }),
                let outcome = row[2]
            else { throw RigError(message: "an outcome that cannot be read: \(row)") }
            audit.record(Delivery(event: event, device: device), outcome: outcome)
        }
    }

    private static func readDisabled(
        of audience: Audience,
        on connection: PostgresConnection,
        _ body: (Int) -> Void
    ) throws {
        let query = """
            SELECT \(Audience.deviceNumber("token")) FROM fanfare.devices
            WHERE disabled_at IS NOT NULL AND token LIKE '\(audience.prefix)%'
            """
        try forEachRow(of: query, on: connection) { row in
            guard let device = row[0].flatMap({ Int($0) }) else { throw RigError(message: "no number: \(row)") }
            body(device)
        }
    }

    /// Reads page by page, in the connection's transaction.
    private static func forEachRow(
        of query: String,
        on connection: PostgresConnection,
        _ body: ([String?]) throws -> Void
    ) throws {
        try connection.execute("DECLARE rows NO SCROLL CURSOR FOR \(query)")
        while true {
            let rows = try connection.query("FETCH \(page) FROM rows").rows
            for row in rows { try body(row) }
            if rows.count < page { break }
        }
        try connection.execute("CLOSE rows")
    }

    /// Returns the milliseconds from a time to the audience's first push after it; nil if there was none.
    func millisecondsToFirstPush(
        after moment: UInt64,
        of audience: Audience,
        where isMeant: (LedgerLine) -> Bool = { _ in true }
    ) async throws -> Int? {
        try await ledger(of: audience).first { $0.nanoseconds > moment && isMeant($0) }
            .map { Int(($0.nanoseconds - moment) / 1_000_000) }
    }
}

extension DeliveryAudit {
    /// Checks what must hold under every fault.
    func expectNothingLost(_ fault: String, sourceLocation: SourceLocation = #_sourceLocation) {
        let findings = [
            ("lost", lost.count), ("unexpected", unexpected.count), ("without outcome", unrecorded.count),
            ("recorded twice", recordedTwice.count), ("recorded wrongly", contradicted.count),
            ("wrongly pruned", wronglyPruned.count),
        ]
        #expect(expected > 0, "\(fault): nothing was to be sent", sourceLocation: sourceLocation)
        for (what, count) in findings {
            #expect(count == 0, "\(fault): \(count) \(what)", sourceLocation: sourceLocation)
        }
    }

    /// Prints a line of the table of results.
    func report(_ fault: String, _ more: String = "") {
        let rest = more.isEmpty ? "" : ", " + more
        FaultTests.report(
            "fault: \(fault): expected \(expected), sent \(sent), lost \(lost.count), "
                + "unexpected \(unexpected.count), repeated \(duplicates), of answered ones \(acceptedTwice), "
                + "wrongly pruned \(wronglyPruned.count)\(rest)"
        )
    }
}
