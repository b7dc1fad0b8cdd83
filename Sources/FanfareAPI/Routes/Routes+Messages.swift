internal import FanfareCore
internal import FanfareHTTP
internal import FanfareRecords
internal import FanfareTools
internal import HTTPTypes

extension Routes {
    /// The route that sends a message without a rule.
    static let messages: [Route] = [
        Route(.post, "/v1/apps/{app}/messages", .sender) { call in
            var fields = try call.fields()
            var message = try fields.object()
            let app = JSONValue.string(call.name("app"))
            if let other = message["app"], other != app {
                throw Fields.refusal("is not the app in the path", at: "/app")
            }
            message["app"] = app
            do {
                return try await Answer(once: call.database.send(message, trace: call.trace, once: call.requestKey)) {
                    ["id": .string("\($0[0])")]
                }
            } catch let error as ToolError {
                throw Problem(error).placed(in: message)
            }
        },
        Route(.get, "/v1/apps/{app}/messages/scheduled", .sender) { call in
            let page = try await Page(call, numbers: ToolDatabase.placeOfScheduled)
            let found = try await call.database.scheduledMessages(
                of: call.name("app"),
                after: page.after,
                limit: Int(page.limit)
            )
            return try await page.answer(found.rows.map(\.json), next: found.next)
        },
        Route(.get, "/v1/apps/{app}/messages/scheduled/{id}", .sender) { call in
            Answer(try await call.database.scheduled(call.id("id"), of: call.name("app")).json)
        },
        Route(.patch, "/v1/apps/{app}/messages/scheduled/{id}", .sender) { call in
            var fields = try call.fields()
            let due = DueTime(try fields.time("at"))
            try fields.end()
            let id = try call.id("id")
            guard try await call.database.moveMessage(id, of: call.name("app"), to: due) else {
                throw ToolDatabase.notScheduled(id)
            }
            return Answer(["id": .string("\(id)")])
        },
        Route(.delete, "/v1/apps/{app}/messages/scheduled/{id}", .sender) { call in
            let id = try call.id("id")
            guard try await call.database.cancelMessage(id, of: call.name("app")) else {
                throw ToolDatabase.notScheduled(id)
            }
            return .nothing
        },
    ]
}

extension Problem {
    /// Returns the problem with the place in the body that `fanfare.send` names at the start of its error.
    fileprivate func placed(in message: JSONObject) -> Problem {
        guard code == .refused, let end = detail.firstRange(of: ": ")?.lowerBound else { return self }
        let place = detail[..<end].split { ".[]".contains($0) }.map(String.init)
        guard let key = place.first,
            message[key] != nil || DefinitionObject.send.keys.contains(where: { $0.name == key })
        else { return self }
        var problem = self
        problem.pointer = "/" + place.joined(separator: "/")
        return problem
    }
}
