internal import FanfareHTTP

/// All routes of the API.
enum Routes {
    /// Returns the routes in the order of the documentation.
    static func all(_ state: APIState) -> [Route] {
        health(state.readiness) + documents(state.figures) + apps + events + devices + users + why + rules + campaigns
            + status + tail(state.tail)
    }

    /// Returns the routes of `api.health_listen`.
    static func forProbes(_ state: APIState) -> [Route] {
        (health(state.readiness) + documents(state.figures)).filter {
            ["/livez", "/readyz", "/metrics"].contains($0.path)
        }
    }
}
