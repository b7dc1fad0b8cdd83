internal import FanfareCore
internal import FanfareDaemon
internal import FanfareHTTP
internal import FanfareService
internal import FanfareTools
internal import HTTPTypes

extension Routes {
    /// Returns the routes for probes: health, readiness and metrics.
    static func health(_ readiness: ReadinessCheck) -> [Route] {
        [
            // Checks nothing outside the process: a restart would not fix it.
            Route(.get, "/livez", nil) { _ in Answer(["status": "ok"]) },
            Route(.get, "/readyz", nil) { call in
                let database = await readiness.isDatabaseThere()
                let daemon = call.context.daemon.readiness()
                // An open breaker is reported but does not count: events are still accepted, and sent later.
                let isReady = database && daemon.holdsLease && daemon.isListening
                var answer = Answer(
                    isReady ? .ok : .serviceUnavailable,
                    [
                        "status": isReady ? "ok" : "unavailable", "database": .bool(database),
                        "lease": .bool(daemon.holdsLease), "listen": .bool(daemon.isListening),
                        "open_breakers": .array(daemon.openBreakers.map { .string($0) }),
                    ]
                )
                if !isReady { answer.headers[.retryAfter] = "1" }
                return answer
            },
        ]
    }
}
