import PostgresClient
import TestKit
import Testing

/// The devices of an FCM app change from registration tokens to Firebase installation ids (FIDs) in 24 steps, a fifth of
/// them twice and a tenth back, while broadcasts and events of a topic are sent.
@Suite(.rig, .serialized, .timeLimit(.minutes(Soak.choose(5, soak: 120))))
struct InstallationMoveTests {
    @Test func noPushComesTwiceAndNothingIsLost() async throws {
        let rig = try Rig.current
        try await rig.sandbox.setFaults("[]")
        let move = InstallationMove(rig: rig, devices: Soak.deliveries(everyDay: 2_400, soak: 1_000_000) / 240 * 240)
        try await move.prepare()
        for step in 0..<InstallationMove.steps { try await move.play(step) }
        try await rig.untilIdle(seconds: 5400)
        try await move.audit()
    }
}

/// One run, with devices numbered from 0: the installation `move-N` of the user `mover-N`.
private struct InstallationMove {
    static let steps = 24
    /// The steps that begin with a broadcast.
    private static let broadcasts = [3, 11, 19]
    /// How many apps register at FCM before the last of them tells the application's backend.
    private static let atOnce = 600

    let rig: Rig
    let devices: Int

    private var size: Int { devices / Self.steps }

    /// Registers all devices with tokens: all follow one topic, every tenth another.
    func prepare() async throws {
        try await rig.sql { connection in
            for first in stride(from: 0, to: devices, by: 50_000) {
                try connection.execute(
                    """
                    WITH made AS (
                        SELECT g, fanfare.register_device('\(Rig.app)', 'fcm', 'move-' || g || ':t0', 'mover-' || g) AS id
                        FROM generate_series(\(first), \(min(first + 50_000, devices) - 1)) AS g
                    )
                    SELECT fanfare.subscribe(array_agg(id), 'moves'), fanfare.subscribe(array_agg(id) FILTER (WHERE g % 10 = 0), 'tenth')
                    FROM made
                    """
                )
            }
            for (name, topic) in [("move.all", "moves"), ("move.tenth", "tenth")] {
                try connection.execute(
                    """
                    SELECT fanfare.put_rule('{"app": "\(Rig.app)", "name": "\(name)", "event": "\(name)", "to": {"topic": "\(topic)"},
                        "category": "offers", "message": {"data": {"n": "{{n}}"}}}')
                    """
                )
            }
            try connection.execute(
                """
                SELECT count(fanfare.set_preference('\(Rig.app)', 'mover-' || g, 'other', opted_out => true))
                FROM generate_series(0, \(devices - 1), 100) AS g;
                CREATE TABLE moved AS SELECT id, user_id FROM fanfare.devices WHERE user_id LIKE 'mover-%';
                """
            )
        }
        try await rig.until(
            "SELECT count(*) = 2 FROM fanfare.rule_versions WHERE state = 'active' AND definition ->> 'name' LIKE 'move.%'",
            seconds: 20
        )
    }

    /// One hour of the day: a part of the devices moves; of the part before, a fifth gets new FIDs and a tenth goes back.
    func play(_ step: Int) async throws {
        if Self.broadcasts.contains(step) { try await emit("move.all", step) }
        try await emit("move.tenth", step)
        let part = step * size..<(step + 1) * size
        try await register(part, "'move-' || g, address => 'fid'", ids: "move", by: "fid")
        guard step > 0 else { return }
        let before = (step - 1) * size
        let twice = before..<before + size / 5
        try await register(twice, "'again-' || g, address => 'fid', replaces => 'move-' || g", ids: "again", by: "fid")
        {
            try await rig.sandbox.registerInstallations("move", $0, by: "none")
        }
        let back = twice.upperBound..<twice.upperBound + size / 10
        try await register(back, "'move-' || g || ':t1'", ids: "move", by: "token")
    }

    private func emit(_ type: String, _ step: Int) async throws {
        try await rig.sql { try $0.execute("SELECT fanfare.emit('\(type)', '{\"n\": \"\(type)-\(step)\"}')") }
    }

    /// Registers devices at FCM and then at the application, as their apps do.
    private func register(
        _ numbers: Range<Int>,
        _ arguments: String,
        ids: String,
        by address: String,
        _ more: (Range<Int>) async throws -> Void = { _ in }
    ) async throws {
        for first in stride(from: numbers.lowerBound, to: numbers.upperBound, by: Self.atOnce) {
            let some = first..<min(first + Self.atOnce, numbers.upperBound)
            try await more(some)
            try await rig.sandbox.registerInstallations(ids, some, by: address)
            try await rig.sql { connection in
                // SDKs report the same address more than once.
                for _ in 0..<2 {
                    try connection.execute(
                        """
                        SELECT fanfare.register_device('\(Rig.app)', 'fcm', token => \(arguments), user_id => 'mover-' || g)
                        FROM generate_series(\(some.lowerBound), \(some.upperBound - 1)) AS g
                        """
                    )
                }
            }
        }
    }

    /// Compares what FCM delivered with what was to be sent, and the devices with those of the beginning.
    func audit() async throws {
        var audit = MoveAudit(devices: devices, steps: Self.steps)
        var last = 0
        while true {
            let page = try await rig.sandbox.received(after: last, limit: 20_000)
            guard let newest = page.last else { break }
            last = newest.number
            for push in page { audit.add(push) }
        }
        let meant = devices * Self.broadcasts.count + devices / 10 * Self.steps
        // A push that FCM refused in between disables its device, which the registration enables again.
        let tried = try await rig.sql { connection in
            try connection.query(
                "SELECT count(*) FROM fanfare.deliveries WHERE rule LIKE 'move.%' AND outcome IN ('accepted', 'gone', 'rejected')"
            ).rows[0][0].flatMap { Int($0) } ?? 0
        }
        let (twice, back) = (size / 5 * (Self.steps - 1), size / 10 * (Self.steps - 1))
        report(
            "fault: \(devices) devices move to FIDs, \(twice) twice and \(back) back: expected \(meant), tried \(tried), "
                + "delivered \(audit.delivered), twice \(audit.repeated), refused while an app had registered at FCM "
                + "and not yet here \(audit.refused)"
        )
        #expect(audit.repeated == 0 && audit.strange == 0)
        #expect(audit.delivered + audit.refused == tried, "each delivery was tried once")
        #expect(audit.delivered > meant / 10 * 9)
        let found = try await rig.sql { connection in
            try connection.query(
                """
                SELECT count(*), count(*) FILTER (WHERE d.disabled_at IS NOT NULL), count(*) FILTER (WHERE d.address = 'fid'),
                    count(*) FILTER (WHERE d.token LIKE 'again-%'), count(*) FILTER (WHERE d.token LIKE '%:t1' AND d.address IS NULL),
                    (SELECT count(*) FROM fanfare.devices AS x WHERE x.user_id LIKE 'mover-%'),
                    (SELECT count(*) FROM fanfare.subscriptions AS s JOIN moved AS y ON y.id = s.device_id),
                    (SELECT count(*) FROM fanfare.preferences AS p WHERE p.user_id LIKE 'mover-%' AND p.opted_out)
                FROM moved AS m JOIN fanfare.devices AS d ON d.id = m.id AND d.user_id = m.user_id
                """
            ).rows[0].compactMap { $0.flatMap { Int($0) } }
        }
        #expect(
            found == [
                devices, 0, devices - back, twice, back, devices, devices + devices / 10, (devices + 99) / 100,
            ],
            "devices, disabled, by FID, moved twice, moved back, of these users, subscriptions, preferences"
        )
        let outcomes = try await rig.sql { connection in
            try connection.query(
                """
                SELECT DISTINCT outcome || ' ' || reason FROM fanfare.deliveries
                WHERE rule LIKE 'move.%' AND outcome <> 'accepted' AND reason NOT IN ('UNREGISTERED', 'UNREGISTERED_new', 'device_disabled')
                """
            ).rows
        }
        #expect(outcomes.isEmpty)
    }
}

/// The pushes of a run by event and device: a byte for each that was delivered.
private struct MoveAudit {
    private let devices: Int
    private let steps: Int
    private var seen: [UInt8]
    private(set) var delivered = 0
    private(set) var refused = 0
    private(set) var repeated = 0
    /// Lines that name no device or event of the run, or have another status.
    private(set) var strange = 0

    init(devices: Int, steps: Int) {
        (self.devices, self.steps) = (devices, steps)
        seen = Array(repeating: 0, count: devices * steps * 2)
    }

    mutating func add(_ push: ReceivedPush) {
        guard push.provider == "fcm", let body = push.body, body.contains("move.") else { return }
        guard
            let number = Self.number(
                after: #"-"#,
                in: Self.text(#""fid":""#, body) ?? Self.text(#""token":""#, body) ?? ""
            ),
            let event = Self.text(#""n":""#, body), let step = Self.number(after: "-", in: event),
            number < devices, step < steps
        else {
            strange += 1
            return
        }
        switch push.status {
        case 200:
            let place = (number * steps + step) * 2 + (event.hasPrefix("move.all") ? 0 : 1)
            repeated += Int(seen[place])
            seen[place] = 1
            delivered += 1
        case 404: refused += 1
        default: strange += 1
        }
    }

    /// Returns the number that follows a mark.
    private static func number(after mark: Character, in text: Substring) -> Int? {
        text.firstIndex(of: mark).flatMap { Int(text[text.index(after: $0)...].prefix { $0.isNumber }) }
    }

    /// Returns a string member by its key, at any depth.
    private static func text(_ key: String, _ body: String) -> Substring? {
        guard let key = body.utf8.firstRange(of: key.utf8) else { return nil }
        let rest = body[key.upperBound...]
        return rest.firstIndex(of: "\"").map { rest[..<$0] }
    }
}
