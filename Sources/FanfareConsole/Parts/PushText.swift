internal import FanfareConsoleReads
internal import FanfareConsoleView
internal import FanfareRecords
internal import PostgresClient

/// The outcome of a push, as a badge.
enum PushText {
    /// Returns an outcome's badge; red only for outcomes that need an operator.
    ///
    /// - Parameters:
    ///   - outcome: its name in `fanfare.outcome_codes` or in `fanfare.why`.
    ///   - reason: the reason.
    /// - Returns: the badge.
    static func badge(_ outcome: String, _ reason: String? = nil) -> Badge {
        switch outcome {
        case "retrying" where ["quiet_hours", "user_snoozed"].contains(reason): Badge(.quiet, "held")
        case "pending": Badge(.busy, "waiting")
        default: Badge(tone(outcome), words(outcome))
        }
    }

    /// Returns an event's badge.
    ///
    /// - Parameter fate: the fate in `fanfare.events`.
    /// - Returns: the badge.
    static func badge(fate: String) -> Badge { Badge(tone(fate), words(fate)) }

    /// Returns a reason if it adds something to its outcome.
    ///
    /// - Parameters:
    ///   - reason: the reason.
    ///   - outcome: the outcome.
    /// - Returns: the reason; nil if it repeats the outcome.
    static func reason(_ reason: String?, of outcome: String) -> String? {
        let empty: Set<String?> = [
            "accepted", "not_attempted", "answer_awaited", "cancel_requested", "holdout", outcome, "",
        ]
        return empty.contains(reason) ? nil : reason
    }

    /// Returns the colour of an outcome in a bar.
    ///
    /// - Parameter outcome: its name in `fanfare.outcome_codes`.
    /// - Returns: the colour.
    static func kind(_ outcome: String) -> ChartKind {
        switch outcome {
        case "accepted": .accepted
        case "pending", "attempted", "retrying": .retrying
        case "gone": .gone
        case "rejected", "refused", "exhausted", "unknown": .rejected
        default: .own
        }
    }

    /// Returns whether an outcome is a suppression: no request was sent, and none will be.
    ///
    /// - Parameter outcome: its name in `fanfare.outcome_codes`.
    /// - Returns: false if a request was or may be sent.
    static func isKept(_ outcome: String) -> Bool {
        [
            "opted_out", "held_out", "quiet", "capped", "superseded", "disabled", "cancelled", "retracted", "expired",
            "backlog_dropped",
        ].contains(outcome)
    }

    /// Returns whether an outcome is final.
    ///
    /// - Parameter outcome: its name in `fanfare.outcome_codes`.
    /// - Returns: false for pending, in-flight and retried deliveries.
    static func isFinal(_ outcome: String) -> Bool { !["pending", "attempted", "retrying"].contains(outcome) }

    private static func tone(_ word: String) -> Tone {
        switch word {
        case "accepted", "planned", "matched": .good
        case "pending", "attempted", "retrying", "waiting", "held": .busy
        case "rejected", "refused", "exhausted": .bad
        case "unknown", "expired", "backlog_dropped", "no_device": .warn
        default: .quiet
        }
    }

    private static func words(_ word: String) -> String { word.replacing("_", with: " ") }
}

/// One push: an event and a device, with its last attempt.
struct PushLine: ViewContext {
    let event: PageLink
    let eventType: String
    let rule: String
    let user: PageLink?
    let device: PageLink
    let provider: String
    let attempt: String
    let badge: Badge
    let reason: String?
    /// The time of the answer; nil while it is pending.
    let at: Moment?
}

extension PushLine {
    /// Shows an attempt.
    ///
    /// - Parameter row: the attempt.
    init(_ row: DeliveryRow) {
        self.init(
            event: PageLink(name: "\(row.place.event)", href: "/events/\(row.place.event)"),
            eventType: row.eventType,
            rule: row.rule,
            user: row.userID.map { PageLink(name: $0, href: PageAddress.person($0, app: row.app)) },
            device: PageLink(
                name: row.place.device == 0 ? "all" : "\(row.place.device)",
                href: row.place.device == 0 ? "/devices" : DeviceLine.href(row.place.device)
            ),
            provider: row.provider,
            attempt: "\(row.attempt)",
            badge: PushText.badge(row.outcome, row.reason),
            reason: PushText.reason(row.reason, of: row.outcome),
            at: row.at.map { Moment($0.microseconds, .short) }
        )
    }
}

extension PageAddress {
    /// Returns a path of the console.
    ///
    /// - Parameter segments: the segments, not encoded.
    /// - Returns: the path.
    static func path(_ segments: [String]) -> String { segments.map { "/\(encoded($0))" }.joined() }

    /// Returns the address of a user's page.
    ///
    /// - Parameters:
    ///   - user: the user's id.
    ///   - app: the app; nil for all.
    ///   - event: the event to explain; nil for none.
    /// - Returns: path and query.
    static func person(_ user: String, app: String? = nil, event: Int64? = nil) -> String {
        var query = ["user": user]
        query["app"] = app
        query["event"] = event.map { "\($0)" }
        return PageAddress("/people", query).text
    }
}
