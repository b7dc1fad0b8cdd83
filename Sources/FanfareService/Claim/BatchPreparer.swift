internal import FanfareCore
internal import FanfareProviders
internal import FanfareSending
internal import FanfareStages
internal import FanfareStore
internal import Logging
internal import PostgresClient
internal import PushTransport
internal import Threading

/// Reads what claimed batches need at send time, and renders them.
struct BatchPreparer {
    let context: StageContext
    let orders: Orders
    let catalog: Catalog
    /// The identities by app name.
    let apps: [String: AppIdentity]
    /// Reads the badge counts of rules with `badge_sql`; nil to send none.
    var badges: BadgeReader?

    /// A batch that is ready to be sent, with the deliveries that are already decided.
    struct Prepared {
        let batch: PreparedBatch
        let decided: [DeliveryResult]
        /// The log lines of the decided deliveries; empty unless all deliveries are logged.
        var lines: [DeliveryLine] = []
    }

    /// Prepares batches.
    ///
    /// - Parameters:
    ///   - claimed: the claimed batches, of targets that this daemon serves.
    ///   - owner: the owner number of the claim.
    ///   - connection: a connection to read events, devices and rules.
    /// - Returns: the prepared batches, without those whose rule version or target is unknown here.
    /// - Throws: errors of the server.
    func prepare(
        _ claimed: [ClaimedBatch],
        owner: Int32,
        on connection: PostgresConnection
    ) throws(PostgresError) -> [Prepared] {
        let (events, devices) = try eventsAndDevices(of: claimed, on: connection)
        return try prepare(claimed, of: events, to: devices, owner: owner, on: connection)
    }

    /// Prepares batches whose events and devices were already read.
    ///
    /// - Parameters:
    ///   - claimed: the claimed batches, of targets that this daemon serves.
    ///   - events: their events, by id.
    ///   - devices: their devices, batch by batch.
    ///   - owner: the owner number of the claim.
    ///   - connection: a connection to read rules, and data that few rules need.
    /// - Returns: the prepared batches, without those whose rule version or target is unknown here.
    /// - Throws: errors of the server.
    func prepare(
        _ claimed: [ClaimedBatch],
        of events: [Int64: EventRow],
        to devices: [DeviceRow],
        owner: Int32,
        on connection: PostgresConnection
    ) throws(PostgresError) -> [Prepared] {
        let (rules, targets) = (
            try catalog.rules.load(Set(claimed.map(\.ruleVersion)), from: connection), catalog.targets.all
        )
        // Nearly always there are none, and no batch asks for them.
        let hasRetractions = events.values.contains { $0.hasRetractions }
        var devices = devices[...]
        var prepared: [Prepared] = []
        for batch in claimed {
            let own = devices.prefix(batch.deviceIDs.count)
            devices = devices.dropFirst(own.count)
            guard let rule = rules[batch.ruleVersion], let target = targets[batch.target] else { continue }
            var fields: [Int64: DeviceContext] = [:]
            let asksForBadges = badges != nil && rule.compiled.definition.badgeSQL != nil
            let caps = rule.compiled.definition.suppressions.caps
            if rule.compiled.needsDevice || asksForBadges || rule.compiled.division != nil {
                for row in try connection.run(FetchDeviceFields(deviceIDs: batch.deviceIDs)) {
                    fields[row.deviceID] = row
                }
            }
            var variables: [Int: JSONObject] = [:]
            if rule.compiled.needsVariables {
                let events = batch.deviceIDs.indices.map { batch.eventID(at: $0) }
                for row in try connection.run(FetchVariables(eventIDs: events, deviceIDs: batch.deviceIDs)) {
                    variables[row.position] = row.variables
                }
            }
            let counts =
                badges?.counts(of: rule, for: Set(fields.values.compactMap { $0.userID.map { ExactText($0) } })) ?? [:]
            for (rule, error) in badges?.takeNews() ?? [] { try connection.run(SQL.storeBadgeFailure(rule, error)) }
            let newest = try newestEvents(rule, events: events, on: connection)
            var drafting = BatchDraft(
                context: context,
                cancels: orders.cancels,
                reports: orders.current.reports,
                batch: batch,
                owner: owner,
                rule: rule,
                target: target,
                otherTarget: catalog.targets.otherEnvironment(of: target),
                app: apps[target.app] ?? AppIdentity(),
                events: events,
                newest: newest,
                fields: fields,
                badges: counts,
                variables: variables,
                suppressions: try suppressions(of: batch, by: rule, for: target.app, on: connection)
            )
            if hasRetractions {
                drafting.leaveOut(try retracted(of: batch, by: rule, on: connection), as: .retracted)
            }
            if !caps.isEmpty {
                let taker = CapTaker(target: batch.target, caps: caps, isRetry: batch.wasTried)
                drafting.leaveOut(try taker.full(drafting.countable(own), on: connection), as: .capped)
            }
            var one = drafting.finish(own)
            one.lines = lines(about: one, events: events, devices: own)
            prepared.append(one)
        }
        return prepared
    }

    /// Returns the positions of a batch's deliveries that were taken back.
    private func retracted(
        of batch: ClaimedBatch,
        by rule: LoadedRule,
        on connection: PostgresConnection
    ) throws(PostgresError) -> [Int] {
        let ids = batch.deviceIDs.indices.map { batch.eventID(at: $0) }
        return try connection.run(SQL.retractedDeliveries(ids, batch.deviceIDs, rule.ruleID)).map { Int($0) }
    }

    /// Reads the suppressions of a batch; runs a query only if its rule or app has any.
    private func suppressions(
        of batch: ClaimedBatch,
        by rule: LoadedRule,
        for app: String,
        on connection: PostgresConnection
    ) throws(PostgresError) -> Suppressions {
        let suppressions = rule.compiled.definition.suppressions
        let orders = orders.current
        guard suppressions.asks(in: batch.queue.lane, isAppQuiet: orders.quiet.contains(app)) else { return .none }
        let said = orders.preferences.version(of: app)
        return try Suppressions(of: batch, by: suppressions, now: context.lease.databaseNow, said: said, on: connection)
    }

    /// Returns the log lines of the decided deliveries; empty unless all deliveries are logged.
    private func lines(
        about one: Prepared,
        events: [Int64: EventRow],
        devices: ArraySlice<DeviceRow>
    ) -> [DeliveryLine] {
        guard !one.decided.isEmpty, context.logsDecisions else { return [] }
        return one.decided.map { result in
            let position = Int(result.position)
            return DeliveryLine(
                batch: one.batch,
                position: position,
                outcome: result.outcome,
                event: events[one.batch.claimed.eventID(at: position)],
                token: devices[devices.startIndex + position].token,
                user: devices[devices.startIndex + position].userID
            )
        }
    }

    /// Reads the events of all batches by id, and their devices batch by batch.
    private func eventsAndDevices(
        of claimed: [ClaimedBatch],
        on connection: PostgresConnection
    ) throws(PostgresError) -> (events: [Int64: EventRow], devices: [DeviceRow]) {
        let wanted = Set(claimed.flatMap { $0.eventID.map { [$0] } ?? $0.eventIDs })
        let days = Dictionary(grouping: wanted) { EventID(rawValue: $0).ringDay }
            .map { FetchEvents(day: Int16($0), eventIDs: $1.sorted()) }
        let ids = claimed.flatMap(\.deviceIDs)
        let (events, rows) =
            if let range = FetchDeviceRange(around: ids) {
                try fetch(days, and: range, on: connection)
            } else {
                try fetch(days, and: FetchDevices(deviceIDs: ids), on: connection)
            }
        return (Dictionary(events.map { ($0.id, $0) }) { first, _ in first }, DeviceRow.align(rows, to: ids))
    }

    /// Reads events and devices; nearly always all events are of one day, and it is one round trip.
    private func fetch<Devices: PostgresStatement>(
        _ days: [FetchEvents],
        and devices: Devices,
        on connection: PostgresConnection
    ) throws(PostgresError) -> (events: [EventRow], devices: [Devices.Row]) {
        guard let last = days.last else { return ([], try connection.run(devices)) }
        var (events, rows) = try connection.run(last, devices)
        for day in days.dropLast() { events += try connection.run(day) }
        return (events, rows)
    }

    /// Returns the newest event of the collapse key of each event; empty unless the rule drops older ones.
    private func newestEvents(
        _ rule: LoadedRule,
        events: [Int64: EventRow],
        on connection: PostgresConnection
    ) throws(PostgresError) -> [Int64: Int64] {
        let definition = rule.compiled.definition
        guard definition.dropsOlder else { return [:] }
        let now = context.lease.databaseNow
        var keys: [Int64: Int64] = [:]
        for row in events.values {
            let event = row.renderContext(ttl: nil, now: now)
            let key = try? rule.compiled.collapseKey(ruleID: Int64(rule.ruleID), event)
            if let key { keys[row.id] = key.rawValue }
        }
        var newest: [Int64: Int64] = [:]
        for row in try connection.run(SQL.newestEvents(Set(keys.values).sorted())) { newest[row.key] = row.eventID }
        return keys.compactMapValues { newest[$0] }
    }
}

extension EventRow {
    /// Returns the values that templates can use.
    ///
    /// - Parameters:
    ///   - ttl: the effective time to live; nil if there is none.
    ///   - begin: the start of the time to live; nil for the time of emit.
    ///   - now: the database's time, in microseconds since 1970.
    ///   - history: the earlier attempts of the deliveries it is rendered for.
    /// - Returns: the context, with an empty payload if the event's is no object.
    func renderContext(
        ttl: Microseconds?,
        from begin: Timestamp? = nil,
        now: Microseconds,
        history: RetryHistory = .none
    ) -> RenderContext {
        let begin = (begin ?? createdAt).microseconds
        return RenderContext(
            eventID: EventID(rawValue: id),
            eventType: type,
            eventKey: key,
            payload: (try? JSONValue(parsing: payload))?.objectValue ?? JSONObject(),
            expiration: ttl.map { Deadline(createdAt: begin, ttl: $0).at / Micros.second },
            now: now / Micros.second,
            time: createdAt.microseconds / Micros.second,
            secondsSpent: history.waits > 0 ? max(now - begin, 0) / Micros.second : 0,
            replayOf: replayOf
        )
    }
}

/// Hands prepared batches to the senders, after announcing them to the recorder.
struct Handover {
    let context: StageContext
    let recorder: Mailbox<RecorderMessage>

    /// Hands over one batch.
    ///
    /// - Parameters:
    ///   - prepared: a batch that this daemon owns in the database.
    ///   - window: the number of slots it holds in the budget for attempted deliveries; 0 unless its rule is
    ///     at-most-once.
    ///   - roster: the pools for which it was rendered.
    func hand(_ prepared: BatchPreparer.Prepared, window: Int = 0, to roster: SenderRoster) {
        // Logged here instead of when they were decided, because a prepared batch may be given back and prepared again.
        for line in prepared.lines { context.logDecision(line) }
        let opened = RecorderMessage.opened(prepared.batch, decided: prepared.decided, window: window)
        // A batch without decided deliveries does not wake the recorder, which would compete with the sender for the
        // processor.
        recorder.put(opened, isUrgent: opened.bringsNews)
        if !prepared.batch.deliveries.isEmpty { roster.send(prepared.batch) }
    }
}
