package import FanfareCore
package import PostgresClient

/// The state of a gate, which holds batches back.
package struct Gate: Hashable, Sendable {
    /// The gate's state apart from being paused.
    package enum State: String, Sendable {
        case open
        case held
        case aborting
    }

    package let id: Int32
    /// The app whose pushes it holds.
    package let app: String
    /// The lane of all batches behind it; nil for any lane.
    package let lane: Lane?
    package let state: State
    package let isPaused: Bool
    /// Whether batches behind it are claimed at a rate.
    package let isPaced: Bool
    /// Whether it is a rule's gate, of which there are many, with no batch behind it: then nothing is claimed there.
    package let isIdle: Bool

    package init(
        id: Int32,
        app: String,
        lane: Lane?,
        state: State = .open,
        isPaused: Bool = false,
        isPaced: Bool = false,
        isIdle: Bool = false
    ) {
        self.id = id
        self.app = app
        self.lane = lane
        self.state = state
        self.isPaused = isPaused
        self.isPaced = isPaced
        self.isIdle = isIdle
    }

    /// Whether batches behind it may be claimed and sent.
    package var isOpen: Bool { state == .open && !isPaused }

    /// The lanes in which batches may wait behind it.
    package var lanes: [Lane] { lane.map { [$0] } ?? Lane.allCases }
}

/// Reads the gates that are not done.
///
/// OFFSET 0 makes PostgreSQL look up the batches of each gate. Otherwise it may read all batches and hash their gates.
package struct LiveGates: PostgresStatement {
    package static let name = "live_gates"
    package static let sql = """
        SELECT g.id, a.name, g.lane, g.state, g.is_paused, g.rate_id IS NOT NULL,
            g.run_id IS NULL
                AND NOT EXISTS (SELECT FROM fanfare.batches AS b WHERE b.lease_token IS NULL AND b.gate_id = g.id OFFSET 0)
        FROM (SELECT * FROM fanfare.gates WHERE state <> 'done' OFFSET 0) AS g
        JOIN fanfare.rules AS r ON r.id = g.rule_id
        JOIN fanfare.apps AS a ON a.id = r.app_id
        ORDER BY g.id
        """

    package init() {}

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Gate {
        let lane = try row.int16(orNil: 2)
        return Gate(
            id: try row.int32(0),
            app: try row.string(1),
            lane: lane.map { Lane(rawValue: $0) ?? .normal },
            // A state that only a newer daemon knows counts as held.
            state: Gate.State(rawValue: try row.string(3)) ?? .held,
            isPaused: try row.bool(4),
            isPaced: try row.bool(5),
            isIdle: try row.bool(6)
        )
    }
}
