/// What table `outcome_codes` says of one outcome beside its range.
public struct OutcomeRow: Sendable {
    /// Which.
    public let outcome: Outcome
    /// Why: the provider's own reason where it gave one, otherwise words in snake_case.
    public let reason: String
    /// For ``OutcomeKind/gone``: what is recorded instead while the device must be kept, as when the prune fuse is blown.
    public let keptAs: Outcome?
    /// What it means, in one line for people.
    public let meaning: String

    /// Describes an outcome.
    ///
    /// - Parameters:
    ///   - outcome: which.
    ///   - reason: the provider's own word, or words in snake_case.
    ///   - keptAs: for a ``OutcomeKind/gone``, what is recorded while the device must be kept.
    ///   - meaning: one line for people.
    public init(_ outcome: Outcome, _ reason: String, keptAs: Outcome? = nil, _ meaning: String) {
        (self.outcome, self.reason, self.keptAs, self.meaning) = (outcome, reason, keptAs, meaning)
    }
}

extension OutcomeRow {
    /// Fanfare's own outcomes, and the reasons to try again that all providers share.
    public static let shared: [OutcomeRow] = [
        OutcomeRow(.pending, "not_attempted", "Not attempted yet."),
        OutcomeRow(.accepted, "accepted", "The provider took the push; no proof that the device showed it."),
        OutcomeRow(
            .attempted,
            "answer_awaited",
            "At most once: about to be handed to the provider, the answer is awaited."
        ),
        OutcomeRow(
            .unknown,
            "answer_lost",
            "At most once: handed to the provider and not answered, so it may have arrived; not tried again."
        ),
        OutcomeRow(.expired, "ttl_passed", "Its ttl passed before it could be sent."),
        OutcomeRow(.cancelled, "cancel_requested", "fanfare.cancel reached it before it was sent."),
        OutcomeRow(.superseded, "newer_event", "A newer event of the same collapse key took its place."),
        OutcomeRow(
            .disabled,
            "device_disabled",
            "The device was disabled, unregistered or forgotten between planning and sending."
        ),
        OutcomeRow(.optedOut, "user_opted_out", "The user wants nothing of this category, or nothing that has one."),
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
        OutcomeRow(.capped, "frequency_cap", "The user had had as many pushes as the rule's caps allow."),
        OutcomeRow(
            .heldOut,
            "holdout",
            "The user belongs to those who are left out, to see what the pushes do to the others."
        ),
        OutcomeRow(
            .quiet,
            "quiet_hours",
            "It was night where the device is, by quiet hours that drop what comes in them."
        ),
        OutcomeRow(
            .snoozed,
            "user_snoozed",
            "The user had snoozed its category, and nothing says to keep it until that is over."
        ),
        OutcomeRow(
            .expiredQuiet,
            "quiet_hours",
            "It was night where the device is, and its ttl ends before the quiet hours do."
        ),
        OutcomeRow(
            .expiredSnoozed,
            "user_snoozed",
            "The user had snoozed its category, and its ttl ends before the snooze does."
        ),
        OutcomeRow(.aborted, "campaign_aborted", "Its campaign was aborted before it was sent."),
        OutcomeRow(
            .retryingDeviceThrottled,
            "device_throttled",
            "The provider takes no more pushes for this device now; tried again."
        ),
        OutcomeRow(
            .retryingTopicThrottled,
            "topic_throttled",
            "The provider takes no more pushes for this topic now; tried again."
        ),
        OutcomeRow(
            .retryingSenderThrottled,
            "sender_throttled",
            "The provider asks this project, credential or host to slow down; tried again."
        ),
        OutcomeRow(.retryingServerError, "server_error", "The provider reported an internal error; tried again."),
        OutcomeRow(.retryingUnavailable, "unavailable", "The provider is overloaded or down for now; tried again."),
        OutcomeRow(.retryingShutdown, "shutdown", "The provider's server was going down; tried again on another one."),
        OutcomeRow(.retryingStatus5xx, "status_5xx", "A 5xx status without a reason that Fanfare knows; tried again."),
        OutcomeRow(
            .retryingAnswerLost,
            "answer_lost",
            "The request was handed over and the answer lost; sent once more with the same ids."
        ),
        OutcomeRow(
            .retryingNotProcessed,
            "not_processed",
            "The provider said that it did not process the request; tried again."
        ),
        OutcomeRow(.retryingNotSent, "not_sent", "The request never left this machine; tried again."),
        OutcomeRow(
            .retryingCredentialRenewed,
            "credential_renewed",
            "The credential was refused; tried again with a fresh one."
        ),
        OutcomeRow(
            .retryingOtherConnection,
            "other_connection",
            "Refused for what its connection was used for before; tried again on another connection."
        ),
        OutcomeRow(
            .retryingOtherEnvironment,
            "other_environment",
            "The token is unknown in this APNs environment; tried in the other."
        ),
        OutcomeRow(
            .retryingRegisteredLater,
            "registered_later",
            "Said to be gone, but registered again since; tried once more."
        ),
        OutcomeRow(.retryingIdleTimeout, "idle_timeout", "The connection had been idle too long; tried again."),
        OutcomeRow(.heldQuiet, "quiet_hours", "It was night where the device is; sent when the quiet hours are over."),
        OutcomeRow(.heldSnoozed, "user_snoozed", "The user had snoozed its category; sent when that is over."),
        OutcomeRow(
            .retryingForeignAnswer,
            "foreign_answer",
            "A 4xx status without the provider's own error body, such as a proxy's; tried again."
        ),
        OutcomeRow(
            .retryingStatus500,
            "status_500",
            "Status 500 without a reason that Fanfare knows; tried again."
        ),
        OutcomeRow(
            .retryingStatus502,
            "status_502",
            "Status 502 without a reason that Fanfare knows; tried again."
        ),
        OutcomeRow(
            .retryingStatus503,
            "status_503",
            "Status 503 without a reason that Fanfare knows; tried again."
        ),
        OutcomeRow(
            .retryingStatus504,
            "status_504",
            "Status 504 without a reason that Fanfare knows; tried again."
        ),
    ]
}
