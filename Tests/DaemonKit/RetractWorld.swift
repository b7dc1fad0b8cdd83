import FanfareCore
import PostgresClient
import Threading

@testable import FanfareCampaigns
@testable import FanfareStages
@testable import FanfareStore

extension World {
    /// Ends all batches, as if providers had answered.
    ///
    /// - Parameter code: the outcome of a device, as SQL with the device's id `d`.
    func answer(_ code: String = "1") throws {
        try connection.execute(
            """
            WITH ended AS (DELETE FROM fanfare.batches RETURNING *)
            INSERT INTO fanfare.batch_log (day, lane, target_id, attempt, id, event_id, created_at, first_device, last_device,
                rule_version, device_ids, event_ids, outcomes, first_event, last_event)
            SELECT fanfare.ring_day(b.id), b.lane, b.target_id, b.attempt, b.id, b.event_id, b.created_at, b.device_ids[1],
                b.device_ids[cardinality(b.device_ids)], b.rule_version, b.device_ids, b.event_ids,
                (SELECT string_agg(set_byte('\\x00'::bytea, 0, \(code)), ''::bytea ORDER BY n) FROM unnest(b.device_ids) WITH ORDINALITY AS u (d, n)),
                (SELECT min(e) FROM unnest(b.event_ids) AS e), (SELECT max(e) FROM unnest(b.event_ids) AS e)
            FROM ended AS b
            """
        )
    }

    /// Takes an event back.
    @discardableResult
    func retract(_ event: Int64, from user: String? = nil) throws -> Bool {
        try connection.text("SELECT fanfare.retract($1::bigint, $2)", String(event), user) == "t"
    }

    /// Carries out what is due to be taken back.
    ///
    /// - Parameter time: the time as SQL.
    func takeBack(at time: String = "now() + interval '1 second'") throws {
        let now = try connection.number("SELECT (extract(epoch FROM \(time)) * 1000000)::bigint")
        let scheduler = self.scheduler()
        while try scheduler.takeBack(on: connection, at: Timestamp(microseconds: now)) == 0 {}
    }

    /// Returns the silent pushes so far, by device: the token and the identifiers, sorted.
    func silentPushes() throws -> [String] {
        try connection.column(
            """
            SELECT d.token || ': ' || (SELECT string_agg(k, ' ' ORDER BY k) FROM jsonb_object_keys(e.payload -> 'retracted') AS k)
            FROM fanfare.deliveries AS p JOIN fanfare.event_log AS e ON e.id = p.event_id JOIN fanfare.devices AS d ON d.id = p.device_id
            WHERE e.type = 'retract.shop' AND p.attempt = 1 ORDER BY e.id, d.token
            """
        )
    }
}
