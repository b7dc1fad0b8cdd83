internal import FanfareCore
internal import FanfareHTTP
internal import FanfareTools
internal import HTTPTypes

extension Routes {
    /// Returns the route of the live stream of events and outcomes.
    static func tail(_ hub: TailHub) -> [Route] {
        [
            Route(.get, "/v1/tail", .reader) { call in
                var filter = LogTail.Filter()
                let known = ["event_id", "type", "user_id", "app", "rule", "outcome"]
                if let unknown = call.query.keys.filter({ !known.contains($0) }).min() {
                    throw Problem(.malformed, "there is no filter “\(unknown)”", hint: "There are \(known).")
                }
                filter.eventID = try call.query["event_id"].map { text in
                    guard let id = Int64(text) else { throw Problem(.malformed, "event_id is not an id") }
                    return id
                }
                (filter.eventType, filter.user) = (call.query["type"], call.query["user_id"])
                (filter.app, filter.rule) = (call.query["app"], call.query["rule"])
                if let outcome = call.query["outcome"] {
                    guard LogTail.Filter.words.contains(outcome) else {
                        throw Problem(
                            .malformed,
                            "there is no outcome “\(outcome)”",
                            hint: "There are \(LogTail.Filter.words)."
                        )
                    }
                    filter.outcomes = [outcome]
                }
                let after = try call.headers[.lastEventID].map { text in
                    guard let place = TailPlace(text) else {
                        throw Problem(.malformed, "Last-Event-ID is not an id of this stream")
                    }
                    return place
                }
                let slot = try call.context.streams.take(call.tokenID ?? 0)
                return Answer(streaming: TailStream(hub: hub, filter: filter, after: after, slot: slot))
            }
        ]
    }
}

extension HTTPField.Name {
    /// The header with the last line that a client received.
    static let lastEventID = known("Last-Event-ID")
}
