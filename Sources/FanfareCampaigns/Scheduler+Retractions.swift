internal import FanfareCore
internal import FanfareLogging
internal import FanfareProviders
internal import FanfareStages
internal import FanfareStore
internal import Logging
internal import PostgresClient
internal import Threading

extension Scheduler {
    /// How many sets are worked on before campaigns are checked again.
    private static let sets = 5

    /// Takes events back: finds the devices that accepted them, and queues the silent pushes that are due.
    ///
    /// - Parameters:
    ///   - connection: a connection outside a transaction.
    ///   - now: the database's time.
    /// - Returns: the time until the next work is due, in microseconds, at most one second.
    /// - Throws: errors of the server.
    func takeBack(on connection: PostgresConnection, at now: Timestamp) throws(PostgresError) -> Microseconds {
        try repeatWhileDue(SQL.nextRetraction(), at: now, atMost: Self.sets, on: connection) {
            connection throws(PostgresError) in
            let found = try connection.run(SQL.findByValue(now)).first ?? 0
            let retractions = try noteRetracted(on: connection, at: now)
            let batchSize = Int32(context.settings.batchSize)
            let devices = try connection.run(SQL.sendRetractions(now, batchSize)).first ?? 0
            if devices > 0 {
                claimer.ring()
                context.logger.debug("silent pushes take back", metadata: .init([.count: "\(devices)"]))
            }
            // If there was no work, the due rows are locked by another daemon, or wait for deliveries in flight.
            return found + Int64(retractions) + devices > 0
        }
    }

    /// Notes the identifiers of some due retractions with the devices that accepted their events.
    ///
    /// - Returns: how many retractions were worked on.
    private func noteRetracted(on connection: PostgresConnection, at now: Timestamp) throws(PostgresError) -> Int {
        try connection.transaction { connection throws(PostgresError) in
            let due = try connection.run(SQL.lockRetractions(now))
            guard !due.isEmpty else { return 0 }
            let ids = try identifiers(of: try connection.run(SQL.retractionMatches(due)), on: connection)
            let statement = SQL.noteRetracted(
                due,
                ids.map(\.match.retraction),
                ids.map(\.match.ruleVersion),
                ids.map(\.id.id),
                ids.map(\.id.topic),
                now
            )
            _ = try connection.run(statement)
            return due.count
        }
    }

    /// Renders the identifiers of retracted events, without those that cannot be rendered: no push of them was sent.
    private func identifiers(
        of matches: [RetractionMatch],
        on connection: PostgresConnection
    ) throws(PostgresError) -> [(match: RetractionMatch, id: CollapseID.Sent)] {
        let rules = try self.rules.load(Set(matches.map(\.ruleVersion)), from: connection)
        return matches.compactMap { match in
            let id = try? rules[match.ruleVersion]?.compiled.collapseID(match.renderContext)
            return id.map { (match, $0) }
        }
    }
}

extension RetractionMatch {
    /// The values that templates can use.
    fileprivate var renderContext: RenderContext {
        RenderContext(
            eventID: EventID(rawValue: eventID),
            eventType: eventType,
            eventKey: eventKey,
            payload: (try? JSONValue(parsing: payload))?.objectValue ?? JSONObject(),
            time: eventTime,
            replayOf: replayOf
        )
    }
}
