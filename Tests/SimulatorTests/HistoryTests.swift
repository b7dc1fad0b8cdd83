import TestKit
import Testing

/// Tests that the simulator's rows behave like PostgreSQL's.
///
/// Random histories of the daemon's statements return the same results and end in the same rows on the model and on a
/// server. A failure names its seed.
@Suite(.database, .serialized)
struct HistoryTests {
    @Test(arguments: Soak.seeds(6, soak: 300))
    func theModelDoesWhatTheStatementsDo(seed: UInt64) throws {
        try History(seed: seed, database: .current).run(steps: 120)
    }
}
