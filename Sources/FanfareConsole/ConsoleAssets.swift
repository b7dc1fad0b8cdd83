/// The console's assets, embedded in the program.
enum ConsoleAssets {
    /// The style sheet.
    static let styleSheet = PackageResources.console_css
    /// The script.
    static let script = PackageResources.console_js
    /// The favicon.
    static let icon = PackageResources.icon_svg

    /// A hash of the assets, part of their addresses so that browsers may cache them forever.
    static let version: String = {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in [styleSheet, script, icon].joined() {
            hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3
        }
        return String(hash, radix: 16)
    }()

    /// The Content-Security-Policy of every page.
    ///
    /// Only resources of this server are allowed, no inline script or style; HTML is inserted only where the script
    /// uses the named Trusted Types policy.
    static let securityPolicy = [
        "default-src 'none'", "style-src 'self'", "script-src 'self'", "img-src 'self'", "connect-src 'self'",
        "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'",
        "trusted-types fanfare",
    ].joined(separator: "; ")

    /// The templates' sources by name.
    static let sources: [String: String] = Dictionary(
        uniqueKeysWithValues: templates.map { ($0, String(decoding: $1, as: UTF8.self)) }
    )

    private static let templates: [(String, [UInt8])] = [
        ("action", PackageResources.action_mustache),
        ("actions", PackageResources.actions_mustache),
        ("audience", PackageResources.audience_mustache),
        ("badge", PackageResources.badge_mustache),
        ("campaign", PackageResources.campaign_mustache),
        ("campaign-calendar", PackageResources.campaign_calendar_mustache),
        ("campaign-head", PackageResources.campaign_head_mustache),
        ("campaign-progress", PackageResources.campaign_progress_mustache),
        ("campaign-runs", PackageResources.campaign_runs_mustache),
        ("campaigns", PackageResources.campaigns_mustache),
        ("canary", PackageResources.canary_mustache),
        ("chart", PackageResources.chart_mustache),
        ("confirm", PackageResources.confirm_mustache),
        ("action-log", PackageResources.action_log_mustache),
        ("deliveries", PackageResources.deliveries_mustache),
        ("device-counts", PackageResources.device_counts_mustache),
        ("device-disabled", PackageResources.device_disabled_mustache),
        ("device-reasons", PackageResources.device_reasons_mustache),
        ("device-rows", PackageResources.device_rows_mustache),
        ("device", PackageResources.device_mustache),
        ("devices", PackageResources.devices_mustache),
        ("empty", PackageResources.empty_mustache),
        ("ended", PackageResources.ended_mustache),
        ("error", PackageResources.error_mustache),
        ("event", PackageResources.event_mustache),
        ("event-deliveries", PackageResources.event_deliveries_mustache),
        ("event-audience", PackageResources.event_audience_mustache),
        ("event-head", PackageResources.event_head_mustache),
        ("event-outcomes", PackageResources.event_outcomes_mustache),
        ("event-rows", PackageResources.event_rows_mustache),
        ("event-trace", PackageResources.event_trace_mustache),
        ("events", PackageResources.events_mustache),
        ("explain", PackageResources.explain_mustache),
        ("facts", PackageResources.facts_mustache),
        ("field", PackageResources.field_mustache),
        ("figures", PackageResources.figures_mustache),
        ("filter", PackageResources.filter_mustache),
        ("find", PackageResources.find_mustache),
        ("fuses", PackageResources.fuses_mustache),
        ("heading", PackageResources.heading_mustache),
        ("health", PackageResources.health_mustache),
        ("layout", PackageResources.layout_mustache),
        ("login", PackageResources.login_mustache),
        ("mark", PackageResources.mark_mustache),
        ("moment", PackageResources.moment_mustache),
        ("notice", PackageResources.notice_mustache),
        ("runs", PackageResources.runs_mustache),
        ("outcomes", PackageResources.outcomes_mustache),
        ("overview", PackageResources.overview_mustache),
        ("overview-campaigns", PackageResources.overview_campaigns_mustache),
        ("overview-charts", PackageResources.overview_charts_mustache),
        ("overview-daemons", PackageResources.overview_daemons_mustache),
        ("overview-lanes", PackageResources.overview_lanes_mustache),
        ("pager", PackageResources.pager_mustache),
        ("person", PackageResources.person_mustache),
        ("person-deliveries", PackageResources.person_deliveries_mustache),
        ("person-pushes", PackageResources.person_pushes_mustache),
        ("person-upcoming", PackageResources.person_upcoming_mustache),
        ("upcoming", PackageResources.upcoming_mustache),
        ("upcoming-rows", PackageResources.upcoming_rows_mustache),
        ("preview-facts", PackageResources.preview_facts_mustache),
        ("previews", PackageResources.previews_mustache),
        ("progress", PackageResources.progress_mustache),
        ("provider-cards", PackageResources.provider_cards_mustache),
        ("provider-charts", PackageResources.provider_charts_mustache),
        ("provider-reasons", PackageResources.provider_reasons_mustache),
        ("providers", PackageResources.providers_mustache),
        ("reasons", PackageResources.reasons_mustache),
        ("lift", PackageResources.lift_mustache),
        ("report-table", PackageResources.report_table_mustache),
        ("reports", PackageResources.reports_mustache),
        ("rule", PackageResources.rule_mustache),
        ("rules", PackageResources.rules_mustache),
        ("text", PackageResources.text_mustache),
        ("variants", PackageResources.variants_mustache),
        ("why", PackageResources.why_mustache),
    ]
}
