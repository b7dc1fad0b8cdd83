internal import FanfareCore
internal import FanfareLogging
internal import FanfareStore
internal import Logging
internal import PostgresClient

/// Evaluates the experiments of campaigns, and sends the winner to the rest of the audience.
struct ExperimentUpkeep {
    let logger: Logger

    /// Evaluates the experiment that is due, if any.
    ///
    /// - Parameters:
    ///   - connection: a connection outside a transaction.
    ///   - now: the database's time.
    /// - Throws: errors of the server.
    func takeTurn(on connection: PostgresConnection, at now: Timestamp) throws(PostgresError) {
        for due in try due(on: connection, at: now) {
            let decision = ExperimentDecision(due)
            let metadata = Logger.Metadata([
                .app: "\(due.app)", .campaignName: "\(due.campaign)", .eventID: "\(due.eventID)",
                .detail: "\(decision.detail)",
            ])
            let figures = JSONValue.object(decision.figures).text
            guard decision.isFinal else {
                _ = try connection.run(SQL.holdExperiment(due.runID, figures, decision.detail, now))
                logger.warning("the campaign's experiment is not clear; the rest is held", metadata: metadata)
                continue
            }
            if try connection.run(SQL.settleExperiment(due.runID, decision.winner, figures)).first == true {
                logger.notice("the campaign's experiment is decided; sending to the rest", metadata: metadata)
            }
        }
    }
}

extension ExperimentUpkeep {
    /// Reads the experiment that is due, if any.
    ///
    /// If the statement runs into its time limit, nothing is returned, and the next turn tries again.
    private func due(
        on connection: PostgresConnection,
        at now: Timestamp
    ) throws(PostgresError) -> [DueExperiment] {
        do throws(PostgresError) {
            return try connection.run(SQL.experimentsDue(now))
        } catch {
            guard error.isCancelled else { throw error }
            logger.warning("the experiment could not be evaluated in time", metadata: .init([.error: "\(error)"]))
            return []
        }
    }
}

/// What the figures of an experiment lead to.
struct ExperimentDecision: Equatable {
    /// Whether the others get the push now.
    let isFinal: Bool
    /// The variant for the rest of the audience; nil if each user gets the variant that the hash gives them.
    let winner: String?
    /// The verdict as text for operators.
    let detail: String
    /// The verdict with its figures, as it is stored.
    let figures: JSONObject

    init(_ due: DueExperiment) {
        do throws(ExperimentProblem) {
            let arms = try due.variants.indices.map { index throws(ExperimentProblem) in
                try ExperimentArm(
                    name: due.variants[index],
                    share: Double(due.weights[index]),
                    recipients: Int(clamping: due.people[index]),
                    successes: Int(clamping: due.successes[index])
                )
            }
            self.init(try Experiment(arms), takesBest: due.unclear == CampaignExperiment.Fallback.best.rawValue)
        } catch {
            // No recipient waits any more.
            self.init(isFinal: true, winner: nil, detail: error.reason, figures: JSONObject())
        }
    }

    private init(isFinal: Bool, winner: String?, detail: String, figures: JSONObject) {
        self.isFinal = isFinal
        self.winner = winner
        self.detail = detail
        self.figures = figures
    }

    private init(_ experiment: Experiment, takesBest: Bool) {
        let verdict = experiment.verdict
        let best = experiment.arms.dropFirst().reduce(experiment.arms[0]) { $1.count.rate > $0.count.rate ? $1 : $0 }
        let winner: String? =
            switch verdict {
            case .winner(let lead): lead.leader
            case .unclear, .tooSmall: takesBest ? best.name : nil
            // The rates of a broken assignment say nothing.
            case .broken: nil
            }
        let detail = Self.text(experiment.arms, verdict)
        var object = verdict.record
        object["detail"] = .string(detail)
        object["arms"] = .array(
            experiment.arms.map { arm in
                var figures = JSONObject()
                figures["variant"] = .string(arm.name)
                figures["people"] = JSONValue(integerLiteral: Int64(arm.count.recipients))
                figures["successes"] = JSONValue(integerLiteral: Int64(arm.count.successes))
                return .object(figures)
            }
        )
        self.init(isFinal: winner != nil, winner: winner, detail: detail, figures: object)
    }

    /// Returns the sample's figures and the verdict as text for operators.
    private static func text(_ arms: [ExperimentArm], _ verdict: ExperimentVerdict) -> String {
        guard arms.contains(where: { $0.count.recipients > 0 }) else {
            return "no person counts yet; with by: opened, people count once a device of theirs has reported a receipt"
        }
        let figures = arms.map { "\($0.name) \($0.count.successes) of \($0.count.recipients)" }
        return "\(figures.joined(separator: ", ")): \(verdict)"
    }
}
