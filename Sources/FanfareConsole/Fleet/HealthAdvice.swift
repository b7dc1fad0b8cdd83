internal import FanfareConsoleView
internal import FanfareRecords

/// A problem that a row of `fanfare.health` reports, and the steps that fix it, as in the article Operation.
struct HealthAdvice: Sendable {
    /// The problem, in a sentence.
    let words: String
    let tone: Tone
    /// The steps in order.
    let steps: [HealthStep]

    /// Finds the advice for a row.
    ///
    /// - Parameter row: a row that reports a problem.
    init(_ row: HealthRow) {
        let (kind, subject) = Self.split(row.name)
        self =
            Self.of[kind]?(subject, row.detail)
            ?? HealthAdvice(
                "\(row.name): \(row.detail)",
                .bad,
                [HealthStep(words: "See the daemons' log:", command: "journalctl -u fanfare -p warning")]
            )
    }

    /// Splits the name of a row into kind and subject.
    ///
    /// `breaker: shop/fcm` has both; `audit: overdue_batches` is a kind as a whole; the kind of `alarm:
    /// chore/fold_stats` ends at the slash.
    private static func split(_ name: String) -> (kind: String, subject: String) {
        guard let colon = name.firstRange(of: ": ") else { return (name, "") }
        let (kind, subject) = (String(name[..<colon.lowerBound]), String(name[colon.upperBound...]))
        if kind == "alarm", let slash = subject.firstIndex(of: "/"), of["alarm: \(subject[..<slash])"] != nil {
            return ("alarm: \(subject[..<slash])", String(subject[subject.index(after: slash)...]))
        }
        return kind == "audit" || kind == "role" ? (name, subject) : (kind, subject)
    }

    private init(_ words: String, _ tone: Tone, _ steps: [HealthStep]) {
        (self.words, self.tone, self.steps) = (words, tone, steps)
    }

    /// Returns whether there is advice for rows of this name.
    ///
    /// - Parameter name: the name in the view.
    /// - Returns: false if only the row's own text is shown.
    static func knows(_ name: String) -> Bool { of[split(name).kind] != nil }

    private typealias Make = @Sendable (_ subject: String, _ detail: String) -> HealthAdvice

    private static let log = HealthStep(
        words: "Check error and sqlstate in the daemons' logs:",
        command: "journalctl -u fanfare -p warning"
    )
    /// The step for a new credential; Operation.md has the same text under "Credentials end".
    private static let renew = HealthStep(
        words: "Then restart the daemons, because systemd copies credentials at start; without systemd, send them HUP:",
        command: "systemctl restart fanfare"
    )
    private static let status = HealthStep(words: "See what is blocking:", command: "fanfare status")

    /// The advice by kind of row.
    private static let of: [String: Make] = [
        "daemons": { _, _ in
            HealthAdvice(
                "No daemon is running: nothing is planned or sent",
                .bad,
                [
                    HealthStep(
                        words: "See why it stopped, in the log's last line:",
                        command: "systemctl status fanfare"
                    ),
                    HealthStep(
                        words: "Exit code 78 means the configuration, 69 an unreachable database:",
                        command: "fanfare check"
                    ),
                    HealthStep(words: "Events wait meanwhile; none is lost."),
                ]
            )
        },
        "outbox": { _, detail in
            HealthAdvice("Events are not planned: the \(detail)", .bad, [log, status])
        },
        "quarantine": { _, detail in
            HealthAdvice(
                "\(detail), planned one at a time: they made a set fail, or may take long",
                .warn,
                [
                    HealthStep(
                        words: "It resolves itself. A failing event ends as refused; its page shows why.",
                        link: refused
                    )
                ]
            )
        },
        "audience_queries": { _, detail in
            HealthAdvice(
                "Audience queries are falling behind: \(detail)",
                .warn,
                [
                    HealthStep(words: "Find the slow query and add an index.", link: rules),
                    HealthStep(words: "Try it with an event of yours:", command: "fanfare explain --help"),
                ]
            )
        },
        "feedback": { hook, detail in
            HealthAdvice(
                "The feedback hook \(hook) is not receiving outcomes: \(detail)",
                .warn,
                [
                    HealthStep(words: "See its progress and its last response:", command: "fanfare feedback list"),
                    HealthStep(
                        words: "Once its receiver works again, retry at once:",
                        command: "fanfare feedback resume \(hook)"
                    ),
                    HealthStep(
                        words: "Resend what it missed; pushes are not delayed:",
                        command: "fanfare feedback replay \(hook) --since 1d"
                    ),
                ]
            )
        },
        "open_digests": { _, detail in
            HealthAdvice(
                "Digests are not sent: \(detail)",
                .warn,
                [log, HealthStep(words: "Nothing is lost; they are sent as soon as a daemon can.")]
            )
        },
        "scheduled": { _, detail in
            HealthAdvice(
                "Scheduled events are not emitted: \(detail)",
                .warn,
                [log, HealthStep(words: "Nothing is lost; they are emitted as soon as a daemon can.")]
            )
        },
        "rules": { _, detail in
            HealthAdvice(
                "\(detail); the version in force before stays in force",
                .warn,
                [
                    HealthStep(words: "See which and why, fix them, and apply them again.", link: rules),
                    HealthStep(words: "In a terminal:", command: "fanfare rules list"),
                ]
            )
        },
        "campaigns": { _, detail in
            HealthAdvice(
                "Campaigns: \(detail)",
                .warn,
                [
                    HealthStep(words: "See which and why, fix them, and apply them again.", link: campaigns),
                    HealthStep(
                        words: "Start a failed campaign again:",
                        command: "fanfare campaigns start <app> <name>"
                    ),
                ]
            )
        },
        "breaker": { subject, detail in
            let parts = subject.split(separator: "/", maxSplits: 1).map(String.init)
            let (app, provider) = (parts.first ?? "", parts.count > 1 ? parts[1] : "")
            return HealthAdvice(
                "\(provider) is unavailable for \(app), and its pushes wait: \(detail)",
                .bad,
                [
                    HealthStep(
                        words: "See its last responses.",
                        link: PageLink(
                            name: "Its responses",
                            href: PageAddress("/providers", ["app": app, "span": PageSpan.quarter.rawValue]).text
                        )
                    ),
                    HealthStep(
                        words: "If it rejects the credentials, fix them, then test them:",
                        command: "fanfare check --online"
                    ),
                    renew,
                    HealthStep(
                        words: "If it fails, wait: pending pushes are sent once a probe succeeds."
                    ),
                ]
            )
        },
        "no_credentials": { subject, detail in
            HealthAdvice(
                "\(subject) cannot be sent to: \(detail)",
                .bad,
                [
                    HealthStep(
                        words: "Check that the app is spelled as in the configuration:",
                        command: "fanfare check"
                    ),
                    HealthStep(
                        words: "Add the credentials to the configuration and restart the daemons:",
                        command: "systemctl restart fanfare"
                    ),
                ]
            )
        },
        "refused": { subject, detail in
            HealthAdvice(
                "\(subject) is refused: \(detail)",
                .bad,
                [
                    HealthStep(
                        words: "Fix the credential or the topic, then test it with the provider:",
                        command: "fanfare check --online"
                    ),
                    renew,
                ]
            )
        },
        "clock": { _, detail in
            HealthAdvice(
                detail.prefix(1).uppercased() + detail.dropFirst(),
                .warn,
                [
                    HealthStep(
                        words: "Find the cause: a resumed virtual machine, or a server without NTP."
                    ),
                    HealthStep(
                        words: "Schedules and deadlines follow the new clock. The row disappears after an hour."
                    ),
                ]
            )
        },
        "watch": { subject, detail in
            HealthAdvice(
                "The watch \(subject) no longer matches its table: \(detail)",
                .warn,
                [
                    HealthStep(
                        words: "Recreate it in SQL with the current columns:",
                        command: "fanfare.watch_table('table', 'event.type', '{column,column}')"
                    )
                ]
            )
        },
        "alarm: prune_fuse": { subject, _ in
            let parts = subject.split(separator: "/").map(String.init)
            let (app, environment) = (parts.first ?? "", parts.count > 1 ? parts[1] : "")
            return HealthAdvice(
                "Too many tokens of \(app) (\(environment)) were reported invalid: pruning is stopped",
                .bad,
                [
                    HealthStep(
                        words:
                            "Usually a wrong key, topic or environment is the cause: see the provider's responses and fix it.",
                        link: PageLink(name: "Its responses", href: PageAddress("/providers", ["app": app]).text)
                    ),
                    HealthStep(
                        words: "Re-enable devices that were disabled by mistake.",
                        link: PageLink(
                            name: "Its disabled devices",
                            href: PageAddress("/devices", ["app": app, "state": "disabled"]).text
                        )
                    ),
                    HealthStep(
                        words: "Then resume pruning:",
                        command: "fanfare devices resume-pruning --app \(app)"
                    ),
                ]
            )
        },
        "alarm: chore": { task, detail in
            HealthAdvice(
                "The maintenance task \(task) \(detail)",
                .bad,
                [
                    HealthStep(
                        words: "Fix what PostgreSQL reports; pushes continue, and the task runs again within a minute:",
                        command: "journalctl -u fanfare -p warning"
                    )
                ]
            )
        },
        "alarm": { subject, detail in
            HealthAdvice("\(subject): \(detail)", .bad, [log])
        },
        "role: maintenance": { _, _ in
            HealthAdvice(
                "No daemon leads maintenance: no rule checks, retention or audit",
                .bad,
                [
                    HealthStep(
                        words: "Check errors with stage maintenance:",
                        command: "journalctl -u fanfare -p warning"
                    ),
                    HealthStep(words: "Find the session that holds its lock:", command: lock(4)),
                ]
            )
        },
        "role: channels": { _, _ in
            HealthAdvice(
                "No daemon listens on the configured channels",
                .bad,
                [
                    HealthStep(
                        words: "Check errors with stage listener:",
                        command: "journalctl -u fanfare -p warning"
                    ),
                    HealthStep(words: "Find the session that holds its lock:", command: lock(3)),
                ]
            )
        },
        "audit": { _, detail in
            HealthAdvice(
                "The audit has not run: \(detail)",
                .warn,
                [log, HealthStep(words: "Find the session that holds the maintenance lock:", command: lock(4))]
            )
        },
        "audit: unplanned_events": { _, detail in
            HealthAdvice("Events are not being planned: \(detail)", .bad, [log, status])
        },
        "audit: overdue_batches": { _, detail in
            HealthAdvice(
                "Due pushes are not being sent: \(detail)",
                .bad,
                [
                    HealthStep(
                        words: "See whether a provider's breaker is open, or an app lacks credentials.",
                        link: PageLink(name: "Providers", href: "/providers")
                    ),
                    HealthStep(words: "If a daemon holds them, restart it:", command: "systemctl restart fanfare"),
                ]
            )
        },
        "audit: stalled_plans": { _, detail in
            HealthAdvice(
                "A large audience is no longer expanded: \(detail)",
                .bad,
                [
                    HealthStep(
                        words: "Check error and sqlstate of the slicers:",
                        command: "journalctl -u fanfare -p warning"
                    )
                ]
            )
        },
        "audit: unbalanced_batches": { _, detail in
            HealthAdvice(
                "Closed batches do not add up: \(detail)",
                .bad,
                [
                    HealthStep(
                        words:
                            "This is a bug in Fanfare or a storage fault. Keep the rows of fanfare.batch_log, and report it."
                    )
                ]
            )
        },
        "badge_sql": { subject, detail in
            HealthAdvice(
                "The badge query of \(subject) fails, and pushes go out without a badge: \(detail)",
                .warn,
                query(subject, detail)
            )
        },
        "users_sql": { subject, detail in
            HealthAdvice(
                "The audience query of \(subject) fails, and after three tries its events end as refused: \(detail)",
                .bad,
                query(subject, detail)
            )
        },
    ]

    private static let rules = PageLink(name: "Rules", href: "/rules")
    private static let campaigns = PageLink(name: "Campaigns", href: "/campaigns")
    private static let refused = PageLink(
        name: "Refused events",
        href: PageAddress("/events", ["fate": "refused"]).text
    )

    private static func query(_ rule: String, _ detail: String) -> [HealthStep] {
        let parts = rule.split(separator: "/", maxSplits: 1).map { PageAddress.encoded(String($0)) }
        return [
            HealthStep(
                words: "See the query.",
                link: PageLink(name: "The rule", href: "/rules/\(parts.joined(separator: "/"))")
            ),
            detail.contains("permission denied")
                ? HealthStep(words: "Grant its role read access:", command: "GRANT SELECT ON … TO fanfare_sql")
                : detail.contains("takes longer") || detail.contains("statement timeout")
                    ? HealthStep(words: "Make it faster, usually with an index; see its plan:", command: "EXPLAIN …")
                    : HealthStep(words: "Fix the query, then apply the rule:", command: "fanfare rules apply"),
        ]
    }

    private static func lock(_ key: Int) -> String {
        "psql -c 'SELECT pid FROM pg_locks WHERE classid = 1178685254 AND objid = \(key)'"
    }
}
