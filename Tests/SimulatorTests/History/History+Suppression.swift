import FanfareCore
import PostgresClient
import Testing

@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// The statements about suppressions and gates.
extension History {
    /// The rule with a gate of its own.
    static let gatedRule: Int32 = 5
    private static let gate: Int32 = 1

    /// Creates the initial rows, as in ``RealRows``.
    func beginSuppression() {
        rows.policy = Rows.Policy(
            hours: Rows.Hours(from: "23:30", until: "00:01", isHeld: true),
            caps: [
                Rows.Cap(name: "few", count: 2, period: Micros.minute, since: 0),
                Rows.Cap(name: "rare", count: 3, period: 5 * Micros.minute, since: 0),
            ]
        )
        rows.gates[Self.gate] = Rows.GateRow()
        rows.ruleGates[Self.gatedRule] = Self.gate
    }

    func claimGated() throws {
        lastName = "claim gated"
        token += 1
        let requests = requests(behind: 0) + requests(behind: Self.gate)
        let statement = ClaimGated(requests: requests, owner: Int32(chance.number(1...3)), leaseToken: token)
        let (mine, theirs) = (rows.apply(statement), try real.connection.run(statement))
        #expect(
            mine.map { "\($0.gate) \($0.deviceIDs)" }.sorted() == theirs.map { "\($0.gate) \($0.deviceIDs)" }.sorted()
        )
    }

    /// Opens, closes, pauses or aborts a gate; the rest of an aborted gate is swept.
    func changeGate() throws {
        lastName = "change gate"
        let state = [Gate.State.open, .open, .held, .aborting][chance.number(0...3)]
        let gate = Rows.GateRow(state: state, isPaused: chance.happens(0.2))
        rows.gates[Self.gate] = gate
        let update = "UPDATE fanfare.gates SET state = $1, is_paused = $2::boolean"
        _ = try real.connection.query(update, state.rawValue, "\(gate.isPaused)")
        let theirs = try real.connection.run(LiveGates()).first
        #expect(theirs?.isOpen == rows.isOpen(Self.gate))
        let sweep = SweepGate(gate: Self.gate)
        #expect(try rows.apply(sweep) == real.connection.run(sweep).first)
    }

    func checkSuppression() throws {
        lastName = "look at suppressions"
        let look = FetchSuppressions(
            deviceIDs: rows.devices.keys.sorted(),
            target: 1,
            category: nil,
            now: Timestamp(microseconds: rows.now + chance.time(0...24 * Self.hour)),
            goesByApp: chance.happens(0.7),
            hours: nil
        )
        func text(_ found: [SuppressionRow]) -> [String] {
            found.map { "\($0.position) \($0.isHeld) \($0.quietUntil?.microseconds ?? 0)" }.sorted()
        }
        #expect(try text(rows.apply(look)) == text(real.connection.run(look)))
    }

    func takeCaps() throws {
        lastName = "take caps"
        let users = (0...3).filter { _ in chance.happens(0.6) }.map { "user-\($0)" }
        let take = TakeCaps(
            target: 1,
            caps: [["few"], ["rare"], ["few", "rare"], ["unknown"]][chance.number(0...3)],
            users: users,
            events: users.map { _ in Int64(chance.number(1...6)) },
            now: Timestamp(microseconds: rows.now + Microseconds(token) * 7 * Micros.second),
            isRetry: chance.happens(0.4)
        )
        #expect(try rows.apply(take).sorted() == real.connection.run(take).sorted())
        let sql = "SELECT user_id || ' ' || grants::text FROM fanfare.cap_grants"
        let theirs = try real.connection.query(sql).rows.compactMap { $0.first.flatMap { $0 } }.sorted()
        let mine = rows.grants.map { user, grants in
            let list = grants.flatMap { [$0.event, ($0.at / 1000) << 16 | Int64($0.bits)] }
            return "\(user) {\(list.map(String.init).joined(separator: ","))}"
        }
        #expect(mine.sorted() == theirs)
    }
}
