internal import FanfareCore
internal import FanfareHTTP
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
        }
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
