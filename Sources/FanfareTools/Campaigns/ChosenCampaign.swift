package import FanfareCampaigns
package import FanfareCore
internal import FanfareProviders
package import FanfareRecords
package import PostgresClient

/// A campaign to forecast or to explain: one from a file, or a stored one.
package struct ChosenCampaign: Sendable {
    package let definition: CampaignDefinition
    /// The file and line of the definition; nil for a stored campaign.
    package let source: String?
    /// The stored campaign of this name; nil if there is none.
    package let stored: CampaignRow?

    package init(definition: CampaignDefinition, source: String?, stored: CampaignRow?) {
        (self.definition, self.source, self.stored) = (definition, source, stored)
    }
}

extension CampaignDefinition {
    /// The ttl of a push without `ttl`.
    private static let standardTimeToLive = TimeSpan(seconds: 86_400)

    /// How long after its due time a push of the campaign may wait.
    package var timeToLive: TimeSpan { rule.definition.ttl ?? Self.standardTimeToLive }

    /// Whether each device has a due time of its own.
    package var isByRecipientTime: Bool { schedule?.timeZone == CampaignSchedule.recipient }

    /// The local time of a recipient at a time of the schedule; nil if all devices are due at once.
    package func wall(of run: NextRun.Row) -> String? { isByRecipientTime ? run.wall : nil }

    /// Returns the payload of the event of one run.
    ///
    /// - Parameters:
    ///   - own: the members that the caller lays over the campaign's payload.
    ///   - time: the scheduled time of the run.
    /// - Returns: the payload.
    package func payload(with own: JSONObject, at time: Timestamp) -> JSONObject {
        var payload = payload
        for member in own.members { payload[member.key] = member.value }
        payload["campaign"] = .string(name)
        payload["scheduled_at"] = JSONValue(time)
        return payload
    }
}

extension CampaignRow {
    /// The schedule in force; nil if there is none.
    package var schedule: CampaignSchedule? { inForce.flatMap { try? CampaignDefinition(json: $0) }?.schedule }
}

extension NextRun.Row {
    /// When the campaign fires: at its due time, or now if that has passed or nothing is due.
    package var firesAt: Timestamp { max(at ?? askedAt, askedAt) }

    /// Finds when a campaign is due next: from the version in force, if that has the schedule.
    ///
    /// - Parameters:
    ///   - chosen: the campaign.
    ///   - now: the time to start from; nil for the database's time.
    ///   - connection: a session of the database that stores it.
    /// - Throws: database errors.
    package init(_ chosen: ChosenCampaign, at now: Timestamp?, on connection: PostgresConnection) throws(PostgresError)
    {
        let schedule = chosen.definition.schedule
        var standing = NextRun.Standing.new
        if let stored = chosen.stored, let inForce = stored.schedule, inForce == schedule,
            ["active", "ended"].contains(stored.state)
        {
            standing = .inForce(next: stored.nextAt)
        }
        let catchUp = (schedule?.catchUp ?? .latest).rawValue
        let statement = NextRun(schedule?.stored, catchUp: catchUp, standing, at: now)
        guard let row = try connection.run(statement).first else {
            throw PostgresError(.protocolMismatch, message: "the server does not say what time it is")
        }
        self = row
    }
}
