import PostgresClient
import PrivateCluster
import Programs
import TestKit
import Threading

extension Rig {
    /// Creates an audience and its rule, and waits until a daemon has put the rule into force.
    ///
    /// - Parameters:
    ///   - name: the name of rule, event type and topic.
    ///   - devices: the number of devices.
    ///   - provider: `apns` or `fcm`.
    ///   - more: further members of the rule, as JSON.
    func audience(
        _ name: String,
        devices: Int,
        provider: String = "apns",
        _ more: String = ""
    ) async throws -> Audience {
        let number = UInt64(random(0x1000_0000_0000...0xffff_ffff_ffff))
        let audience = Audience(name: name, number: number, devices: devices, provider: provider)
        let rest = more.isEmpty ? "" : ", " + more
        let rule = """
            {"app": "\(Self.app)", "name": "\(name)", "event": "\(name)", "to": {"topic": "\(name)"},
            "message": {"notification": {"title": "T", "body": "\(Self.secret) {{n}}"}, "data": {"n": "{{n}}"}}\(rest)}
            """
        try await sql { connection in
            // In parts, because a statement for a million devices would hold all their locks in memory.
            for first in stride(from: 1, through: devices, by: 50_000) {
                try connection.execute(
                    """
                    SELECT fanfare.subscribe(array_agg(fanfare.register_device('\(Self.app)', '\(provider)', \(audience.tokenOfDevice("g")), 'user-' || g)), '\(name)')
                    FROM generate_series(\(first), \(min(first + 49_999, devices))) AS g
                    """
                )
            }
            _ = try connection.query("SELECT fanfare.put_rule($1::jsonb)", rule)
        }
        try await until(
            """
            SELECT bool_or(v.state = 'active') FROM fanfare.rule_versions AS v JOIN fanfare.rules AS r ON r.id = v.rule_id
            WHERE r.name = '\(name)'
            """,
            seconds: 20
        )
        return audience
    }

    /// Emits numbered events at a steady rate until stopped.
    func traffic(to audience: Audience, perSecond: Int) -> Traffic {
        Traffic(to: audience, url: cluster.connectionURL(database: databaseName), perSecond: perSecond)
    }

    /// Emits events 1 to `count` at once.
    func emit(_ count: Int, to audience: Audience) async throws {
        try await sql { connection in
            for number in 1...count { try Traffic.emit(number, to: audience, on: connection) }
        }
    }

    /// Stops the traffic, and waits until everything is sent and recorded.
    ///
    /// - Returns: the number of events.
    func settle(_ traffic: Traffic, seconds: Int = 180) async throws -> Int {
        let counted = await traffic.stop()
        let count = try await sql { connection in
            // An event whose COMMIT had no response may exist all the same.
            let highest = try connection.query(
                "SELECT coalesce(max((payload->>'n')::int), 0)::text FROM fanfare.events WHERE type = $1",
                traffic.audience.name
            ).rows[0][0]
            return max(counted, highest.flatMap { Int($0) } ?? 0)
        }
        try await untilIdle(seconds: seconds)
        return count
    }

    /// Waits until nothing is left to plan, send or record.
    func untilIdle(seconds: Int = 60) async throws {
        try await until(
            """
            SELECT NOT EXISTS (SELECT FROM fanfare.outbox) AND NOT EXISTS (SELECT FROM fanfare.plans)
                AND NOT EXISTS (SELECT FROM fanfare.batches)
            """,
            seconds: seconds
        )
    }

    /// Returns the unsent deliveries of a daemon's batches: tokens, with the numbers of their events.
    func owned(by daemon: RigDaemon) async throws -> Set<Delivery> {
        let processID = daemon.process.processID
        return try await sql { connection in
            let rows = try connection.query(
                """
                SELECT e.payload->>'n', \(Audience.deviceNumber("v.token"))
                FROM fanfare.batches AS b
                JOIN fanfare.instances AS i ON i.id = b.owner AND i.pid = \(processID)
                CROSS JOIN LATERAL unnest(
                    coalesce(b.event_ids, array_fill(b.event_id, ARRAY[cardinality(b.device_ids)])), b.device_ids
                ) AS p (event_id, device_id)
                JOIN fanfare.events AS e ON e.id = p.event_id
                JOIN fanfare.devices AS v ON v.id = p.device_id
                """
            ).rows
            return Set(
                rows.compactMap { row in
                    row[0].flatMap { Int($0) }.flatMap { event in
                        row[1].flatMap { Int($0) }.map { Delivery(event: event, device: $0) }
                    }
                }
            )
        }
    }

    /// Returns a daemon with batches in flight; the seed decides which.
    func busyDaemon() async throws -> RigDaemon {
        let patience = ContinuousClock.now + .seconds(30)
        while ContinuousClock.now < patience {
            let busy = try await sql { connection in
                let rows = try connection.query(
                    "SELECT DISTINCT i.pid FROM fanfare.instances AS i JOIN fanfare.batches AS b ON b.owner = i.id"
                ).rows
                return Set(rows.compactMap { $0[0].flatMap { Int32($0) } })
            }
            let candidates = daemons.filter { busy.contains($0.process.processID) }
            if !candidates.isEmpty { return candidates[random(0...candidates.count - 1)] }
            try await pushes(moreThan: 1)
        }
        throw RigError(message: "no daemon has anything to do")
    }
}
