/// All routes of the API.
enum Routes {
    /// The routes in the order of the documentation.
    static let all: [Route] =
        health + documents + apps + events + devices + users + why + rules + campaigns + status + tail
    /// The routes of `api.health_listen`.
    static let forProbes = (health + documents).filter { ["/livez", "/readyz", "/metrics"].contains($0.path) }
}
