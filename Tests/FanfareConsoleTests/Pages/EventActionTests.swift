import FanfareCore
import TestKit
import Testing

@testable import APIKit
@testable import FanfareHTTP

/// Tests of actions on events: confirmed first, done once, and recorded.
@Suite(.database) struct EventActionTests {
    private func actions(_ api: APIWorld) async throws -> [[String?]] {
        try await api.rows("SELECT actor, action, target, count::text, reason FROM fanfare.actions ORDER BY id")
    }

    @Test func anEventIsCancelledByWhoMayAndWasAsked() async throws {
        try await APIWorld.with { api in
            let browser = try await api.console(.emitter)
            let devices = try await api.devices("ann", "bob")
            try await api.rule("r", for: "order")
            let event = try await api.logged("order")[0]
            try await api.waitingBatch(event, devices)
            let path = "/events/\(event)/cancel"
            let reader = try await api.console()
            #expect(try await reader.page(path).status == 403)
            #expect(try await browser.scan(path).text.contains("2pushes are not sent yet"))
            let fields = try await browser.question(path)
            let others = try await api.console(.emitter)
            for (client, sent, headers) in [
                (reader, fields, ["Sec-Fetch-Site": "same-origin"]),
                (browser, fields, ["Sec-Fetch-Site": "cross-site"]),
                (browser, [:], ["Sec-Fetch-Site": "same-origin"]), (others, fields, ["Sec-Fetch-Site": "same-origin"]),
            ] {
                #expect(try await client.send(path, sent, headers).status == 403)
            }
            // The seal of another confirmation.
            let second = try await api.logged("order")[0]
            #expect(try await browser.send("/events/\(second)/cancel", fields).status == 403)
            #expect(try await actions(api).isEmpty)
            #expect(try await api.rows("SELECT 1 FROM fanfare.cancels").isEmpty)
            let done = try await browser.perform(path, reason: "a <wrong> price")
            #expect(done.location == "/events/\(event)?did=stopped")
            #expect(try await api.rows("SELECT event_id::text FROM fanfare.cancels") == [["\(event)"]])
            #expect(try await actions(api) == [["test", "event.cancel", "\(event)", nil, "a <wrong> price"]])
            #expect(try await browser.scan("/events/\(event)?did=stopped").text.contains("are cancelled"))
            #expect(!(try await browser.scan("/events/\(event)?did=hacked").text.contains("hacked")))
            #expect(try await browser.page("/events/7/cancel").status == 404)
            let nothing = try await browser.scan("/events/\(second)/cancel")
            #expect(
                nothing.text.contains("all was sent or has ended")
                    && !nothing.elements.contains { $0["name"] == "reason" }
            )
        }
    }

    @Test func eventsOfAFilterAreCancelledButNoneThatCameSince() async throws {
        try await APIWorld.with { api in
            let browser = try await api.console(.emitter)
            let devices = try await api.devices("ann", "bob")
            try await api.rule("r", for: "order")
            let events = try await api.logged("order", 3)
            for event in events.prefix(2) { try await api.waitingBatch(event, devices) }
            let other = try await api.logged("chat")[0]
            try await api.waitingBatch(other, devices)
            let waiting = try await api.rows("SELECT fanfare.emit('order', '{}')::text")[0][0] ?? ""
            #expect(try await browser.page("/events/cancel").status == 400)
            #expect(try await browser.page("/events/cancel?fate=x").status == 400)
            let list = try await browser.scan("/events?type=order")
            let target = try #require(list.links("/events/cancel").first)
            let asked = try await browser.scan(target)
            #expect(asked.text.contains("4pushes are not sent yet, of 3 events"))
            #expect(asked.text.contains("1 event is not planned yet"))
            let fields = try await browser.question(target)
            // An event that comes between the confirmation and the form is not part of the action.
            let later = try await api.logged("order")[0]
            try await api.waitingBatch(later, devices)
            #expect(try await browser.send("/events/cancel", fields.merging(["type": ""]) { $1 }).status == 400)
            #expect(try await browser.send("/events/cancel", fields.merging(["events": ""]) { $1 }).status == 400)
            #expect(try await api.rows("SELECT 1 FROM fanfare.cancels").isEmpty)
            let done = try await browser.send("/events/cancel", fields)
            #expect(done.location == "/events?did=cancelled-3&type=order")
            let cancelled = try await api.rows("SELECT event_id::text FROM fanfare.cancels ORDER BY event_id")
            #expect(Set(cancelled.map { $0[0] }) == Set(events.prefix(2).map { "\($0)" } + [waiting]))
            #expect(
                try await actions(api).last.map { Array($0.dropFirst().prefix(1)) + [$0[3]] } == ["event.cancel", "3"]
            )
        }
    }

    @Test func whatWasNotLookedAtInAFloodMayStillBeCancelled() async throws {
        try await APIWorld.with { api in
            let browser = try await api.console(.emitter)
            let devices = try await api.devices("ann")
            try await api.rule("r", for: "order")
            let planned = try await api.logged("order")[0]
            let unmatched = try await api.logged("order", fate: 3)[0]
            #expect(
                !(try await browser.scan("/events/\(planned)").links("/events/").contains { $0.hasSuffix("/cancel") })
            )
            // More rows than are read, in both queues.
            _ = try await api.rows(
                "INSERT INTO fanfare.outbox (type, payload) SELECT 'rare', '{}' FROM generate_series(1, 2)"
            )
            _ = try await api.rows(
                "INSERT INTO fanfare.outbox (type, payload) SELECT 'flood', '{}' FROM generate_series(1, 20001)"
            )
            _ = try await api.rows(
                """
                INSERT INTO fanfare.batches (lane, target_id, rule_version, device_ids, event_ids)
                SELECT 1, (SELECT min(target_id) FROM fanfare.devices), (SELECT min(id) FROM fanfare.rule_versions),
                    '{\(devices[0])}', '{7}'
                FROM generate_series(1, 2001)
                """
            )
            let newest = try await api.rows("SELECT fanfare.emit('order', '{}')::text")[0][0] ?? ""
            #expect(try await browser.scan("/events/\(newest)/cancel").text.contains("1 event is not planned yet"))
            #expect(try await browser.perform("/events/\(newest)/cancel").location == "/events/\(newest)?did=stopped")
            // The event's page and its confirmation agree.
            #expect(
                try await browser.scan("/events/\(planned)").links("/events/").contains("/events/\(planned)/cancel")
            )
            #expect(
                try await browser.scan("/events/\(planned)/cancel").text.contains(
                    "Too much is pending to check all of it: 1 event"
                )
            )
            let stopped = try await browser.perform("/events/\(planned)/cancel")
            #expect(stopped.status == 303)
            #expect(
                try await api.rows("SELECT event_id::text FROM fanfare.cancels ORDER BY event_id") == [
                    ["\(planned)"], [newest],
                ]
            )
            #expect(try await browser.scan("/events/\(unmatched)/cancel").text.contains("all was sent or has ended"))
            // The longest-waiting events are found behind the part that was read.
            let page = try await browser.scan("/events?fate=waiting&type=rare")
            let further = try #require(page.links("/events?after=").first)
            #expect(page.text.contains("No match yet") && page.next == nil)
            #expect(try await browser.scan(further).text.contains("2 events"))
            #expect(try await browser.scan("/events/cancel?fate=waiting&type=rare").text.contains("of 2 events"))
        }
    }

    @Test func aThousandAreCancelledAtATimeAndOlderOnesAfterThem() async throws {
        try await APIWorld.with { api in
            let browser = try await api.console(.emitter)
            let devices = try await api.devices("ann")
            try await api.rule("r", for: "order")
            let old = try await api.logged("order", key: "'old'")[0]
            try await api.waitingBatch(old, devices)
            // None of these has pending pushes: the next confirmation is about the older event.
            _ = try await api.logged("order", 1_100)
            let past = try await browser.scan("/events/cancel?type=order")
            #expect(past.text.contains("Cancel 1 event?") && past.text.contains("\(old)"))
            _ = try await api.rows("SELECT fanfare.emit('order', '{}') FROM generate_series(1, 1002)")
            let asked = try await browser.scan("/events/cancel?type=order")
            #expect(
                asked.text.contains("Cancel 1,000 events?") && asked.text.contains("older events are asked about next")
            )
            #expect(asked.links("/events/cancel?after=").count == 1)
            let first = try await browser.perform("/events/cancel?type=order")
            let second = try #require(first.location)
            #expect(second.hasPrefix("/events/cancel?after=") && second.hasSuffix("&did=cancelled-1000&type=order"))
            // They are still in the outbox, and pass the filter.
            let rest = try await browser.scan(second)
            #expect(
                rest.text.contains("Unsent pushes of 1,000 events are cancelled")
                    && rest.text.contains("Cancel the next 2 events")
            )
            let last = try await browser.perform(try #require(try await browser.perform(second).location))
            #expect(last.location == "/events?did=cancelled-1&type=order")
            let cancelled = try await api.rows("SELECT count(*)::text, min(event_id)::text FROM fanfare.cancels")
            #expect(cancelled == [["1003", "\(old)"]])
        }
    }

    @Test func anEventIsTakenBackFromTheDevicesThatAcceptedIt() async throws {
        try await APIWorld.with { api in
            let browser = try await api.console(.emitter)
            let devices = try await api.devices("ann")
            try await api.rule("r", for: "order")
            let event = try await api.logged("order")[0]
            #expect(try await browser.scan("/events/\(event)/retract").text.contains("no device accepted it"))
            _ = try await api.rows(
                """
                INSERT INTO fanfare.batch_log (day, id, event_id, created_at, rule_version, target_id, lane, attempt, first_device,
                    last_device, device_ids, outcomes)
                SELECT fanfare.ring_day(\(event)), fanfare.new_batch_id(), \(event), now(), (SELECT min(id) FROM fanfare.rule_versions),
                    target_id, 1, 1, id, id, ARRAY[id], '\\x01' FROM fanfare.devices WHERE id = \(devices[0])
                RETURNING 1
                """
            )
            let page = try await browser.scan("/events/\(event)")
            #expect(
                page.links("/events/").contains("/events/\(event)/retract") && page.text.contains("Take back from 1")
            )
            let asked = try await browser.scan("/events/\(event)/retract")
            #expect(asked.text.contains("device accepted it") && asked.text.contains("best effort"))
            #expect(try await browser.perform("/events/\(event)/retract").location == "/events/\(event)?did=retracted")
            #expect(try await browser.scan("/events/\(event)?did=retracted").text.contains("The event is taken back."))
            #expect(try await api.rows("SELECT event_id::text FROM fanfare.retractions") == [["\(event)"]])
            let noted = try await api.rows("SELECT action, target FROM fanfare.actions")
            #expect(noted == [["event.retract", "\(event)"]])
        }
    }

    @Test func anEventIsReplayedToOneUserOrToAll() async throws {
        try await APIWorld.with { api in
            let browser = try await api.console(.operator)
            let devices = try await api.devices("ann", "bob")
            try await api.rule("r", for: "order")
            let event = try await api.logged("order")[0]
            try await api.batch(event, devices, [1, 8])
            #expect(try await api.console(.emitter).page("/events/\(event)/replay").status == 403)
            #expect(try await browser.scan("/events/\(event)/replay").text.contains("2pushes were planned for it"))
            // The replay to one user counts that user's devices.
            let bobs = try await browser.scan("/events/\(event)/replay?user=bob&app=shop")
            #expect(bobs.text.contains("1device can get it") && !bobs.text.contains("pushes were planned"))
            let nobodys = try await browser.scan("/events/\(event)/replay?user=eve")
            #expect(nobodys.text.contains("No device of eve") && !nobodys.elements.contains { $0["name"] == "reason" })
            let one = try await browser.perform("/events/\(event)/replay?user=bob&app=shop")
            let all = try await browser.perform("/events/\(event)/replay")
            let made = try await api.rows("SELECT id::text, replay_of::text, only_user FROM fanfare.outbox ORDER BY id")
            #expect(made.map { Array($0.dropFirst()) } == [["\(event)", "bob"], ["\(event)", nil]])
            #expect([one.location, all.location] == made.map { "/events/\($0[0] ?? "")?did=replayed" })
            let noted = try await actions(api)
            #expect(noted.map { $0[1] } == ["event.replay", "event.replay"] && noted[0][4] == "as the test says")
            #expect(try await browser.scan(one.location ?? "").text.contains("Replay of"))
        }
    }

    @Test func aFormThatIsSentTwiceReplaysOnce() async throws {
        try await APIWorld.with { api in
            let browser = try await api.console(.operator)
            let event = try await api.logged("order")[0]
            let path = "/events/\(event)/replay"
            let fields = try await browser.question(path)
            let first = try await browser.send(path, fields)
            let again = try await browser.send(path, fields.merging(["reason": "a second click"]) { $1 })
            #expect(first.status == 303 && first.location == again.location)
            #expect(try await api.rows("SELECT 1 FROM fanfare.outbox").count == 1)
            #expect(try await actions(api).count == 1)
            // The same nonce with another user is rejected, and so is a form without a nonce.
            #expect(try await browser.send(path, fields.merging(["user": "ann"]) { $1 }).status >= 400)
            #expect(try await browser.send(path, fields.merging(["nonce": ""]) { $1 }).status == 400)
            #expect(try await api.rows("SELECT 1 FROM fanfare.outbox").count == 1)
            // A new confirmation makes a new request.
            #expect(try await browser.perform(path).location != first.location)
            #expect(try await api.rows("SELECT 1 FROM fanfare.outbox").count == 2)
        }
    }
}
