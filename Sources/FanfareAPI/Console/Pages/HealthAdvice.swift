internal import FanfareStore

/// What is ill by a row of `fanfare.health`, and what to do about it: the article on operation in a few steps.
struct HealthAdvice: Sendable {
    /// What is ill, in a sentence.
    let words: String
    let tone: Tone
    /// In order.
    let steps: [HealthStep]

    /// Looks up what is known of a kind of row.
    ///
    /// - Parameter row: that is not well.
    init(_ row: HealthRow) {
        let (kind, subject) = Self.split(row.name)
        self =
            Self.of[kind]?(subject, row.detail)
            ?? HealthAdvice(
                "\(row.name): \(row.detail)",
                .bad,
                [HealthStep(words: "See what the daemons say of it:", command: "journalctl -u fanfare -p warning")]
            )
    }

    /// The name's kind, and what differs: of `breaker: shop/fcm` both; of `audit: overdue_batches` the whole is the kind;
    /// of `alarm: chore/fold_stats` all up to the slash.
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

    /// Whether something is known of such a row.
    ///
    /// - Parameter name: as the view has it.
    /// - Returns: false where only its own words are shown.
    static func knows(_ name: String) -> Bool { of[split(name).kind] != nil }

    private typealias Make = @Sendable (_ subject: String, _ detail: String) -> HealthAdvice

    private static let log = HealthStep(
        words: "Look for error and sqlstate in the daemons' logs:",
        command: "journalctl -u fanfare -p warning"
    )
    /// The one wording for a new credential: Operation.md has the same under "Credentials end".
    private static let renew = HealthStep(
        words: "Then restart the daemons, as systemd copies credentials at the start; without systemd, send them HUP:",
        command: "systemctl restart fanfare"
    )
    private static let status = HealthStep(words: "See what holds it up:", command: "fanfare status")

    /// By the kind of row.
    private static let of: [String: Make] = [
        "daemons": { _, _ in
            HealthAdvice(
                "No daemon lives: nothing is planned and nothing sent",
                .bad,
                [
                    HealthStep(
                        words: "See why it ended; the log's last line says it:",
                        command: "systemctl status fanfare"
                    ),
                    HealthStep(
                        words: "Exit code 78 is the configuration, 69 a database that cannot be reached:",
                        command: "fanfare check"
                    ),
                    HealthStep(words: "Events wait meanwhile, and lose nothing but time."),
                ]
            )
        },
        "outbox": { _, detail in
            HealthAdvice("Events are not planned: the \(detail)", .bad, [log, status])
        },
        "quarantine": { _, detail in
            HealthAdvice(
                "\(detail), since they made a set fail, or may take long",
                .warn,
                [
                    HealthStep(
                        words: "It resolves itself; the culprit ends as refused, and its page says why.",
                        link: refused
                    )
                ]
            )
        },
        "audience_queries": { _, detail in
            HealthAdvice(
                "Queries for audiences do not keep up: \(detail)",
                .warn,
                [
                    HealthStep(words: "See which query is slow, and give it an index.", link: rules),
                    HealthStep(words: "Its plan, with an event of yours:", command: "fanfare explain --help"),
                ]
            )
        },
        "feedback": { hook, detail in
            HealthAdvice(
                "The hook \(hook) is not told what became of pushes: \(detail)",
                .warn,
                [
                    HealthStep(words: "See how far it is, and what it answered:", command: "fanfare feedback list"),
                    HealthStep(
                        words: "When it takes again what it is told, try it at once:",
                        command: "fanfare feedback resume \(hook)"
                    ),
                    HealthStep(
                        words: "Tell it once more what it missed; pushes do not wait for it:",
                        command: "fanfare feedback replay \(hook) --since 1d"
                    ),
                ]
            )
        },
        "open_digests": { _, detail in
            HealthAdvice(
                "Digests do not leave: \(detail)",
                .warn,
                [log, HealthStep(words: "Nothing is lost; they leave as soon as a daemon can.")]
            )
        },
        "rules": { _, detail in
            HealthAdvice(
                "\(detail); a version that was in force before stays so",
                .warn,
                [
                    HealthStep(words: "See which and why, mend them, and apply them again.", link: rules),
                    HealthStep(words: "In a terminal:", command: "fanfare rules list"),
                ]
            )
        },
        "campaigns": { _, detail in
            HealthAdvice(
                "Of campaigns \(detail)",
                .warn,
                [
                    HealthStep(words: "See which and why, mend them, and apply them again.", link: campaigns),
                    HealthStep(
                        words: "What failed and is still wanted:",
                        command: "fanfare campaigns start <app> <name>"
                    ),
                ]
            )
        },
        "breaker": { subject, detail in
            let parts = subject.split(separator: "/", maxSplits: 1).map(String.init)
            let (app, provider) = (parts.first ?? "", parts.count > 1 ? parts[1] : "")
            return HealthAdvice(
                "\(provider) cannot be used by \(app), and its pushes wait: \(detail)",
                .bad,
                [
                    HealthStep(
                        words: "Read what it answered last.",
                        link: PageLink(
                            name: "Its answers",
                            href: PageAddress("/providers", ["app": app, "span": PageSpan.quarter.rawValue]).text
                        )
                    ),
                    HealthStep(
                        words: "Where it refuses, mend the credentials; this asks it whether it takes them:",
                        command: "fanfare check --online"
                    ),
                    renew,
                    HealthStep(
                        words: "Where it fails there is nothing to do: what waits is sent once a probe is answered."
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
                        words: "Look whether the app is spelt as in the configuration; this compares them:",
                        command: "fanfare check"
                    ),
                    HealthStep(
                        words: "Put the credentials into the configuration, and start the daemons again:",
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
                        words: "Correct the credential or the topic; this asks the provider whether it takes them:",
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
                        words: "Find out what set it: a virtual machine that was resumed, or a server without NTP."
                    ),
                    HealthStep(words: "Schedules and deadlines go by the new clock. The row goes after an hour."),
                ]
            )
        },
        "watch": { subject, detail in
            HealthAdvice(
                "The watch \(subject) does not fit its table: \(detail)",
                .warn,
                [
                    HealthStep(
                        words: "Call it again in SQL with today's columns:",
                        command: "fanfare.watch_table('table', 'event.type', '{column,column}')"
                    )
                ]
            )
        },
        "alarm: prune_fuse": { subject, _ in
            let parts = subject.split(separator: "/").map(String.init)
            let (app, environment) = (parts.first ?? "", parts.count > 1 ? parts[1] : "")
            return HealthAdvice(
                "Too many tokens of \(app) (\(environment)) seem dead: no device is disabled until somebody has looked",
                .bad,
                [
                    HealthStep(
                        words:
                            "Usually a wrong key, topic or environment is the cause: see what the provider says, and mend it.",
                        link: PageLink(name: "Its answers", href: PageAddress("/providers", ["app": app]).text)
                    ),
                    HealthStep(
                        words: "Enable again what was disabled by mistake.",
                        link: PageLink(
                            name: "Its disabled devices",
                            href: PageAddress("/devices", ["app": app, "state": "disabled"]).text
                        )
                    ),
                    HealthStep(
                        words: "Then let pruning go on:",
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
                        words: "Mend what PostgreSQL reports; pushes go on, and the task runs again within a minute:",
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
                "No daemon does what one does for all: checks of rules, retention, audit",
                .bad,
                [
                    HealthStep(
                        words: "Look for error with stage maintenance:",
                        command: "journalctl -u fanfare -p warning"
                    ),
                    HealthStep(words: "A session that holds its lock:", command: lock(4)),
                ]
            )
        },
        "role: channels": { _, _ in
            HealthAdvice(
                "No daemon hears the channels of listen",
                .bad,
                [
                    HealthStep(
                        words: "Look for error with stage listener:",
                        command: "journalctl -u fanfare -p warning"
                    ),
                    HealthStep(words: "A session that holds its lock:", command: lock(3)),
                ]
            )
        },
        "audit": { _, detail in
            HealthAdvice(
                "Nobody has looked whether all adds up: \(detail)",
                .warn,
                [log, HealthStep(words: "A session that holds the lock of maintenance:", command: lock(4))]
            )
        },
        "audit: unplanned_events": { _, detail in
            HealthAdvice("Events are there that no planner takes: \(detail)", .bad, [log, status])
        },
        "audit: overdue_batches": { _, detail in
            HealthAdvice(
                "Pushes are due and stand still: \(detail)",
                .bad,
                [
                    HealthStep(
                        words: "See whether a provider's breaker is open, or an app lacks credentials.",
                        link: PageLink(name: "Providers", href: "/providers")
                    ),
                    HealthStep(words: "If a daemon holds some, restart it:", command: "systemctl restart fanfare"),
                ]
            )
        },
        "audit: stalled_plans": { _, detail in
            HealthAdvice(
                "A large audience is not walked further: \(detail)",
                .bad,
                [
                    HealthStep(
                        words: "Look for error and sqlstate of the slicers:",
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
                            "It is a fault of Fanfare or of the storage. Keep the rows of fanfare.batch_log, and report it."
                    )
                ]
            )
        },
        "badge_sql": { subject, detail in
            HealthAdvice(
                "The query for badges of \(subject) fails, and pushes go out without: \(detail)",
                .warn,
                query(subject, detail)
            )
        },
        "users_sql": { subject, detail in
            HealthAdvice(
                "The query for the audience of \(subject) fails, and after three tries its events end as refused: \(detail)",
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
                ? HealthStep(words: "Let its role read what it asks:", command: "GRANT SELECT ON … TO fanfare_sql")
                : detail.contains("takes longer") || detail.contains("statement timeout")
                    ? HealthStep(words: "Make it faster, mostly by an index; see what it does:", command: "EXPLAIN …")
                    : HealthStep(words: "Correct the query, then apply the rule:", command: "fanfare rules apply"),
        ]
    }

    private static func lock(_ key: Int) -> String {
        "psql -c 'SELECT pid FROM pg_locks WHERE classid = 1178685254 AND objid = \(key)'"
    }
}
