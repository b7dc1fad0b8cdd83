package import PostgresClient

/// Plans a set of events if apps have rates, and cuts batches to the rates; otherwise as ``PlanRound``.
///
/// It is a separate statement, since reading rates would make a lone event a twentieth slower even if there are none.
package struct PlanPacedRound: PostgresStatement {
    package static let name = "plan_paced_round"
    package static let sql = planRoundSQL(
        taking: OutboxQuery.takeSQL(where: "NOT EXISTS (SELECT FROM unjudged)"),
        batchSize: "$6::int",
        isOfOutbox: true
    )

    package let round: PlanRound

    package init(round: PlanRound) {
        self.round = round
    }

    package func bind(to binds: inout PostgresBinds) {
        round.bind(to: &binds)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> PlanRoundPart {
        try PlanRoundPart.decode(row)
    }
}

/// Plans a set of chosen events; otherwise as ``PlanPacedRound``.
package struct PlanChosen: PostgresStatement {
    package static let name = "plan_chosen"
    package static let sql = planRoundSQL(
        taking: OutboxQuery.takeSQL(where: OutboxChoice.condition(parametersFrom: 10)),
        batchSize: "$6::int",
        isOfOutbox: true
    )

    package let round: PlanRound
    package let choice: OutboxChoice

    package init(round: PlanRound, choice: OutboxChoice) {
        self.round = round
        self.choice = choice
    }

    package func bind(to binds: inout PostgresBinds) {
        round.bind(to: &binds)
        binds.append(choice)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> PlanRoundPart {
        try PlanRoundPart.decode(row)
    }
}
