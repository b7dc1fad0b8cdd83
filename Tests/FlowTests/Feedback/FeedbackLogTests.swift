import FanfareCore
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareFeedback
@testable import FanfareStages
@testable import FanfareStore

/// The entries for hooks, their numbering, and how they are read.
@Suite(.database)
struct FeedbackLogTests {
    private static let gone = (Int16(64)...95).map(\.self)

    private func hook(_ world: World, _ codes: [Int16] = gone, app: String? = nil) throws -> FeedbackHookRow {
        _ = try world.connection.run(SQL.putFeedbackHook("crm", codes, app))
        return try #require(try world.connection.run(SQL.feedbackHooks(["crm"])).first)
    }

    private func number(_ connection: PostgresConnection) throws {
        _ = try connection.run(SQL.numberFeedback())
    }

    /// Closes batches whose deliveries all have an outcome, as a daemon does.
    ///
    /// - Returns: the batches' ids.
    @discardableResult
    private func close(_ outcomes: [UInt8], in world: World, on other: PostgresConnection? = nil) throws -> [Int64] {
        let connection = other ?? world.connection
        let device = try world.device("ab0\(outcomes.count % 10)\(Int.random(in: 10...99))00", user: "u")
        let version = try world.connection.number("SELECT max(id) FROM fanfare.rule_versions")
        return try outcomes.map { outcome in
            let id = try connection.number(
                """
                INSERT INTO fanfare.batches (event_id, owner, lease_token, rule_version, target_id, lane, device_ids)
                SELECT fanfare.new_event_id(), 1, 1, $1, d.target_id, 1, ARRAY[d.id] FROM fanfare.devices AS d WHERE d.id = $2
                RETURNING id
                """,
                "\(version)",
                "\(device)"
            )
            let record = BatchRecord(id: id, leaseToken: 1, outcomes: [outcome])
            let tally = OutcomeTally(batchID: id, outcome: outcome, deliveries: 1)
            let closed = try connection.run(CloseBatches(owner: 1, batches: [record], retries: [], tallies: [tally]))
            #expect(closed.batches == [id])
            return id
        }
    }

    private func noted(_ world: World) throws -> [String] {
        try world.connection.column("SELECT batch_id FROM fanfare.feedback ORDER BY number NULLS LAST, closed_at")
    }

    @Test func onlyWhatSomeHookWantsIsNoted() throws {
        let world = try World()
        try world.rule("r", event: "e", to: #"{"everyone": true}"#)
        try close([64, 1], in: world)
        #expect(try noted(world).isEmpty, "there is no hook")
        _ = try hook(world)
        let ids = try close([1, 64, 100, 35, 4], in: world)
        #expect(try noted(world) == ["\(ids[1])"])
        _ = try world.connection.run(SQL.putFeedbackHook("all", [1, 4], nil))
        let more = try close([1, 64, 100, 4], in: world)
        #expect(try Set(noted(world)) == Set(["\(ids[1])", "\(more[0])", "\(more[1])", "\(more[3])"]))
    }

    /// Batches that maintenance ends are reported too, although no request was sent.
    @Test func whatNobodySentIsNotedToo() throws {
        let world = try World()
        try world.rule("r", event: "e", to: #"{"everyone": true}"#)
        _ = try hook(world, [Int16(Outcome.expired.rawValue)])
        let device = try world.device("ab01", user: "u")
        let old = try world.connection.number(
            """
            INSERT INTO fanfare.batches (id, event_id, rule_version, target_id, lane, device_ids, outcomes)
            SELECT ((now() AT TIME ZONE 'UTC')::date - DATE '2020-01-01' - 3)::bigint << 32 | n.n, 7, 1, d.target_id, 1,
                ARRAY[d.id], n.outcomes
            FROM fanfare.devices AS d CROSS JOIN (VALUES (1, ''::bytea), (2, '\\x23'), (3, '\\x01')) AS n (n, outcomes)
            WHERE d.id = $1 RETURNING id
            """,
            "\(device)"
        )
        #expect(try world.connection.run(EndBatches()) == [3])
        #expect(try noted(world).sorted() == ["\(old)", "\(old + 1)"], "what was accepted did not expire")
    }

    @Test func whatCommitsLateIsNumberedLateAndNeverSkipped() throws {
        let world = try World()
        try world.rule("r", event: "e", to: #"{"everyone": true}"#)
        let row = try hook(world)
        let other = try PostgresConnection.open(world.context.database.queue("other"))
        try other.execute("BEGIN")
        let late = try close([64], in: world, on: other)[0]
        let early = try close([64], in: world)[0]
        try number(world.connection)
        let first = try world.connection.run(
            SQL.readFeedback(row.place, nil, nil, row.codes, nil)
        )
        guard case .item(let told)? = first.first, first.count == 1 else {
            Issue.record("one of both is committed: \(first)")
            return
        }
        try other.execute("COMMIT")
        try number(world.connection)
        let rest = try world.connection.run(
            SQL.readFeedback(FeedbackPlace(number: told.place.number), nil, nil, row.codes, nil)
        )
        let items = rest.filter { if case .item = $0 { true } else { false } }
        #expect(items.count == 1, "\(rest)")
        #expect(try noted(world) == ["\(early)", "\(late)"])
    }

    @Test func twoNeverNumberAtOnce() throws {
        let world = try World()
        try world.rule("r", event: "e", to: #"{"everyone": true}"#)
        _ = try hook(world)
        let other = try PostgresConnection.open(world.context.database.queue("other"))
        try close([64], in: world)
        try other.execute("BEGIN")
        try number(other)
        try close([64], in: world)
        try number(world.connection)
        #expect(
            try world.connection.number("SELECT count(number) FROM fanfare.feedback") == 0,
            "they wait for their turn"
        )
        try other.execute("COMMIT")
        try number(world.connection)
        #expect(try world.connection.column("SELECT number FROM fanfare.feedback ORDER BY closed_at") == ["1", "2"])
    }

    /// Log partitions may be truncated before the entries about them are deleted; only unsent entries are lost then.
    @Test func whatWasToldWholeIsNotLookedForAgain() throws {
        let world = try World()
        try world.rule("r", event: "e", to: #"{"everyone": true}"#)
        let row = try hook(world)
        try close([64], in: world)
        try number(world.connection)
        try world.connection.execute("DELETE FROM fanfare.batch_log")
        try close([64], in: world)
        try number(world.connection)
        for (place, lost) in [(FeedbackPlace(number: 1), 0), (FeedbackPlace(number: 1, position: 0), 1)] {
            let rows = try world.connection.run(SQL.readFeedback(place, nil, nil, row.codes, nil))
            let slice = FeedbackSlice(rows, before: place, isFixed: false)
            #expect(slice.items.map(\.place) == [FeedbackPlace(number: 2, position: 1)])
            #expect(slice.lost == lost, "told up to position \(place.position) of the first")
        }
    }

    @Test func aThousandPushesAloneAreReadAtOnce() throws {
        let world = try World()
        let version = try world.rule("r", event: "e", to: #"{"everyone": true}"#)
        let row = try hook(world, [1])
        let device = try world.device("ab01", user: "u")
        try world.connection.execute(
            """
            INSERT INTO fanfare.batch_log (day, id, event_id, created_at, rule_version, target_id, lane, attempt, first_device,
                last_device, device_ids, outcomes)
            SELECT fanfare.ring_day(n), n, 7, now(), \(version), d.target_id, 1, 1, d.id, d.id, ARRAY[d.id], '\\x01'
            FROM generate_series(1, 1200) AS n JOIN fanfare.devices AS d ON d.id = \(device);
            INSERT INTO fanfare.feedback (batch_id) SELECT generate_series(1, 1200)
            """
        )
        try number(world.connection)
        let read = SQL.readFeedback(row.place, nil, nil, row.codes, nil)
        let slice = FeedbackSlice(try world.connection.run(read), before: row.place, isFixed: false)
        #expect(slice.items.count == 1000 && slice.hasMore)
    }

    /// A forgotten user's device no longer exists, but receivers that store its id have to delete it too.
    @Test func aDeviceThatWasForgottenSinceIsToldAsDisabled() throws {
        let world = try World()
        try world.rule("r", event: "e", to: #"{"everyone": true}"#)
        let row = try hook(world)
        let ids = try close([64, 64], in: world)
        try world.connection.execute(
            "UPDATE fanfare.batch_log SET device_ids = '{0}' WHERE id = \(ids[1]); SELECT fanfare.forget_user('shop', 'u')"
        )
        try number(world.connection)
        let rows = try world.connection.run(SQL.readFeedback(row.place, nil, nil, row.codes, nil))
        let items = FeedbackSlice(rows, before: row.place, isFixed: false).items.map(FeedbackBody.json)
        #expect(
            items.map { $0["type"] } == ["device.disabled", "push.failed"],
            "the provider keeps the second audience"
        )
        #expect(items.map { $0["user_id"] } == [.null, .null])
        #expect(items.map { $0["token_sha256"] } == [.null, .null])
        #expect(items.map { $0["device_id"] == .null } == [false, true])
    }

    /// Batches of a thousand deliveries, read in parts that end anywhere.
    @Test func everyDeliveryIsReadOnceAndInOrder() throws {
        let world = try World()
        let version = try world.rule("r", event: "e", to: #"{"everyone": true}"#)
        let row = try hook(world)
        let devices = try world.devices(1000)
        try world.connection.execute(
            """
            INSERT INTO fanfare.batch_log (day, id, event_id, created_at, rule_version, target_id, lane, attempt, first_device,
                last_device, device_ids, outcomes)
            SELECT fanfare.ring_day(n), n, 7, now(), \(version), d.target_id, 1, 1, \(devices.lowerBound), \(devices.upperBound),
                ARRAY(SELECT generate_series(\(devices.lowerBound), \(devices.upperBound))),
                -- Every third one is gone; of the fourth batch none.
                (SELECT string_agg(CASE WHEN i % 3 = 0 AND n <> 4 THEN '\\x40'::bytea ELSE '\\x01' END, '' ORDER BY i)
                    FROM generate_series(1, 1000) AS i)
            FROM generate_series(1, 8) AS n CROSS JOIN (SELECT target_id FROM fanfare.devices LIMIT 1) AS d;
            -- The log has the fifth no more.
            DELETE FROM fanfare.batch_log WHERE id = 5;
            INSERT INTO fanfare.feedback (batch_id) SELECT generate_series(1, 8);
            """
        )
        try number(world.connection)
        var place = row.place
        var read: [FeedbackPlace] = []
        var lost: Int64 = 0
        for turn in 0... {
            let rows = try world.connection.run(SQL.readFeedback(place, nil, nil, row.codes, nil))
            var slice = FeedbackSlice(rows, before: place, isFixed: false)
            guard !rows.isEmpty else { break }
            let (body, count) = slice.items.isEmpty ? ([], 0) : FeedbackBody.request(slice.items, isWhole: false)
            #expect(body.count <= FeedbackBody.limit)
            slice.cut(to: turn == 0 ? 7 : count)
            if turn == 1 {
                // Once it has started, it is the same statement again.
                let again = SQL.readFeedback(place, slice.end.number, slice.end.position, row.codes, nil)
                let same = FeedbackSlice(try world.connection.run(again), before: slice.end, isFixed: true)
                #expect(same.items == slice.items)
                #expect(same.end == slice.end)
            }
            read += slice.items.map(\.place)
            lost += slice.lost
            place = slice.end
            // Reading continues after the last position.
            if !slice.hasMore { break }
        }
        #expect(read.count == 6 * 333)
        #expect(zip(read, read.dropFirst()).allSatisfy { ($0.number, $0.position) < ($1.number, $1.position) })
        #expect(lost == 1)
        #expect(
            try world.connection.run(SQL.readFeedback(place, nil, nil, row.codes, nil)).isEmpty
                || place.position == FeedbackPlace.wholeBatch
        )
        let otherApp = SQL.readFeedback(row.place, nil, nil, row.codes, "bank")
        #expect(try world.connection.run(otherApp).allSatisfy { if case .item = $0 { false } else { true } })
    }

    @Test func aHookIsOneDaemonsUntilThatIsGone() throws {
        let world = try World()
        _ = try hook(world)
        let enter = EnterInstance(
            daemon: "d",
            host: "h",
            pid: 1,
            version: "v",
            leaseMicroseconds: 60_000_000,
            schemaVersion: 1
        )
        _ = try world.connection.run(enter)
        _ = try world.connection.run(enter)
        let owners = try world.connection.column("SELECT id FROM fanfare.instances ORDER BY id").compactMap {
            Int32($0)
        }
        let take = { try world.connection.runReturningCount(SQL.takeFeedbackHook("crm", owners[$0])) }
        #expect(try take(0) == 1)
        #expect(try take(1) == 0)
        try world.connection.execute("UPDATE fanfare.instances SET lease_until = now() WHERE id = \(owners[0])")
        #expect(try take(1) == 1)
        let mine = FeedbackDelivery(hook: "crm", owner: owners[1], number: 1)
        let stale = FeedbackDelivery(hook: "crm", owner: owners[0], number: 1)
        let place = FeedbackPlace(number: 9)
        #expect(try world.connection.runReturningCount(SQL.beginFeedback(stale, place)) == 0)
        #expect(try world.connection.runReturningCount(SQL.beginFeedback(mine, place)) == 1)
        #expect(try world.connection.run(SQL.advanceFeedback(stale, place, true, 0)).isEmpty)
        #expect(try world.connection.run(SQL.failFeedback(mine, "no", 0, false)) == [1])
        #expect(try world.connection.run(SQL.advanceFeedback(mine, place, true, 0)) == [1])
        #expect(try world.connection.run(SQL.advanceFeedback(mine, place, true, 0)).isEmpty, "twice")
    }

    /// Entries that are deleted before they were sent are counted and shown to operators.
    @Test func whatWasForgottenIsMissed() throws {
        let world = try World()
        _ = try hook(world)
        try world.connection.execute(
            "INSERT INTO fanfare.feedback (batch_id, closed_at) VALUES (1, now() - interval '40 days'), (2, now())"
        )
        try number(world.connection)
        #expect(try world.connection.runReturningCount(SQL.forgetFeedback(31)) == 1)
        #expect(
            try world.connection.column("SELECT concat_ws('|', waiting, lost) FROM fanfare.feedback_state") == ["1|1"]
        )
        let health = try world.connection.query(
            "SELECT ok, detail FROM fanfare.health WHERE name = 'feedback: crm'"
        ).rows
        #expect(health.first?[0] == "f")
        #expect(health.first?[1]?.contains("1 batches were deleted") == true)
        #expect(try world.connection.number("SELECT fanfare.replay_feedback('crm', '-infinity')") == 1)
        #expect(try world.connection.text("SELECT lost FROM fanfare.feedback_state") == "0")
        // Of a partly sent batch the rest is lost; of a completely sent one, nothing.
        for (position, lost) in [(0, "1"), (Int(FeedbackPlace.wholeBatch), "0")] {
            try world.connection.execute(
                """
                TRUNCATE fanfare.feedback;
                INSERT INTO fanfare.feedback (batch_id, number, closed_at) VALUES (3, 30, now() - interval '40 days');
                UPDATE fanfare.feedback_cursors SET number = 30, position = \(position), lost = 0
                """
            )
            _ = try world.connection.run(SQL.forgetFeedback(31))
            #expect(try world.connection.text("SELECT lost FROM fanfare.feedback_state") == lost)
        }
        try world.connection.execute("UPDATE fanfare.feedback_cursors SET seen_at = now() - interval '40 days'")
        _ = try world.connection.run(SQL.forgetFeedback(31))
        #expect(
            try world.connection.number(
                "SELECT count(*) FROM fanfare.feedback_cursors NATURAL JOIN fanfare.feedback_hooks"
            ) == 0
        )
    }
}

/// The content and the timing of feedback requests.
@Suite struct FeedbackValueTests {
    private static func item(_ number: Int, user: String? = "u", outcome: String = "gone", isDisabled: Bool = true)
        -> FeedbackItem
    {
        FeedbackItem(
            place: FeedbackPlace(number: Int64(number), position: 1),
            at: Timestamp(microseconds: 1_700_000_000_000_000),
            app: "shop",
            provider: "apns",
            environment: "production",
            deviceID: Int64(number),
            userID: user,
            tokenHash: String(repeating: "ab", count: 32),
            isDisabled: isDisabled,
            eventID: 1,
            eventType: "e",
            rule: "r",
            attempt: 1,
            outcome: outcome,
            reason: "Unregistered",
            report: nil,
            action: nil
        )
    }

    @Test func onlyADeviceThatIsDisabledIsToldAsSuch() throws {
        let types = [("gone", true), ("gone", false), ("rejected", false), ("accepted", false)].map {
            outcome,
            isDisabled in
            FeedbackBody.json(Self.item(1, outcome: outcome, isDisabled: isDisabled))["type"]?.stringValue
        }
        #expect(types == ["device.disabled", "push.failed", "push.failed", "push.accepted"])
        #expect(FeedbackBody.json(Self.item(0))["device_id"] == .null, "the provider manages the audience")
    }

    @Test func aBodyEndsBeforeItIsTooLong() throws {
        let items = (1...1000).map { Self.item($0) }
        let (body, count) = FeedbackBody.request(items, isWhole: false)
        #expect(body.count <= FeedbackBody.limit && count < 1000 && count > 500)
        let json = try JSONValue(parsing: String(decoding: body, as: UTF8.self))
        #expect(json["type"]?.stringValue == "feedback.batch")
        #expect(json["timestamp"]?.stringValue == "2023-11-14T22:13:20.000000Z")
        #expect(FeedbackBody.request(Array(items.prefix(count)), isWhole: true).body == body)
        let whole = FeedbackBody.request(items, isWhole: true)
        #expect(whole.count == 1000, "what was sent once is sent again")
    }

    @Test func notificationsFit() throws {
        let long = String(repeating: "\u{1}", count: 2048)
        let payloads = FeedbackBody.notifications((1...100).map { Self.item($0, user: $0 == 50 ? long : "u") })
        #expect(payloads.allSatisfy { $0.utf8.count < 8000 })
        var ids: [String] = []
        for payload in payloads {
            guard case .array(let items)? = try JSONValue(parsing: payload)["items"] else { continue }
            ids += items.compactMap { $0["device_id"]?.stringValue }
        }
        #expect(ids == (1...100).map(String.init))
    }

    @Test func waitsGrowToFiveMinutesAndObeyTheReceiver() {
        #expect(FeedbackWait.wait(after: 1, retryAfter: nil, random: 0) == 500 * Micros.millisecond)
        #expect(FeedbackWait.wait(after: 4, retryAfter: nil, random: 1) == 8 * Micros.second)
        #expect(FeedbackWait.wait(after: 1000, retryAfter: nil, random: 1) == 5 * Micros.minute)
        #expect(FeedbackWait.wait(after: 2, retryAfter: Micros.hour, random: 0.5) == Micros.hour)
    }
}
