internal import FanfareCore
internal import FanfareHTTP
internal import FanfareTools
internal import HTTPTypes

extension Routes {
    /// The route of the state of all daemons.
    static let status: [Route] = [
        Route(.get, "/v1/status", .reader) { call in Answer(try await call.database.status().json) }
    ]
}
