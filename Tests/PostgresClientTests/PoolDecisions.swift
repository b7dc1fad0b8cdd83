import Testing

@testable import PostgresClient

private let poolStart = ContinuousClock.now

/// The helpers for tests of a pool's decisions: times in seconds, and names for sessions and callers.
protocol PoolDecisions {}

extension PoolDecisions {
    func machine(
        _ connections: Int = 2,
        idle: Duration? = .seconds(60),
        maximum: Duration? = .seconds(600)
    ) -> PoolStateMachine {
        PoolStateMachine(
            PostgresPoolOptions(
                connections: connections,
                idleLifetime: idle,
                maximumLifetime: maximum,
                closeTimeout: .seconds(5),
                cancelTimeout: .seconds(2)
            )
        )
    }

    func at(_ seconds: Double) -> PoolStateMachine.Instant { poolStart + .milliseconds(Int(seconds * 1000)) }

    func session(_ number: Int) -> PoolStateMachine.SessionID { PoolStateMachine.SessionID(number: number) }

    func caller(_ number: Int) -> PoolStateMachine.RequestID { PoolStateMachine.RequestID(number: number) }

    /// Returns a machine whose first caller has session 1.
    func leased(_ connections: Int = 1) -> PoolStateMachine {
        var machine = machine(connections)
        _ = machine.request(until: nil, at: at(0))
        #expect(machine.opened(session(1), at: at(0)) == [.lease(session(1), caller(1))])
        return machine
    }
}

extension PoolStateMachine {
    /// Adds another caller, which waits without a time limit.
    mutating func ask(at now: Instant) -> [Action] { request(until: nil, at: now).actions }
}
