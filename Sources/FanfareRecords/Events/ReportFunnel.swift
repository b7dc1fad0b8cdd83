package import PostgresClient

/// The accepted pushes and the reports of one rule and variant: of an event, of a day, or of a campaign's run.
package struct ReportFunnelRow: Sendable {
    package let app: String
    package let rule: String
    /// The variant; nil if the rule has none, and for the pushes of all variants that are not counted by variant.
    package let variant: String?
    /// The day of the reports or of the run, in UTC, such as `2026-11-29`; nil for one event.
    package let day: String?
    /// The event; nil for a day.
    package let eventID: Int64?
    /// The pushes that providers accepted; nil if unknown.
    package let accepted: Int64?
    package let received: Int64
    package let shown: Int64
    package let opened: Int64
    package let acted: Int64
    package let dismissed: Int64
    /// The people who opened the push and then did what it should lead to.
    package let converted: Int64
    /// The sum of the values of their conversions, as a decimal number; nil if none was credited.
    package let value: String?
}

extension SQL {
    /// Reads the accepted pushes and the reports of an event, by rule and variant.
    ///
    /// Binds: event.
    package static let eventFunnel = Statement<ReportFunnelRow, Int64>(
        "event_funnel",
        """
        SELECT f.app, f.rule, f.variant, NULL::text, $1::bigint, f.accepted, f.received, f.shown, f.opened, f.acted, f.dismissed,
            f.converted, trim_scale(f.value)::text
        FROM fanfare.funnel($1) AS f
        """,
        row: ReportFunnelRow.init
    )

    /// Reads the accepted pushes and the reports of a rule on each of the last days, the newest first.
    ///
    /// Binds: app, rule, days.
    package static let ruleFunnel = Statement<ReportFunnelRow, String, String, Int32>(
        "rule_funnel",
        """
        SELECT e.app, e.rule, e.variant, e.day::text, NULL::bigint, sum(e.accepted)::bigint,
            coalesce(sum(e.received), 0)::bigint, coalesce(sum(e.shown), 0)::bigint, coalesce(sum(e.opened), 0)::bigint,
            coalesce(sum(e.acted), 0)::bigint, coalesce(sum(e.dismissed), 0)::bigint,
            coalesce(sum(e.converted), 0)::bigint, trim_scale(sum(e.value))::text
        FROM fanfare.engagement AS e
        WHERE e.app = $1 AND e.rule = $2 AND e.day > (now() AT TIME ZONE 'UTC')::date - $3::int
        GROUP BY e.app, e.rule, e.variant, e.day ORDER BY e.day DESC, e.variant
        """,
        row: ReportFunnelRow.init
    )

    /// Reads the accepted pushes and the reports of the last runs of a campaign, the newest first.
    ///
    /// Binds: app, name, limit.
    package static let campaignFunnel = Statement<ReportFunnelRow, String, String, Int32>(
        "campaign_funnel",
        """
        SELECT f.app, $2::text, f.variant, (o.scheduled_at AT TIME ZONE 'UTC')::date::text, o.event_id, f.accepted,
            f.received, f.shown, f.opened, f.acted, f.dismissed,
            f.converted, trim_scale(f.value)::text
        FROM (
            SELECT x.scheduled_at, x.event_id FROM fanfare.runs AS x
            WHERE x.campaign_id = (
                SELECT c.id FROM fanfare.campaigns AS c JOIN fanfare.apps AS a ON a.id = c.app_id
                WHERE a.name = $1 AND c.name = $2 AND c.dropped_at IS NULL)
                AND x.test_users IS NULL AND x.event_id IS NOT NULL
            ORDER BY x.scheduled_at DESC
            LIMIT $3::int
        ) AS o
        CROSS JOIN LATERAL fanfare.funnel(o.event_id) AS f
        ORDER BY o.scheduled_at DESC, f.variant
        """,
        row: ReportFunnelRow.init
    )
}
