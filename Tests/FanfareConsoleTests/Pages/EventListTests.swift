import TestKit
import Testing

@testable import APIKit

/// Tests of the outcomes in the list of events.
@Suite(.database) struct EventListTests {
    @Test func eachEventHasItsOutcome() async throws {
        try await APIWorld.with { api in
            let devices = try await api.devices("ann", "bob", "carl")
            try await api.rule("r", for: "order")
            let kinds: [(codes: [UInt8], word: String)] = [
                ([1, 1, 1], "delivered"), ([1, 64, 1], "delivered 2 of 3"), ([13, 13, 13], "capped"),
                ([4, 4, 4], "expired"), ([64, 64, 64], "gone"), ([14, 1, 8], "delivered 1 of 3"),
                ([5, 5, 5], "cancelled"),
            ]
            let events = try await api.logged("order", kinds.count + 3)
            for (event, kind) in zip(events, kinds) { try await api.batch(event, devices, kind.codes) }
            let (held, sending) = (events[kinds.count], events[kinds.count + 1])
            // Retried: held by quiet hours.
            try await api.batch(held, devices, [47, 47, 47])
            try await api.waitingBatch(held, devices, attempt: 2)
            _ = try await api.rows(
                "UPDATE fanfare.batches SET outcomes = '\\x2f2f2f'::bytea WHERE event_id = \(held)"
            )
            try await api.waitingBatch(sending, devices)
            let page = try await api.console().scan("/events?type=order")
            for (event, kind) in zip(events, kinds) {
                #expect(page.text.contains("UTC\(kind.word)\(event)"), "\(kind.word)")
            }
            #expect(page.text.contains("UTCheld\(held)") && page.text.contains("UTCsending\(sending)"))
            // An event without a device.
            #expect(page.text.contains("UTCno device\(events[kinds.count + 2])"))
        }
    }

    @Test func manyEventsOfOneBatchAndManyBatchesOfOneEventAreTold() async throws {
        try await APIWorld.with { api in
            let devices = try await api.devices("ann", "bob")
            try await api.rule("r", for: "order")
            let events = try await api.logged("order", 3)
            _ = try await api.rows(
                """
                INSERT INTO fanfare.batch_log (day, lane, target_id, attempt, id, created_at, first_device, last_device, rule_version,
                    outcomes, device_ids, event_ids, first_event, last_event)
                SELECT fanfare.ring_day(b.id), 1, (SELECT min(target_id) FROM fanfare.devices), 1, b.id, now(), \(devices[0]), \(devices[1]),
                    (SELECT min(id) FROM fanfare.rule_versions), '\\x01010d', '{\(devices[0]),\(devices[1]),\(devices[0])}',
                    '{\(events[0]),\(events[0]),\(events[1])}', \(events[0]), \(events[1])
                FROM (SELECT fanfare.new_batch_id() AS id) AS b
                """
            )
            for _ in 0..<8 { try await api.batch(events[2], devices, [1, 4]) }
            let page = try await api.console().scan("/events")
            #expect(page.text.contains("UTCdelivered\(events[0])") && page.text.contains("UTCcapped\(events[1])"))
            #expect(page.text.contains("UTCdelivered 6 of 12 counted\(events[2])"))
        }
    }

    @Test func whatIsGatheredAndWhatIsNotPlannedIsSaidSo() async throws {
        try await APIWorld.with { api in
            _ = try await api.rows(
                """
                SELECT fanfare.put_rule('{"app": "shop", "name": "likes", "event": "like", "to": {"everyone": true}, "digest": {"by": "{{x}}", "every": "10m"},
                    "message": {"notification": {"title": "T"}}}')
                """
            )
            try await api.judge()
            _ = try await api.rows("UPDATE fanfare.rule_versions SET created_at = now() - interval '2 days'")
            let event = try await api.logged("like")[0]
            let waiting = try await api.rows("SELECT fanfare.emit('order', '{}')::text")[0][0] ?? ""
            let page = try await api.console().scan("/events")
            #expect(page.text.contains("UTCgathered\(event)"))
            #expect(page.text.contains("UTCnot planned yet\(waiting)"))
        }
    }
}
