internal import FanfareCore
internal import FanfareDaemon
internal import FanfareHTTP
internal import FanfareMetrics
internal import FanfareTools
internal import HTTPTypes

extension Routes {
    /// Returns the routes of documents about this API.
    static func documents(_ figures: DaemonFigures) -> [Route] {
        [
            Route(.get, "/v1/openapi.json", nil) { _ in
                Answer(.ok, PackageResources.openapi_json, type: "application/json")
            },
            Route(.get, "/metrics", nil) { call in
                let daemon = call.context.daemon
                let counted = (daemon.metrics as? MetricsRegistry)?.snapshot.families ?? []
                let looked = await figures.families(daemon) + ProcessFigures.families()
                let isOpen = call.headers[.accept]?.contains("application/openmetrics-text") == true
                let format = isOpen ? Exposition.openMetrics : .prometheus
                return Answer(.ok, Array(format.text(counted + looked).utf8), type: format.contentType)
            },
        ]
    }
}
