package import FanfareCore
package import PostgresClient

extension SQL {
    /// Returns the errors that `fanfare.put_campaign` would raise for campaigns, in their order.
    ///
    /// Binds: campaigns.
    package static let campaignErrors = Statement<RuleProblem?, [String]>(
        "campaign_errors",
        """
        SELECT CASE WHEN p.has_passed THEN 'schedule.at' ELSE f.place END,
            CASE WHEN p.has_passed THEN (r.campaign::jsonb #>> '{schedule,at}') || ' has passed' ELSE f.reason END,
            CASE WHEN p.has_passed THEN 'write a time to come, or leave the schedule out and start it by hand' ELSE f.hint END
        FROM unnest($1::text[]) WITH ORDINALITY AS r (campaign, position)
        CROSS JOIN LATERAL fanfare.campaign_error(r.campaign::jsonb) AS f
        CROSS JOIN LATERAL (SELECT f.reason IS NULL AND fanfare.has_passed(r.campaign::jsonb) AS has_passed) AS p
        ORDER BY r.position
        """
    ) { row throws(PostgresError) in
        guard let reason = try row.string(orNil: 1) else { return nil }
        return RuleProblem(path: try row.string(0), reason: reason, hint: try row.string(orNil: 2) ?? "")
    }

    /// Calls `fanfare.put_campaign` for each.
    ///
    /// Binds: campaigns.
    package static let putCampaigns = Statement<Void, [String]>(
        "put_campaigns",
        "SELECT count(fanfare.put_campaign(r.campaign::jsonb)) FROM unnest($1::text[]) AS r (campaign)"
    )

    /// Calls `fanfare.campaign_from_file` for each.
    ///
    /// Binds: apps, names.
    package static let markCampaignsFromFile = Statement<Void, [String], [String]>(
        "mark_campaigns_from_file",
        """
        SELECT count(*) FILTER (WHERE fanfare.campaign_from_file(r.app, r.name))
        FROM unnest($1::text[], $2::text[]) AS r (app, name)
        """
    )

    /// Whether campaigns of these apps, or their rules, still wait to be checked by a daemon.
    ///
    /// Binds: apps.
    package static let areCampaignsUnchecked = Statement<Bool, [String]>(
        "are_campaigns_unchecked",
        """
        SELECT EXISTS (
            SELECT FROM fanfare.campaigns AS c
            JOIN fanfare.apps AS a ON a.id = c.app_id
            WHERE c.dropped_at IS NULL AND a.name = ANY ($1::text[]) AND (
                (c.draft IS NOT NULL AND c.reason IS NULL)
                OR EXISTS (SELECT FROM fanfare.rule_versions AS v WHERE v.rule_id = c.rule_id AND v.state = 'unchecked')))
        """
    )
}

/// A change of a campaign's state.
public enum CampaignChange: String, CaseIterable, Sendable {
    /// Stops its schedule and holds unsent deliveries.
    case pause
    /// Resumes a paused campaign.
    case resume
    /// Cancels unsent deliveries.
    case abort
    /// Ends the campaign; planned deliveries are still sent.
    case drop
}

extension SQL {
    // Four statements for four changes: a generic plan checks EXECUTE on every function that it names, and only the
    // daemon's role may call all four. Their row is whether anything changed, their binds are the app and the name.

    /// Calls `fanfare.pause_campaign`.
    package static let pauseCampaign = Statement<Bool, String, String>(
        "pause_campaign",
        "SELECT fanfare.pause_campaign($1, $2)"
    )

    /// Calls `fanfare.resume_campaign`; its third bind is the variant that ends an experiment, if any.
    package static let resumeCampaign = Statement<Bool, String, String, String?>(
        "resume_campaign",
        "SELECT fanfare.resume_campaign($1, $2, $3)"
    )

    /// Calls `fanfare.abort_campaign`.
    package static let abortCampaign = Statement<Bool, String, String>(
        "abort_campaign",
        "SELECT fanfare.abort_campaign($1, $2)"
    )

    /// Calls `fanfare.drop_campaign`.
    package static let dropCampaign = Statement<Bool, String, String>(
        "drop_campaign",
        "SELECT fanfare.drop_campaign($1, $2)"
    )
}

extension PostgresConnection {
    /// Pauses, resumes, aborts or drops a campaign.
    ///
    /// - Parameters:
    ///   - change: what to do.
    ///   - id: the campaign.
    ///   - winner: to resume, the variant that ends an experiment; nil for none.
    /// - Returns: whether anything changed.
    /// - Throws: errors of the server.
    package func change(_ change: CampaignChange, of id: RuleID, winner: String? = nil) throws(PostgresError) -> Bool {
        let changed =
            switch change {
            case .pause: try run(SQL.pauseCampaign(id.app, id.name))
            case .resume: try run(SQL.resumeCampaign(id.app, id.name, winner))
            case .abort: try run(SQL.abortCampaign(id.app, id.name))
            case .drop: try run(SQL.dropCampaign(id.app, id.name))
            }
        return changed.first ?? false
    }
}

extension SQL {
    /// Calls `fanfare.start_campaign`.
    ///
    /// Its row is the run's id; nil if a run was started in the same microsecond.
    ///
    /// Binds: app, name, payload.
    package static let startCampaign = Statement<Int64?, String, String, String>(
        "start_campaign",
        "SELECT fanfare.start_campaign($1, $2, $3::jsonb)"
    )

    /// Calls `fanfare.test_campaign`.
    ///
    /// Its row is the event's id.
    ///
    /// Binds: app, name, users.
    package static let testCampaign = Statement<Int64, String, String, [String]>(
        "test_campaign",
        "SELECT fanfare.test_campaign($1, $2, $3::text[])"
    )
}
