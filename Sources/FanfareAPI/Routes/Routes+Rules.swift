internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareDaemon
internal import FanfareExplain
internal import FanfareHTTP
internal import FanfareProviders
internal import FanfareTools
internal import HTTPTypes

extension Routes {
    /// The routes of an app's rules.
    static let rules: [Route] =
        definitions(RuleSet.self) + [
            Route(.post, "/v1/apps/{app}/explain", .reader) { call in
                var fields = try call.fields()
                let type = try fields.text("type")
                var example = ExampleEvent(
                    payload: JSONValue.object(try fields.object(orNil: "payload") ?? JSONObject()).text
                )
                example.key = try fields.text(orNil: "key")
                example.locale = try fields.text(orNil: "locale")
                example.userID = try fields.text(orNil: "user_id")
                let rule = try fields.text(orNil: "rule")
                try fields.end()
                return Answer(try await explain(example, type, rule, call))
            }
        ]

    /// The routes that list, plan and apply an app's definitions of one kind.
    static func definitions<Definition>(_ kind: DefinitionSet<Definition>.Type) -> [Route] {
        let name = Definition.kind.plural
        return [
            Route(.get, "/v1/apps/{app}/\(name)", .reader) { call in
                Answer(["data": .array(try await call.database.stored(kind, app: call.name("app")).map(\.json))])
            },
            Route(.post, "/v1/apps/{app}/\(name)/plan", .author) { call in
                let (listed, prune) = try definitions(name, call)
                return Answer(try await call.database.plan(kind.init(listed: listed), prune: prune).json)
            },
            Route(.post, "/v1/apps/{app}/\(name)/apply", .author) { call in
                let (listed, prune) = try definitions(name, call)
                return Answer(
                    try await call.noted {
                        try await $0.apply(DefinitionSet<Definition>(listed: listed), prune: prune).json
                    }
                )
            },
        ]
    }

    /// Reads rules or campaigns of the path's app.
    ///
    /// - Parameters:
    ///   - name: the member of the body that holds them.
    ///   - call: the request.
    /// - Returns: the definitions, and whether missing ones are to be dropped.
    /// - Throws: a ``Problem`` for an invalid body.
    private static func definitions(_ name: String, _ call: Call) throws -> ([JSONValue], prune: Bool) {
        var fields = try call.fields()
        let app = call.name("app")
        let listed = try fields.list(name).enumerated().map { index, value in
            guard var object = value.objectValue else {
                throw Fields.refusal("is \(value.kindName), not an object", at: "/\(name)/\(index)")
            }
            if let other = object["app"], other.stringValue != app {
                throw Fields.refusal("is not the app in the path", at: "/\(name)/\(index)/app")
            }
            object["app"] = .string(app)
            return JSONValue.object(object)
        }
        let prune = try fields.bool(orNil: "prune") ?? false
        try fields.end()
        guard !listed.isEmpty else { throw Fields.refusal("is empty", at: "/\(name)") }
        return (listed, prune)
    }

    private static func explain(
        _ example: ExampleEvent,
        _ type: String,
        _ rule: String?,
        _ call: Call
    ) async throws -> JSONValue {
        let configuration = call.context.daemon.configuration()
        let set: RuleSet
        do throws(ToolError) {
            set = try await call.database.ruleSet(app: call.name("app")).only(rule: rule, app: nil, type: type)
        } catch {
            guard error.cause == nil, error.kind != .unavailable else { throw error }
            return ["data": []]
        }
        let judgements = try await call.database.judge(set, example, configuration)
        let explanations = try await set.matched(judgements).explain(example, configuration)
        return [
            "data": .array(
                judgements.map { judgement in
                    var object = JSONObject()
                    object["rule"] = .string(judgement.rule)
                    for member in judgement.json.objectValue?.members ?? [] { object[member.key] = member.value }
                    object["sends"] = .array(
                        explanations.filter { $0.app == judgement.app && $0.rule == judgement.rule }.map(\.json)
                    )
                    return .object(object)
                }
            )
        ]
    }
}
