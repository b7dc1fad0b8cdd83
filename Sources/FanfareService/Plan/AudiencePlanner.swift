internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareLogging
internal import FanfareProviders
internal import FanfareStages
internal import FanfareStore
internal import Logging
internal import PostgresClient
internal import Threading

/// Plans the matches that a planning round leaves open: audiences that are rendered, sliced, made of tokens or managed
/// by a provider, and the newest event of rules with a collapse key.
///
/// Audiences by query are left to ``QueryRunner``. All statements run in the round's transaction.
struct AudiencePlanner {
    /// The number of a topic's subscriptions that are planned in the round; larger topics continue in slices.
    private static let firstSlice: Int32 = 1000

    let context: StageContext
    let rules: RuleCache
    /// The time limit for rendering a round's audiences; the transaction is open meanwhile.
    var patience = Micros.second

    private var batchSize: Int32 { Int32(context.settings.batchSize) }

    /// Plans the matches that a round left open.
    ///
    /// - Parameters:
    ///   - matches: the deferred matches that the round returned.
    ///   - connection: a connection in the round's transaction.
    /// - Returns: the numbers of batches, plans and queries created.
    /// - Throws: errors of the server.
    func plan(_ matches: [DeferredMatch], on connection: PostgresConnection) throws(PostgresError) -> PlannedCounts {
        guard !matches.isEmpty else { return PlannedCounts() }
        let rules = try self.rules.load(Set(matches.map(\.ruleVersion)), from: connection)
        var work = AudienceWork()
        let began = Clocks.steady
        for match in matches {
            guard Clocks.steady - began < patience else { throw .renderingTooLong }
            guard let rule = rules[match.ruleVersion] else {
                // A newer daemon checked this version while this one still runs. The match is not planned again, so the
                // reason is stored.
                let problem = "rule version \(match.ruleVersion): the daemon that planned this event is too old for it"
                try note(problem, of: match, on: connection)
                continue
            }
            do throws(RenderProblem) {
                try work.add(match, rule: rule)
            } catch {
                try note(rule.planProblem(error), of: match, on: connection)
            }
        }
        return try carryOut(work, on: connection)
    }

    /// Stores with the event why a rule that matched it made no batches, and logs it.
    private func note(
        _ problem: String,
        of match: DeferredMatch,
        on connection: PostgresConnection
    ) throws(PostgresError) {
        _ = try connection.runReturningCount(SQL.notePlanProblem(match.eventID, problem))
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
            let statement = SQL.noteNewest(work.newest.map(\.key), work.newest.map(\.eventID))
            _ = try connection.runReturningCount(statement)
        }
        if !work.gathered.isEmpty {
            let now = Timestamp(microseconds: context.lease.databaseNow)
            _ = try connection.runReturningCount(GatherEvents(work.gathered, now: now))
        }
        if !work.topics.isEmpty {
            let statement = SQL.planTopics(
                work.topics.map(\.match.eventID),
                work.topics.map(\.match.ruleVersion),
                work.topics.map(\.topic),
                Self.firstSlice,
                batchSize
            )
            for planned in try connection.run(statement) { counts += planned }
        }
        if !work.conditions.isEmpty { counts += try openPlans(work.conditions, on: connection) }
        for match in work.staged { counts.plans += try openStaged(match, on: connection) }
        // Every daemon uses the same order, so that two daemons that register the same tokens do not deadlock.
        let tokens = Dictionary(grouping: work.tokens) { $0.onlyUser.map { ExactText($0) } }
            .sorted { ($0.key?.text ?? "") < ($1.key?.text ?? "") }
        for (user, matches) in tokens {
            counts += try planTokens(matches, of: user?.text, on: connection)
        }
        if !work.queries.isEmpty {
            let statement = SQL.openQueries(work.queries.map(\.eventID), work.queries.map(\.ruleVersion))
            counts.queries += try connection.runReturningCount(statement)
        }
        if !work.native.isEmpty {
            let (events, versions) = (work.native.map(\.eventID), work.native.map(\.ruleVersion))
            let statement = SQL.planNative(events, versions, batchSize)
            for planned in try connection.run(statement) { counts += planned }
        }
        for match in work.local { counts += try planLocal(match, on: connection) }
        for event in work.localEvents.sorted() { try connection.run(SQL.divideByZone(event, batchSize)) }
        return counts
    }

    /// Plans an event by recipients' own time for the users in its payload, as if a query had returned them: a round plans
    /// users for now.
    private func planLocal(_ match: DeferredMatch, on connection: PostgresConnection) throws(PostgresError)
        -> PlannedCounts
    {
        var counts = PlannedCounts()
        guard let users = try connection.run(SQL.usersInPayload(match.eventID, match.ruleVersion)).first else {
            return counts
        }
        _ = try connection.runReturningCount(SQL.openQueries([match.eventID], [match.ruleVersion]))
        let statement = SQL.planUsers(match.eventID, match.ruleVersion, users, batchSize)
        for planned in try connection.run(statement) { counts += planned }
        return counts
    }

    private func openPlans(
        _ wanted: [(match: DeferredMatch, clauses: [TopicClause])],
        on connection: PostgresConnection
    ) throws(PostgresError) -> PlannedCounts {
        let names = Set(wanted.flatMap { $0.clauses.flatMap { $0.positive + $0.negative } })
        var ids: [String: Int32] = [:]
        for topic in try connection.run(SQL.topicIDs(names.sorted())) { ids[topic.name] = topic.id }
        var counts = PlannedCounts()
        for (match, clauses) in wanted {
            // A topic without any subscription matches no device: a positive use drops its clause, a negative one
            // excludes no device.
            let known = clauses.filter { $0.positive.allSatisfy { ids[$0] != nil } }.map { clause in
                PlannedClause(all: clause.positive.compactMap { ids[$0] }, none: clause.negative.compactMap { ids[$0] })
            }
            guard !known.isEmpty else { continue }
            let json = PlannedClause.json(known)
            if let user = match.onlyUser {
                let statement = SQL.planForUser(match.eventID, match.ruleVersion, user, json, batchSize)
                for planned in try connection.run(statement) { counts += planned }
                continue
            }
            counts.plans += try connection.runReturningCount(SQL.openPlan(match.eventID, match.ruleVersion, json))
        }
        return counts
    }

    /// Opens a plan for the audience that a campaign run stored with its event; other events have no stored audience.
    private func openStaged(_ match: DeferredMatch, on connection: PostgresConnection) throws(PostgresError) -> Int {
        let opened = try connection.runReturningCount(SQL.openPlan(match.eventID, match.ruleVersion, "[]"))
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
            let named = try connection.run(SQL.registerTokens(match.ruleVersion, match.event))
            let held = named.compactMap(\.self)
            if held.count < named.count { warn(of: named.count - held.count, in: match) }
            events += Array(repeating: match.eventID, count: held.count)
            versions += Array(repeating: match.ruleVersion, count: held.count)
            devices += held
        }
        var counts = PlannedCounts()
        let statement = SQL.planDevices(events, versions, devices, batchSize, user)
        for planned in try connection.run(statement) { counts += planned }
        return counts
    }
}

extension AudiencePlanner {
    /// Logs the devices that get no push; nothing else reports them.
    private func warn(of unusable: Int, in match: DeferredMatch) {
        context.logger.warning(
            "an event names invalid tokens or unregistered subscriptions; they get no push",
            metadata: .about(match.eventID, ofTrace: match.traceID, [.count: "\(unusable)"])
        )
    }
}

/// The work for a round's deferred matches, by kind.
private struct AudienceWork {
    var newest: [(key: Int64, eventID: Int64)] = []
    var gathered: [GatheredEvent] = []
    var topics: [(match: DeferredMatch, topic: String)] = []
    var conditions: [(match: DeferredMatch, clauses: [TopicClause])] = []
    var tokens: [DeferredMatch] = []
    var native: [DeferredMatch] = []
    var queries: [DeferredMatch] = []
    var staged: [DeferredMatch] = []
    /// The matches by recipients' own time of rules that find users in the payload.
    var local: [DeferredMatch] = []
    /// All events by recipients' own time.
    var localEvents: Set<Int64> = []

    mutating func add(_ match: DeferredMatch, rule: LoadedRule) throws(RenderProblem) {
        let event = match.renderContext
        if rule.isGatherer {
            // A digest also holds other users' events, so one user's replay cannot be gathered.
            if match.onlyUser != nil { throw .gatheredForOneUser }
            if match.isLocal { throw .gatheredByZone }
            // The rule's other parts apply to the digest's event.
            guard let key = try rule.compiled.digestKey(event), let pace = rule.compiled.definition.digest?.pace
            else { return }
            return gathered.append(
                GatheredEvent(eventID: match.eventID, ruleID: rule.ruleID, key: key, pace: pace)
            )
        }
        // A replay for one user does not supersede events of other users.
        if match.onlyUser == nil, let key = try rule.compiled.collapseKey(ruleID: Int64(rule.ruleID), event) {
            newest.append((key.rawValue, match.eventID))
        }
        if match.isLocal { localEvents.insert(match.eventID) }
        switch rule.compiled.audience {
        case .users: if match.isLocal { local.append(match) }
        case .usersSQL: queries.append(match)
        case .tokens: tokens.append(match)
        case .topic:
            guard let name = try rule.compiled.audience.topicName(event) else { break }
            // A campaign's topic is always expanded in slices, because a first slice in the round would ignore
            // recipients' local time. So is that of an event by recipients' own time. A replay for one user needs no
            // slices.
            if RuleNames.isOfCampaign(rule.compiled.definition.name) || match.onlyUser != nil || match.isLocal {
                conditions.append((match, [TopicClause(positive: [name], negative: [])]))
            } else {
                topics.append((match, name))
            }
        case .condition(let condition): conditions.append((match, try condition.clauses(event)))
        case .everyone: conditions.append((match, [TopicClause(positive: [], negative: [])]))
        case .staged: staged.append(match)
        case .native(let audience):
            if match.onlyUser != nil { throw .notForOneUser }
            // The target is rendered again at send time. Rendering it here rejects an event without a target where the
            // error is visible.
            _ = try audience.target(event)
            native.append(match)
        }
    }
}

extension DeferredMatch {
    /// The user that the event is replayed for; nil for all users that the rule reaches.
    fileprivate var onlyUser: String? {
        // Few events have one; the search avoids parsing the others twice.
        guard event.contains(#""only_user":"#) else { return nil }
        return (try? JSONValue(parsing: event))?["only_user"]?.stringValue
    }

    /// Whether each recipient gets it at the recipient's own time.
    fileprivate var isLocal: Bool {
        guard event.contains(#""wall":"#) else { return false }
        return (try? JSONValue(parsing: event))?["wall"] != nil
    }

    /// The values that templates can use.
    ///
    /// An event whose payload is no object is refused before its rules are matched.
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
    /// Treated like a statement timeout: smaller sets are tried, and a single event is quarantined.
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
