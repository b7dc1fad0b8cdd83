import PostgresClient
import Threading

/// A session that is opened again while the server restarts.
struct PatientSession {
    let url: String
    private var connection: PostgresConnection?

    init(url: String) { self.url = url }

    /// Runs a query until the server answers, and returns its first value.
    ///
    /// - Parameter query: returns the query by the time of the attempt, in nanoseconds of CLOCK_MONOTONIC.
    mutating func run(_ query: (UInt64) -> String) throws -> String? {
        let patience = ContinuousClock.now + .seconds(30)
        while true {
            do {
                let open = try connection ?? .open(PostgresOptions(url: url, applicationName: "fault suite"))
                connection = open
                return try open.query(query(monotonicNanoseconds())).rows[0][0]
            } catch {
                connection = nil
                guard ContinuousClock.now < patience else { throw error }
            }
        }
    }
}
