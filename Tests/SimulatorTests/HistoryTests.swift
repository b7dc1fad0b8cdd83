import TestKit
import Testing

/// The simulator's rows are what PostgreSQL's would be.
///
/// Random histories of the daemon's statements end in the same rows, and are answered the same, on the model and on a
/// server. A failure names its seed.
@Suite(.database, .serialized)
struct HistoryTests {
    @Test(arguments: Soak.seeds(6, soak: 300))
    func theModelDoesWhatTheStatementsDo(seed: UInt64) throws {
        try History(seed: seed, database: .current).run(steps: 120)
    }
}
