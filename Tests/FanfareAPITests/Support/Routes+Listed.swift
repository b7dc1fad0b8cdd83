import FanfareMetrics
import FanfareService
import FanfareTools

@testable import APIKit
@testable import FanfareAPI
@testable import FanfareHTTP

extension Routes {
    /// All routes of the API; their state reads no database before the first request.
    static var listed: [Route] {
        get throws {
            let database = try ToolDatabase(APIWorld.configuration(url: "postgresql:///none"), environment: [:])
            return all(APIState(database, gate: database, reports: ReportCounters(MetricsRegistry(), kinds: [])))
        }
    }
}
