import FanfareCore
import TestKit
import Testing

@testable import APIKit

/// Tests of the lists of pushes of an event and of a user, page by page.
@Suite(.database) struct PushRouteTests {
    /// Logs an event that was sent to all three devices of a user in one batch and has a pending retry.
    private func sent(_ api: APIWorld) async throws -> String {
        let rows = try await api.rows(
            """
            WITH made AS MATERIALIZED (
                SELECT fanfare.register_device('shop', 'apns', repeat(t, 32), 'u') FROM unnest('{aa,bb,cc}'::text[]) AS t
            ),
            rule AS MATERIALIZED (
                SELECT fanfare.put_rule('{"app": "shop", "name": "r", "event": "e", "to": {"everyone": true},
                    "message": {"notification": {"title": "T"}}}') FROM (SELECT count(*) FROM made) AS m
            )
            SELECT fanfare.emit('e', '{}')::text FROM rule
            """
        )
        let event = try #require(rows.first?.first ?? nil)
        _ = try await api.rows(
            """
            WITH o AS (DELETE FROM fanfare.outbox RETURNING *)
            INSERT INTO fanfare.event_log (day, fate, id, type, created_at, planned_at, payload)
            SELECT fanfare.ring_day(id), 1, id, type, created_at, now(), payload FROM o
            """
        )
        let deliveries = "array_agg(d.id ORDER BY d.id) FROM fanfare.devices AS d, fanfare.rule_versions AS v"
        _ = try await api.rows(
            """
            INSERT INTO fanfare.batch_log (day, lane, target_id, attempt, id, created_at, first_device, last_device,
                rule_version, event_id, outcomes, device_ids)
            SELECT fanfare.ring_day(\(event)), 1, min(d.target_id), 1, fanfare.new_batch_id(), now(), min(d.id), max(d.id), min(v.id), \(event),
                decode(repeat('01', count(*)::int), 'hex'), \(deliveries)
            """
        )
        _ = try await api.rows(
            """
            INSERT INTO fanfare.batches (lane, target_id, rule_version, event_id, attempt, device_ids)
            SELECT 1, min(d.target_id), min(v.id), \(event), 2, \(deliveries)
            """
        )
        return event
    }

    @Test func allOfThemComePageByPage() async throws {
        try await APIWorld.with { api in
            let token = try await api.token(.reader)
            let event = try await sent(api)
            // A page may end in the middle of a batch.
            for limit in [1, 2, 4, 100] {
                for list in ["/v1/events/\(event)/deliveries", "/v1/apps/shop/users/u/deliveries"] {
                    var (told, pages, next) = ([String](), 0, "")
                    repeat {
                        let reply = try await api.ask("GET", "\(list)?limit=\(limit)\(next)", token: token)
                        let json = try reply.json
                        #expect(reply.status == 200)
                        let rows = json["data"]?.arrayValue ?? []
                        #expect(rows.count <= limit && rows.allSatisfy { $0["event_id"]?.stringValue == event })
                        told += rows.map { "\($0["device_id"]?.text ?? "") \($0["outcome"]?.text ?? "")" }
                        next = json["next"]?.stringValue.map { "&after=\($0)" } ?? ""
                        pages += 1
                    } while !next.isEmpty && pages < 20
                    #expect(Set(told).count == told.count, "\(list)")
                    // Of a user's pending deliveries, one page is listed.
                    let waiting = list.contains("users") ? min(limit, 3) : 3
                    #expect(told.count { $0.hasSuffix(#""accepted""#) } == 3, "\(list) by \(limit): \(told)")
                    #expect(told.count { $0.hasSuffix(#""pending""#) } == waiting, "\(list) by \(limit): \(told)")
                }
            }
        }
    }

    @Test func aSearchThatFindsNothingForLongSaysWhereToGoOn() async throws {
        try await APIWorld.with { api in
            let token = try await api.token(.reader)
            let event = try await sent(api)
            // More batches than a page reads, all with ids around the user's devices.
            _ = try await api.rows(
                """
                INSERT INTO fanfare.batch_log (day, lane, target_id, attempt, id, created_at, first_device, last_device,
                    rule_version, event_id, outcomes, device_ids)
                SELECT l.day, l.lane, l.target_id, 1, fanfare.new_batch_id(), now(), 0, l.last_device + 1, l.rule_version, l.event_id + n,
                    '\\x0101', ARRAY[0, l.last_device + 1]
                FROM fanfare.batch_log AS l, generate_series(1, 2500) AS n
                """
            )
            _ = try await api.rows("DELETE FROM fanfare.batches")
            let list = "/v1/apps/shop/users/u/deliveries"
            let first = try await api.ask("GET", list, token: token).json
            #expect(first["data"]?.arrayValue?.isEmpty == true)
            let next = try #require(first["next"]?.stringValue)
            let second = try await api.ask("GET", "\(list)?after=\(next)", token: token).json
            #expect(second["data"]?.arrayValue?.map { $0["event_id"]?.stringValue } == [event, event, event])
            #expect(second["next"] == .null)
            // The cursor is valid in this list only.
            let other = try await api.ask("GET", "/v1/apps/shop/users/v/deliveries?after=\(next)", token: token)
            #expect(other.status == 400)
        }
    }
}
