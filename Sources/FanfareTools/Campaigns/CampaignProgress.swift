public import FanfareCore
internal import FanfareProviders
package import FanfareRecords

/// The progress of one run of a campaign.
public struct CampaignProgress: Sendable {
    /// The run's row.
    package let run: CampaignRun
    /// Attempts by outcome, including those that were retried.
    package let attempts: [AttemptCount]

    /// The run's event; nil if no event was emitted.
    public var eventID: Int64? { run.eventID }
    /// `querying`, `running`, `aborting`, `done`, `aborted` or `failed`.
    public var state: String { run.state }
    /// Deliveries planned so far.
    public var planned: Int64 { run.planned }
    /// Deliveries with a final outcome.
    public var ended: Int64 { run.ended }
    /// Planned deliveries without a final outcome.
    public var left: Int64 { max(0, run.planned - run.ended) }

    /// The progress as JSON.
    public var json: JSONValue {
        [
            "app": .string(run.app), "campaign": .string(run.campaign),
            "run_id": JSONValue(id: run.runID),
            "event_id": JSONValue(id: eventID), "state": .string(state), "hold": JSONValue(orNull: run.hold),
            "is_planning": .bool(run.isPlanning), "planned": JSONValue(planned), "ended": JSONValue(ended),
            "left": JSONValue(left), "accepted": JSONValue(run.accepted), "failed": JSONValue(run.failed),
            "per_second": JSONValue(orNull: run.perSecond.map { Int64($0.rounded()) }),
            "pace": JSONValue(orNull: run.pace.map { Int64($0.rounded()) }),
            "ends_at": run.endsAt.map { JSONValue($0) } ?? .null,
            "experiment": JSONValue(orNull: run.experiment), "winner": JSONValue(orNull: run.winner),
            "attempts": .array(
                attempts.map { count in
                    [
                        "outcome": .string(count.outcome), "reason": .string(count.reason),
                        "count": JSONValue(count.count),
                    ]
                }
            ),
        ]
    }
}
