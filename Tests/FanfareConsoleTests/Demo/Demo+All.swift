@testable import FanfareConsoleView

extension Demo {
    /// Each page: its name, its template and its context.
    static var all: [(name: String, template: String, context: any ViewContext)] {
        [
            ("overview", "overview", overview), ("overview-well", "overview", overviewWell),
            ("events", "events", events), ("events-empty", "events", eventsEmpty), ("event", "event", event),
            ("upcoming", "upcoming", upcoming),
            ("person", "person", person), ("people", "person", personAsked),
            ("campaigns", "campaigns", campaigns), ("campaign", "campaign", campaign),
            ("devices", "devices", devices), ("device", "device", oneDevice), ("rules", "rules", rules),
            ("rule", "rule", rule),
            ("providers", "providers", providers), ("confirm", "confirm", confirm),
            ("confirm-abort", "confirm", confirmAbort), ("login", "login", login),
            ("find", "find", find), ("find-nothing", "find", findNothing), ("error", "error", error),
        ]
    }
}
