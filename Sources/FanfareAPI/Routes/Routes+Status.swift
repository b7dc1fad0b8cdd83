internal import FanfareCore
internal import FanfareTools
internal import HTTPTypes

extension Routes {
    /// What all daemons of the database do.
    static let status: [Route] = [
        Route(.get, "/v1/status", .reader) { call in Answer(try await call.database.status().json) }
    ]
}
