internal import FanfareCore
internal import FanfareDaemon
internal import FanfareHTTP
internal import FanfareTools
internal import HTTPTypes

extension Routes {
    /// The routes of apps.
    static let apps: [Route] = [
        Route(.get, "/v1/apps/{app}", .reader) { call in
            let daemon = call.context.daemon
            let app = try AppDescription(
                call.name("app"),
                in: daemon.configuration(),
                environment: daemon.environment
            )
            return Answer(app.json)
        }
    ]
}
