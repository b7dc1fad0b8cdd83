internal import FanfareCore

/// Checks the required fields of a Live Activity payload (Apple, "Starting and updating Live Activities with
/// ActivityKit push notifications").
struct LiveActivityCheck {
    private let aps: ContentNode?
    private let audience: AudienceDefinition

    /// Creates a check of the `aps` object of a rule's payload.
    init(_ aps: ContentNode?, audience: AudienceDefinition) {
        self.aps = aps
        self.audience = audience
    }

    /// The first error with its fix; nil if there is none that shows without an event.
    var fault: (reason: String, hint: String)? {
        for key in ["timestamp", "event"] where aps?[key] == nil {
            return ("aps has no \(key)", "add aps.\(key)" + (key == "timestamp" ? ": \"{{event.time}}\"" : ""))
        }
        guard let event = aps?["event"]?.literalValue else { return nil }
        switch event {
        case "start": return startError
        case "update", "end": return changeError(event)
        default: return ("aps.event is not start, update or end", "write one of them")
        }
    }

    private var startError: (reason: String, hint: String)? {
        if audience.isChannel { return ("a broadcast cannot start an activity", "use update or end") }
        if audience.kind == .liveActivity {
            return ("an update token cannot start an activity", "use to.kind: live_activity_start")
        }
        for key in ["content-state", "attributes-type", "attributes", "alert"] where aps?[key] == nil {
            return ("aps has no \(key), which start needs", "add aps.\(key)")
        }
        return dismissalError
    }

    private func changeError(_ event: JSONValue) -> (reason: String, hint: String)? {
        if audience.kind == .liveActivityStart {
            return ("a push-to-start token only starts activities", "use event: start, or to.kind: live_activity")
        }
        for key in ["attributes-type", "attributes", "input-push-token", "input-push-channel"] where aps?[key] != nil {
            return ("aps.\(key) goes with start only", "remove it")
        }
        if event == "end" { return nil }
        if aps?["content-state"] == nil { return ("aps has no content-state", "add aps.content-state") }
        return dismissalError
    }

    private var dismissalError: (reason: String, hint: String)? {
        aps?["dismissal-date"] == nil ? nil : ("aps.dismissal-date goes with end only", "remove it, or use event: end")
    }
}
