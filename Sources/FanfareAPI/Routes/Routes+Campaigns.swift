internal import FanfareCore
internal import FanfareDaemon
internal import FanfareHTTP
internal import FanfareRecords
internal import FanfareTools
internal import HTTPTypes

extension Routes {
    /// The routes of an app's campaigns.
    static let campaigns: [Route] =
        definitions(CampaignSet.self) + [
            Route(.get, "/v1/apps/{app}/campaigns/{campaign}", .reader) { call in
                let report = try await call.database.campaign(app: call.name("app"), name: call.name("campaign"))
                return Answer(report.json)
            },
            Route(.post, "/v1/apps/{app}/campaigns/{campaign}/start", .operator) { call in
                var fields = try call.fields(orEmpty: true)
                let payload = try fields.object(orNil: "payload") ?? JSONObject()
                let isConfirmed = try fields.bool(orNil: "confirm") ?? false
                try fields.end()
                let fate = try await call.database.startCampaign(
                    app: call.name("app"),
                    name: call.name("campaign"),
                    payload: JSONValue.object(payload).text,
                    isConfirmed: isConfirmed,
                    once: call.requestKey,
                    call.context.daemon.configuration()
                )
                return try Answer(once: fate, \.json)
            },
            Route(.get, "/v1/apps/{app}/campaigns/{campaign}/progress", .reader) { call in
                let report = try await call.database.campaign(app: call.name("app"), name: call.name("campaign"))
                let event = report.progress?.run.eventID
                let reports = try await call.database.reports(ofRun: event).map(\.json)
                return Answer(["progress": report.json["newest"] ?? .null, "reports": .array(reports)])
            },
        ]
        + [CampaignChange.pause, .resume, .abort].map { change in
            Route(.post, "/v1/apps/{app}/campaigns/{campaign}/\(change.rawValue)", .operator) { call in
                var fields = try call.fields(orEmpty: true)
                let winner = change == .resume ? try fields.text(orNil: "winner") : nil
                try fields.end()
                let (app, campaign) = (call.name("app"), call.name("campaign"))
                return Answer(
                    try await call.noted {
                        let isChanged = try await $0.change(change, app: app, campaign: campaign, winner: winner)
                        return ["changed": .bool(isChanged)]
                    }
                )
            }
        }
}
