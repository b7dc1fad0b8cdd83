internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareLogging
internal import FanfareProviders
internal import FanfareStages
internal import FanfareStore
internal import Logging
internal import PostgresClient
internal import Threading

/// Plans what a round could not: audiences that are rendered, walked slice by slice, made of tokens, or kept by a
/// provider, and the newest event of rules that supersede.
///
/// Events for an audience by query are left to ``QueryRunner``.
///
/// Runs in the round's transaction.
struct AudiencePlanner {
    /// Subscriptions of a topic that are planned with the round; larger topics go on in slices.
    private static let firstSlice = 1000

    let context: StageContext
    /// How long templates of a round's audiences may take: the transaction is open meanwhile.
    var patience = Micros.second

    /// Plans the rest of a round.
    ///
    /// - Parameters:
    ///   - matches: rules that took events, as the round gave them.
    ///   - connection: in the round's transaction.
    /// - Returns: batches made and plans opened.
    /// - Throws: what the database says.
    func plan(_ matches: [DeferredMatch], on connection: PostgresConnection) throws(PostgresError) -> PlannedCounts {
        guard !matches.isEmpty else { return PlannedCounts() }
        let rules = try context.rules.load(Set(matches.map(\.ruleVersion)), from: connection)
        var work = AudienceWork()
        let began = Clocks.steady
        for match in matches {
            guard Clocks.steady - began < patience else { throw .renderingTooLong }
            guard let rule = rules[match.ruleVersion] else {
                // Checked by a newer daemon while this one is still running: nobody will plan it again, so it must show.
                let problem = "rule version \(match.ruleVersion): the daemon that planned this event is too old for it"
                try note(problem, of: match, on: connection)
                continue
            }
            do throws(RenderProblem) {
                try work.add(match, rule: rule)
            } catch {
                try note("rule \(rule.compiled.definition.name): \(error)", of: match, on: connection)
            }
        }
        return try carryOut(work, on: connection)
    }

    /// Notes with the event why a rule that took it made no batches.
    private func note(
        _ problem: String,
        of match: DeferredMatch,
        on connection: PostgresConnection
    ) throws(PostgresError) {
        _ = try connection.runReturningCount(NotePlanProblem(eventID: match.eventID, problem: problem))
        context.logger.notice(
            "a rule matched an event and could not be planned for it",
            metadata: .about(match.eventID, ofTrace: match.traceID, [.detail: "\(problem)"])
        )
    }

    private func carryOut(_ work: AudienceWork, on connection: PostgresConnection) throws(PostgresError)
        -> PlannedCounts
    {
        var counts = PlannedCounts()
        if !work.newest.isEmpty {
            let statement = NoteNewest(keys: work.newest.map(\.key), eventIDs: work.newest.map(\.eventID))
            _ = try connection.runReturningCount(statement)
        }
        if !work.gathered.isEmpty {
            let now = Timestamp(microseconds: context.lease.databaseNow)
            _ = try connection.runReturningCount(GatherEvents(work.gathered, now: now))
        }
        if !work.topics.isEmpty {
            let statement = PlanTopics(
                eventIDs: work.topics.map(\.match.eventID),
                ruleVersions: work.topics.map(\.match.ruleVersion),
                topics: work.topics.map(\.topic),
                firstSlice: Self.firstSlice,
                batchSize: context.settings.batchSize
            )
            for planned in try connection.run(statement) { counts += planned }
        }
        if !work.conditions.isEmpty { counts += try openPlans(work.conditions, on: connection) }
        for match in work.staged { counts.plans += try openStaged(match, on: connection) }
        // In the same order in every daemon: two that register the same tokens wait for each other, and not in a ring.
        let tokens = Dictionary(grouping: work.tokens) { $0.onlyUser.map { ExactText($0) } }
            .sorted { ($0.key?.text ?? "") < ($1.key?.text ?? "") }
        for (user, matches) in tokens {
            counts += try planTokens(matches, of: user?.text, on: connection)
        }
        if !work.queries.isEmpty {
            let statement = OpenQueries(
                eventIDs: work.queries.map(\.eventID),
                ruleVersions: work.queries.map(\.ruleVersion)
            )
            counts.queries += try connection.runReturningCount(statement)
        }
        if !work.native.isEmpty {
            let statement = PlanNative(
                eventIDs: work.native.map(\.eventID),
                ruleVersions: work.native.map(\.ruleVersion),
                batchSize: context.settings.batchSize
            )
            for planned in try connection.run(statement) { counts += planned }
        }
        return counts
    }

    private func openPlans(
        _ wanted: [(match: DeferredMatch, clauses: [TopicClause])],
        on connection: PostgresConnection
    ) throws(PostgresError) -> PlannedCounts {
        let names = Set(wanted.flatMap { $0.clauses.flatMap { $0.positive + $0.negative } })
        var ids: [String: Int32] = [:]
        for topic in try connection.run(TopicIDs(names: names.sorted())) { ids[topic.name] = topic.id }
        var counts = PlannedCounts()
        for (match, clauses) in wanted {
            // A topic that nobody ever subscribed to matches nobody where it is wanted, and excludes nobody elsewhere.
            let known = clauses.filter { $0.positive.allSatisfy { ids[$0] != nil } }.map { clause in
                PlannedClause(all: clause.positive.compactMap { ids[$0] }, none: clause.negative.compactMap { ids[$0] })
            }
            guard !known.isEmpty else { continue }
            if let user = match.onlyUser {
                let statement = PlanForUser(
                    eventID: match.eventID,
                    ruleVersion: match.ruleVersion,
                    user: user,
                    clauses: known,
                    batchSize: context.settings.batchSize
                )
                for planned in try connection.run(statement) { counts += planned }
                continue
            }
            counts.plans += try connection.runReturningCount(
                OpenPlan(eventID: match.eventID, ruleVersion: match.ruleVersion, clauses: known)
            )
        }
        return counts
    }

    /// Whom it reaches was stored with the event, by whoever read the campaign's query; for an event that came otherwise nobody did.
    private func openStaged(_ match: DeferredMatch, on connection: PostgresConnection) throws(PostgresError) -> Int {
        let plan = OpenPlan(eventID: match.eventID, ruleVersion: match.ruleVersion, clauses: [])
        let opened = try connection.runReturningCount(plan)
        if opened == 0 {
            try note("the campaign has a query: start it by fanfare.start_campaign", of: match, on: connection)
        }
        return opened
    }

    private func planTokens(
        _ matches: [DeferredMatch],
        of user: String?,
        on connection: PostgresConnection
    ) throws(PostgresError) -> PlannedCounts {
        var events: [Int64] = []
        var versions: [Int32] = []
        var devices: [Int64] = []
        for match in matches {
            let named = try connection.run(RegisterTokens(ruleVersion: match.ruleVersion, event: match.event))
            let held = named.compactMap(\.self)
            if held.count < named.count { warn(of: named.count - held.count, in: match) }
            events += Array(repeating: match.eventID, count: held.count)
            versions += Array(repeating: match.ruleVersion, count: held.count)
            devices += held
        }
        let statement = PlanDevices(
            eventIDs: events,
            ruleVersions: versions,
            deviceIDs: devices,
            onlyUser: user,
            batchSize: context.settings.batchSize
        )
        var counts = PlannedCounts()
        for planned in try connection.run(statement) { counts += planned }
        return counts
    }
}

extension AudiencePlanner {
    /// Nobody else would ever tell that these devices got nothing.
    private func warn(of unusable: Int, in match: DeferredMatch) {
        context.logger.warning(
            "an event names invalid tokens or unregistered subscriptions; they get no push",
            metadata: .about(match.eventID, ofTrace: match.traceID, [.count: "\(unusable)"])
        )
    }
}

/// What is to be done for a round's deferred matches, by kind.
private struct AudienceWork {
    var newest: [(key: Int64, eventID: Int64)] = []
    var gathered: [GatheredEvent] = []
    var topics: [(match: DeferredMatch, topic: String)] = []
    var conditions: [(match: DeferredMatch, clauses: [TopicClause])] = []
    var tokens: [DeferredMatch] = []
    var native: [DeferredMatch] = []
    var queries: [DeferredMatch] = []
    var staged: [DeferredMatch] = []

    mutating func add(_ match: DeferredMatch, rule: LoadedRule) throws(RenderProblem) {
        let event = match.renderContext
        if rule.isGatherer {
            // What it is gathered with is for others too.
            if match.onlyUser != nil { throw .gatheredForOneUser }
            // What else the rule says is for what is made of them.
            guard let key = try rule.compiled.digestKey(event), let pace = rule.compiled.definition.digest?.pace
            else { return }
            return gathered.append(
                GatheredEvent(eventID: match.eventID, ruleID: rule.ruleID, key: key, pace: pace)
            )
        }
        // What is replayed for one user takes nobody else's place.
        if match.onlyUser == nil, let key = try rule.compiled.collapseKey(ruleID: Int64(rule.ruleID), event) {
            newest.append((key.rawValue, match.eventID))
        }
        switch rule.compiled.audience {
        case .users: break
        case .usersSQL: queries.append(match)
        case .tokens: tokens.append(match)
        case .topic:
            guard let name = try rule.compiled.audience.topicName(event) else { break }
            // A campaign's is walked altogether: a first slice at once would know nothing of recipients' time. And of one user's devices
            // there is nothing to walk.
            if RuleNames.isOfCampaign(rule.compiled.definition.name) || match.onlyUser != nil {
                conditions.append((match, [TopicClause(positive: [name], negative: [])]))
            } else {
                topics.append((match, name))
            }
        case .condition(let condition): conditions.append((match, try condition.clauses(event)))
        case .everyone: conditions.append((match, [TopicClause(positive: [], negative: [])]))
        case .staged: staged.append(match)
        case .native(let audience):
            if match.onlyUser != nil { throw .notForOneUser }
            // Rendered again when it is sent; here only so that an event without a target is refused where it shows.
            _ = try audience.target(event)
            native.append(match)
        }
    }
}

extension DeferredMatch {
    /// Whom it is replayed for; nil for all whom the rule reaches.
    fileprivate var onlyUser: String? {
        // Hardly any has one, and none is read twice for that.
        guard event.contains(#""only_user":"#) else { return nil }
        return (try? JSONValue(parsing: event))?["only_user"]?.stringValue
    }

    /// What templates may name.
    ///
    /// A payload that is no object was refused before any rule saw it.
    var renderContext: RenderContext {
        let event = (try? JSONValue(parsing: event)) ?? .null
        return RenderContext(
            eventID: EventID(rawValue: eventID),
            eventType: event["type"]?.stringValue ?? "",
            eventKey: event["key"]?.stringValue,
            payload: event["payload"]?.objectValue ?? JSONObject(),
            replayOf: event["replay_of"]?.numberValue?.integer
        )
    }
}

extension PostgresError {
    /// As a statement that ran into its time-out: smaller sets are tried, and an event that is alone is quarantined.
    fileprivate static let renderingTooLong = PostgresError(
        .cancelled,
        sqlState: "57014",
        message: "rendering what the rules say of audiences took too long"
    )
}

extension PlannedCounts {
    static func += (sum: inout PlannedCounts, other: PlannedCounts) {
        sum.batches += other.batches
        sum.plans += other.plans
        sum.queries += other.queries
    }
}
