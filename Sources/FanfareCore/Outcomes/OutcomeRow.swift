/// The row of table `outcome_codes` for one outcome.
public struct OutcomeRow: Sendable {
    /// The outcome.
    public let outcome: Outcome
    /// The reason: the provider's own if it gave one, otherwise words in snake_case.
    public let reason: String
    /// The meaning, in one line for people.
    public let meaning: String

    /// Creates the row of an outcome that code refers to by name.
    package init(_ outcome: Outcome, _ reason: String, _ meaning: String) {
        (self.outcome, self.reason, self.meaning) = (outcome, reason, meaning)
    }

    /// Creates the row of an outcome that code finds by its reason, or only reads.
    package init(_ code: UInt8, _ reason: String, _ meaning: String) {
        self.init(Outcome(rawValue: code), reason, meaning)
    }
}

extension OutcomeRow {
    /// Fanfare's own outcomes, and the reasons to retry that all providers share.
    public static let shared: [OutcomeRow] = [
        OutcomeRow(.pending, "not_attempted", "Not attempted yet."),
        OutcomeRow(
            .accepted,
            "accepted",
            "The provider accepted the push; this does not prove that the device showed it."
        ),
        OutcomeRow(.attempted, "answer_awaited", "At most once: being sent to the provider, no response yet."),
        OutcomeRow(
            .unknown,
            "answer_lost",
            "At most once: sent to the provider without a response, so it may have arrived; not retried."
        ),
        OutcomeRow(.expired, "ttl_passed", "Its ttl passed before it could be sent."),
        OutcomeRow(.cancelled, "cancel_requested", "fanfare.cancel reached it before it was sent."),
        OutcomeRow(.superseded, "newer_event", "A newer event of the same collapse key took its place."),
        OutcomeRow(
            .disabled,
            "device_disabled",
            "The device was disabled, unregistered or forgotten between planning and sending."
        ),
        OutcomeRow(.optedOut, "user_opted_out", "Opted out of this category or of all categories."),
        OutcomeRow(
            .refused,
            "not_renderable",
            "The message could not be made for this event and device; the delivery's detail names the rule and the field."
        ),
        OutcomeRow(
            .backlogDropped,
            "stale_after_outage",
            "Waited out an outage, and the rule's backlog option drops such events."
        ),
        OutcomeRow(.exhausted, "attempts_used_up", "All attempts, or the 24 hours without a ttl, were used up."),
        OutcomeRow(
            .destinationForbidden,
            "destination_forbidden",
            "The endpoint is, or resolves to, an address that must not be connected to."
        ),
        OutcomeRow(.capped, "frequency_cap", "The user has reached a cap of the rule."),
        OutcomeRow(.heldOut, "holdout", "In the holdout (control) group."),
        OutcomeRow(.quiet, "quiet_hours", "In quiet hours of the recipient, which drop pushes."),
        OutcomeRow(
            .snoozed,
            "user_snoozed",
            "The user had snoozed its category, and no quiet hours hold it until then."
        ),
        OutcomeRow(.expiredQuiet, "quiet_hours", "In quiet hours of the recipient, which end after its ttl."),
        OutcomeRow(.expiredSnoozed, "user_snoozed", "The user had snoozed its category until after its ttl."),
        OutcomeRow(.aborted, "campaign_aborted", "Its campaign was aborted before it was sent."),
        OutcomeRow(.retracted, "taken_back", "Its event was taken back before it was sent."),
        OutcomeRow(.retryingDeviceThrottled, "device_throttled", "The provider throttles this device; retried."),
        OutcomeRow(.retryingTopicThrottled, "topic_throttled", "The provider throttles this topic; retried."),
        OutcomeRow(
            .retryingSenderThrottled,
            "sender_throttled",
            "The provider throttles this project, credential or host; retried."
        ),
        OutcomeRow(.retryingServerError, "server_error", "The provider reported an internal error; retried."),
        OutcomeRow(.retryingUnavailable, "unavailable", "The provider is overloaded or down; retried."),
        OutcomeRow(.retryingShutdown, "shutdown", "The provider's server was shutting down; retried on another one."),
        OutcomeRow(.retryingStatus5xx, "status_5xx", "A 5xx status without a known reason; retried."),
        OutcomeRow(.retryingAnswerLost, "answer_lost", "The response was lost; sent again with the same ids."),
        OutcomeRow(.retryingNotProcessed, "not_processed", "The provider did not process the request; retried."),
        OutcomeRow(.retryingNotSent, "not_sent", "The request never left this machine; retried."),
        OutcomeRow(42, "credential_renewed", "The credential was refused; retried with a fresh one."),
        OutcomeRow(
            .retryingOtherConnection,
            "other_connection",
            "Refused because of earlier use of its connection; retried on another connection."
        ),
        OutcomeRow(
            .retryingOtherEnvironment,
            "other_environment",
            "The token is unknown in this APNs environment; retried in the other."
        ),
        OutcomeRow(
            .retryingRegisteredLater,
            "registered_later",
            "Reported gone, but registered again since; retried once."
        ),
        OutcomeRow(.retryingIdleTimeout, "idle_timeout", "The connection had been idle too long; retried."),
        OutcomeRow(.heldQuiet, "quiet_hours", "In quiet hours of the recipient; sent when they end."),
        OutcomeRow(.heldSnoozed, "user_snoozed", "The user had snoozed its category; sent when the snooze ends."),
        OutcomeRow(
            .retryingForeignAnswer,
            "foreign_answer",
            "A 4xx status without the provider's own error body, such as a proxy's; retried."
        ),
        OutcomeRow(.retryingStatus500, "status_500", "Status 500 without a known reason; retried."),
        OutcomeRow(.retryingStatus502, "status_502", "Status 502 without a known reason; retried."),
        OutcomeRow(.retryingStatus503, "status_503", "Status 503 without a known reason; retried."),
        OutcomeRow(.retryingStatus504, "status_504", "Status 504 without a known reason; retried."),
    ]
}
