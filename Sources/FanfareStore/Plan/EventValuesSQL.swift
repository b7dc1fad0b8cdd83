/// SQL of ``PlanRound`` that stores events by a value of their payload, those that may be conversions, and what events take
/// back by such a value.
enum EventValuesSQL {
    /// The CTEs that write them, without a trailing comma.
    ///
    /// While no rule names a value, PostgreSQL evaluates one condition and reads no event. Replays, duplicates, and refused
    /// and cancelled events do not count.
    static let ctes = """
        valued AS (
            INSERT INTO fanfare.event_values (path_id, value, event_id, created_at)
            SELECT p.id, \(hash("m.payload", "p.path")), m.id, m.created_at
            FROM (SELECT DISTINCT ON (j.id) j.id, j.type, j.payload, j.created_at FROM matches AS j WHERE \(counts)) AS m
            JOIN fanfare.value_paths AS p ON p.event_type = m.type AND NOT p.is_ended
            WHERE EXISTS (SELECT FROM fanfare.value_paths) AND \(isValue("m.payload", "p.path"))
            RETURNING path_id, value, event_id, created_at
        ),
        converting AS (
            INSERT INTO fanfare.conversions_pending (path_id, person, event_id, created_at)
            SELECT v.path_id, v.value, v.event_id, v.created_at FROM valued AS v JOIN fanfare.value_paths AS p ON p.id = v.path_id AND p.converts
        ),
        takers AS (
            INSERT INTO fanfare.value_retractions (rule_id, path_id, value, user_id, event_id, since)
            SELECT v.rule_id, p.id, \(hash("m.payload", "v.retract_by")), m.payload #>> v.retract_user, m.id,
                m.created_at - v.retract_within
            FROM (SELECT DISTINCT ON (j.id) j.id, j.type, j.payload, j.created_at FROM matches AS j WHERE \(counts)) AS m
            JOIN fanfare.rule_versions AS v ON v.retract_event = m.type AND v.state = 'active' AND v.retired_at IS NULL AND v.enabled
            JOIN fanfare.value_paths AS p ON p.event_type = v.event_type AND p.path = v.retract_by
            WHERE EXISTS (SELECT FROM fanfare.value_paths) AND \(isValue("m.payload", "v.retract_by"))
                AND (v.retract_user IS NULL OR \(isValue("m.payload", "v.retract_user")) AND NOT fanfare.is_nothing(m.payload #>> v.retract_user))
                AND (v.app_id <> ALL (ARRAY(SELECT a.id FROM fanfare.apps AS a WHERE a.events IS NOT NULL))
                    OR fanfare.may_take((SELECT a.name FROM fanfare.apps AS a WHERE a.id = v.app_id), v.retract_event))
        )
        """

    private static let counts =
        "j.refusal IS NULL AND NOT j.is_duplicate AND NOT j.is_cancelled AND j.replay_of IS NULL"

    /// The value as a number; two values are the same if their texts are.
    private static func hash(_ payload: String, _ path: String) -> String {
        "hashtextextended(\(payload) #>> \(path), 0)"
    }

    private static func isValue(_ payload: String, _ path: String) -> String {
        "jsonb_typeof(\(payload) #> \(path)) IN ('string', 'number', 'boolean')"
    }
}
