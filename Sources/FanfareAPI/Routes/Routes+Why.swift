internal import FanfareCore
internal import FanfareExplain
internal import FanfareHTTP
internal import FanfareRecords
internal import FanfareStore
internal import FanfareTools
internal import HTTPTypes

extension Routes {
    /// The routes that explain why a user got a push or did not, and that replay events.
    static let why: [Route] = [
        Route(.get, "/v1/apps/{app}/users/{user}/why", .reader) { call in
            let (app, user) = (call.name("app"), call.name("user"))
            guard let text = call.query["event"] else {
                let verdicts = try await call.database.why(user: user, app: app)
                if let verdict = verdicts.first(where: { $0.reason == "no_user" }) {
                    throw Problem(.absent, verdict.detail ?? "there is no such user")
                }
                let events = verdicts.filter { $0.eventID != nil }
                return Answer(["data": .array(events.map(\.json))])
            }
            guard let event = Int64(text), event > 0 else {
                throw Problem(.malformed, "event is not an id", hint: "Leave it out for the user's last events.")
            }
            let report = try await call.database.why(eventID: event, user: user, app: app)
            guard report.verdict.reason != "no_event" else {
                throw Problem(
                    .absent,
                    report.verdict.detail ?? "there is no such event",
                    hint:
                        "GET /v1/events/\(event), with a token of all apps, shows whether its type is one that a rule names."
                )
            }
            return Answer(report.json)
        },
        Route(.post, "/v1/events/{id}/replay", .operator) { call in
            var fields = try call.fields(orEmpty: true)
            let (user, app) = (try fields.text(orNil: "user_id"), try fields.text(orNil: "app"))
            try fields.end()
            let fate = try await call.database.replay(
                call.id("id"),
                to: user,
                app: app,
                trace: call.trace,
                once: call.requestKey
            )
            return try Answer(once: fate) { ["id": .string("\($0)"), "replay_of": .string(call.name("id"))] }
        },
    ]

}
