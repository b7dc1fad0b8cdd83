internal import FanfareStore
internal import PostgresClient

/// What became of a push, in a word and a colour.
enum PushText {
    /// An outcome's badge: red only where somebody has to mend something.
    ///
    /// - Parameters:
    ///   - outcome: as `fanfare.outcome_codes` has it, or as `fanfare.why` says it.
    ///   - reason: why.
    /// - Returns: the badge.
    static func badge(_ outcome: String, _ reason: String? = nil) -> Badge {
        switch outcome {
        case "retrying" where ["quiet_hours", "user_snoozed"].contains(reason): Badge(.quiet, "held")
        case "pending": Badge(.busy, "waiting")
        default: Badge(tone(outcome), words(outcome))
        }
    }

    /// An event's badge.
    ///
    /// - Parameter fate: as `fanfare.events` has it.
    /// - Returns: the badge.
    static func badge(fate: String) -> Badge { Badge(tone(fate), words(fate)) }

    /// A reason that says more than its outcome.
    ///
    /// - Parameters:
    ///   - reason: why.
    ///   - outcome: of what.
    /// - Returns: nil where it says the same again.
    static func reason(_ reason: String?, of outcome: String) -> String? {
        let empty: Set<String?> = [
            "accepted", "not_attempted", "answer_awaited", "cancel_requested", "holdout", outcome, "",
        ]
        return empty.contains(reason) ? nil : reason
    }

    /// Its part of a bar.
    ///
    /// - Parameter outcome: as `fanfare.outcome_codes` has it.
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

    /// Whether Fanfare kept somebody from it: nothing was asked of a provider, nor will be.
    ///
    /// - Parameter outcome: as `fanfare.outcome_codes` has it.
    /// - Returns: false of what a provider was asked, or may be.
    static func isKept(_ outcome: String) -> Bool {
        [
            "opted_out", "held_out", "quiet", "capped", "superseded", "disabled", "cancelled", "expired",
            "backlog_dropped",
        ].contains(outcome)
    }

    /// Whether nothing more comes of it.
    ///
    /// - Parameter outcome: as `fanfare.outcome_codes` has it.
    /// - Returns: false of what waits, is awaited, or is tried again.
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
    /// A path of this console.
    ///
    /// - Parameter segments: not encoded.
    /// - Returns: the path.
    static func path(_ segments: [String]) -> String { segments.map { "/\(encoded($0))" }.joined() }

    /// The page of a user.
    ///
    /// - Parameters:
    ///   - user: the user's id.
    ///   - app: the app; nil for all.
    ///   - event: about which one asks why; nil for none.
    /// - Returns: path and query.
    static func person(_ user: String, app: String? = nil, event: Int64? = nil) -> String {
        var query = ["user": user]
        query["app"] = app
        query["event"] = event.map { "\($0)" }
        return PageAddress("/people", query).text
    }
}
