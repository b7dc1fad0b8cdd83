package import FanfareConfiguration
internal import FanfareCore
internal import FanfareProviders
internal import FanfareRecords
internal import FanfareService
internal import FanfareStore
package import FanfareTools
internal import PostgresClient
internal import Threading

extension ToolDatabase {
    /// Judges which rules match an event and which devices they reach, as planning would; changes nothing.
    ///
    /// - Parameters:
    ///   - set: the rules, stored or not; the event counts as one of their event type.
    ///   - example: the event, and the user to report on, if any.
    ///   - configuration: supplies the credentials to compare with the audience.
    /// - Returns: one judgement for each rule, in their order.
    /// - Throws: ``ToolError``; of kind `usage` if the payload is not a JSON object.
    package func judge(
        _ set: RuleSet,
        _ example: ExampleEvent,
        _ configuration: Configuration
    ) async throws(ToolError) -> [RuleJudgement] {
        let payload = try ToolJSON.object(example.payload, as: .event)
        return try await run { connection throws(PostgresError) in
            // The session's settings must not reach the next caller.
            defer { connection.close() }
            connection.allowAnswers(within: .seconds(15))
            try connection.set(
                SessionSettings([("default_transaction_read_only", "on"), ("statement_timeout", "10s"), ("jit", "off")])
            )
            var judgements: [RuleJudgement] = []
            for entry in set.entries {
                var judge = RuleJudge(
                    connection: connection,
                    rule: entry.definition,
                    example: example,
                    payload: payload
                )
                judgements.append(try judge.judge(configuration.apps[entry.id.app]))
            }
            return judgements
        }
    }
}

/// Judges one rule.
private struct RuleJudge {
    /// The SQLSTATE of a statement that exceeded its time limit.
    private static let timedOut = "57014"
    /// The time limit of a rule's query in milliseconds, the same as in planning.
    private static let patience = 2_000

    let connection: PostgresConnection
    let rule: CompiledRule
    let example: ExampleEvent
    let payload: JSONObject
    private var digestKey: String?

    init(connection: PostgresConnection, rule: CompiledRule, example: ExampleEvent, payload: JSONObject) {
        (self.connection, self.rule, self.example, self.payload) = (connection, rule, example, payload)
    }

    mutating func judge(_ app: Configuration.App?) throws(PostgresError) -> RuleJudgement {
        let definition = rule.definition
        let columns: RuleColumns
        switch try RuleChecker.columns(of: rule, on: connection) {
        case .success(let checked): columns = checked
        case .failure(let problem): return judgement(false, .problem("the rule would be refused: \(problem)"), nil)
        }
        let isMatched = try isMatched(columns.whenPath)
        var users: UsersBySQL?
        if isMatched, case .usersSQL(let sql) = rule.audience {
            switch try ask(sql) {
            case .success(let named): users = named
            case .failure(let error):
                return judgement(isMatched, .problem("to.users_sql: \(Self.words(error))"), nil)
            }
        }
        let query: AudienceQuery?
        do throws(RenderProblem) {
            if isMatched { digestKey = try rule.digestKey(example, payload) }
            query = try AudienceQuery(
                rule.definition,
                rule.audience,
                path: columns.audiencePath,
                users: users?.array,
                rule.exampleContext(payload, key: example.key, now: Clocks.wallSeconds)
            )
        } catch {
            return judgement(isMatched, isMatched ? .problem(error.description) : nil, nil)
        }
        guard let query else {
            if case .staged = definition.audience.selection {
                return judgement(isMatched, isMatched ? .asked : nil, nil)
            }
            let provider = definition.audience.selection.provider ?? rule.providers[0]
            return judgement(isMatched, isMatched ? .kept(by: provider) : nil, nil)
        }
        return judgement(
            isMatched,
            isMatched ? try count(query, app, named: users?.count) : nil,
            try example.userID.map { id throws(PostgresError) in
                JudgedUser(id: id, app: definition.app, devices: try devices(of: id, query))
            }
        )
    }

    private func judgement(
        _ isMatched: Bool,
        _ audience: RuleJudgement.Audience?,
        _ user: JudgedUser?
    ) -> RuleJudgement {
        RuleJudgement(
            app: rule.definition.app,
            rule: rule.definition.name,
            when: rule.definition.when,
            isMatched: isMatched,
            gathered: digestKey.flatMap { key in rule.definition.digest.map { (key, $0.text) } },
            audience: audience,
            user: user
        )
    }

    /// Runs the rule's query as planning would.
    ///
    /// - Returns: the users that the query returns, or its error.
    /// - Throws: an error if the session is lost.
    private func ask(_ sql: String) throws(PostgresError) -> Result<UsersBySQL, PostgresError> {
        let answer = Result { () throws(PostgresError) in
            try connection.usersBySQL(sql, payload: JSONValue.object(payload).text, within: Self.patience)
        }
        try connection.execute("ROLLBACK")
        return answer
    }

    private static func words(_ error: PostgresError) -> String {
        guard error.sqlState != timedOut else { return "takes longer than \(patience / 1000) s" }
        return error.message + (error.hint.map { " (\($0))" } ?? "")
    }

    private func isMatched(_ when: String?) throws(PostgresError) -> Bool {
        guard let when else { return true }
        return try connection.run(SQL.judgeWhen(JSONValue.object(payload).text, when)).first ?? false
    }

    private func count(
        _ query: AudienceQuery,
        _ app: Configuration.App?,
        named: Int64?
    ) throws(PostgresError) -> RuleJudgement.Audience {
        let rows: [[String?]]
        let suppressed: [Suppression: Int64]
        do {
            rows = try connection.query(query.countSQL, binds: query.binds).rows
            let isScanned = rule.isScanned
            suppressed =
                try query.suppressions(
                    by: rule.definition,
                    AudienceTimes(),
                    isScanned: isScanned,
                    on: connection
                ) ?? [:]
        } catch {
            guard error.sqlState == Self.timedOut else { throw error }
            return .problem("not counted within 10 s; it may be many")
        }
        func number(_ row: [String?], _ column: Int) -> Int64 { row[column].flatMap { Int64($0) } ?? 0 }
        let all = rows.first { $0[0] == nil }
        let providers = rows.compactMap { row in
            row[0].map { AudienceCounts.Provider(name: $0, devices: number(row, 1)) }
        }
        var counts = AudienceCounts(
            providers: providers.filter { $0.devices > 0 },
            users: all.map { number($0, 2) } ?? 0,
            disabled: all.map { number($0, 3) } ?? 0,
            named: named
        )
        counts.suppressed.counts = suppressed
        let able = Providers.serving(app)
        counts.withoutCredentials = counts.providers.map(\.name).filter { !able.contains($0) }
        return .counted(counts)
    }

    private func devices(of user: String, _ query: AudienceQuery) throws(PostgresError) -> [JudgedUser.Device] {
        try connection.query(query.userSQL, binds: query.binds + [user]).rows.map { row in
            JudgedUser.Device(id: row[0].flatMap { Int64($0) } ?? 0, provider: row[1] ?? "", obstacle: obstacle(row))
        }
    }

    /// Returns the first reason why a device would not get the push.
    private func obstacle(_ row: [String?]) -> String? {
        let audience = rule.definition.audience
        if let since = row[4] { return "disabled since \(since): \(row[5] ?? "")" }
        if row[6] != "t" { return "its token is for \(row[3] ?? ""), the rule for \(audience.kind.rawValue)" }
        if row[7] != "t" { return "the rule is for \(audience.provider?.rawValue ?? "another provider")" }
        if row[8] != "t" { return "its attributes do not meet \(audience.devices ?? "")" }
        if row[11] != "t" { return permission(row[12] ?? "", presents: row[13], audience) }
        guard row[9] != "t" else {
            guard let user = example.userID, rule.division?.isHeldOut(user) == true else { return nil }
            return "the user is in the holdout (control) group"
        }
        switch audience.selection {
        case .users(let path): return "\(path) does not name this user"
        case .usersSQL: return "users_sql does not name this user"
        case .tokens(let path): return "\(path) does not name its token"
        case .topic(let name): return "it is not subscribed to \(name); its topics: \(topics(row[10]))"
        case .condition(let text): return "its topics do not meet \(text): \(topics(row[10]))"
        default: return "it is not in the audience"
        }
    }

    /// Returns which filter a device does not pass: that on its permission, else that on what it presents.
    private func permission(_ permission: String, presents: String?, _ audience: AudienceDefinition) -> String {
        if let permissions = audience.permissions?.map(\.rawValue), !permissions.contains(permission) {
            return "its permission is \(permission), the rule is for \(permissions.joined(separator: ", "))"
        }
        let needed = (audience.presents ?? []).map(\.rawValue).joined(separator: ", ")
        guard let presents else { return "it did not say what it presents, the rule needs \(needed)" }
        return "it presents \(presents), the rule needs \(needed)"
    }

    private func topics(_ names: String?) -> String {
        names.flatMap { $0.isEmpty ? nil : $0 } ?? "none"
    }
}
