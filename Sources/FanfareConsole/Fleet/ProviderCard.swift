internal import FanfareConsoleView
internal import FanfareCore
internal import FanfareRecords
internal import FanfareTools
internal import PostgresClient

/// One app's traffic to one provider.
struct ProviderCard: ViewContext {
    /// An id that is unique on the page.
    let id: String
    let app: String
    let provider: String
    let badge: Badge
    /// The problem, if there is one.
    let words: String?
    let perSecond: String
    let facts: [Fact]
    let daemons: [ProviderDaemonLine]
}

extension ProviderCard {
    /// The time before its expiry at which a credential is reported, in seconds.
    private static let warning: Int64 = 14 * 86_400

    /// Shows one app's traffic to one provider.
    ///
    /// - Parameters:
    ///   - key: the app, provider and environment.
    ///   - digest: the answers.
    ///   - span: the time shown.
    ///   - daemons: all daemons in the table.
    ///   - credentials: this daemon's credentials for the provider.
    ///   - now: the database's time, in microseconds since 1970.
    init(
        _ key: ProviderKey,
        _ digest: ProviderDigest,
        _ span: PageSpan,
        _ daemons: [DaemonRow],
        _ credentials: [CredentialExpiry],
        at now: Int64
    ) {
        let recent = digest.recent[key] ?? ProviderDigest.Answers()
        let isServed = (digest.all[key]?.total ?? 0) > 0
        let lines = ProviderDaemonLine.lines(key, daemons, isServed: isServed)
        let isOpen = lines.contains { $0.breaker.tone == Tone.bad.rawValue }
        var (badge, problem) = Self.badge(isOpen: isOpen, isServed: isServed || !lines.isEmpty, credentials, at: now)
        let newest = digest.newest[key] ?? ProviderDigest.Answers()
        if lines.isEmpty || !isOpen, ProviderDaemonLine.isUnserved(key, daemons) {
            (badge, problem) = (
                Badge(.bad, "no credentials"),
                "No running daemon has credentials for it, so nothing is sent. Set apps.\(key.app).\(key.provider) in the configuration."
            )
        } else if isOpen {
            problem = ProviderDaemonLine.said(key, daemons)
        }
        // An open breaker and an expired credential have badges of their own, which come first.
        if badge.tone == Tone.good.rawValue { badge = Self.badge(newest, recent) ?? badge }
        let shown = newest.isDown ? newest : recent
        let seconds = newest.isDown ? digest.newestSeconds : digest.recentSeconds
        let worst = shown.worst.map { worst in
            let share = FigureText.share(worst.count, of: shown.total)
            let meaning = digest.meanings[worst.key].map { ": \($0)" } ?? ""
            let window = FigureText.duration(seconds.rounded())
            return
                "\(share) of the responses in the last \(window) are \(worst.key.outcome), \(worst.key.reason)\(meaning)"
        }
        self.init(
            id: "\(key.app)-\(key.provider)-\(key.environment)",
            app: key.app,
            provider: key.environment == "production" ? key.provider : "\(key.provider) \(key.environment)",
            badge: badge,
            words: problem ?? worst,
            perSecond:
                "\(FigureText.short(Double(recent.total) / digest.recentSeconds))/s over the last "
                + FigureText.duration(digest.recentSeconds.rounded()),
            facts: Self.facts(digest.all[key] ?? ProviderDigest.Answers(), span, credentials, at: now),
            daemons: lines
        )
    }

    private static func badge(
        isOpen: Bool,
        isServed: Bool,
        _ credentials: [CredentialExpiry],
        at now: Int64
    ) -> (Badge, problem: String?) {
        if isOpen { return (Badge(.bad, "breaker open"), nil) }
        if let broken = credentials.first(where: { $0.problem != nil }) {
            return (Badge(.bad, "invalid credential"), "\(broken.credential): \(broken.problem ?? "")")
        }
        if credentials.contains(where: { $0.endsAt.map { $0 - now / 1_000_000 < warning } ?? false }) {
            return (Badge(.warn, "credential expires"), nil)
        }
        return (isServed ? Badge(.good, "OK") : Badge(.quiet, "nothing sent yet"), nil)
    }

    /// Returns the badge of a provider's health by its latest answers; nil if it is healthy.
    private static func badge(_ newest: ProviderDigest.Answers, _ recent: ProviderDigest.Answers) -> Badge? {
        if newest.isDown { return Badge(.bad, "down") }
        if newest.failures * 2 > newest.total { return Badge(.bad, "failing") }
        return recent.failures * 100 > recent.total ? Badge(.warn, "errors") : nil
    }

    private static func facts(
        _ answers: ProviderDigest.Answers,
        _ span: PageSpan,
        _ credentials: [CredentialExpiry],
        at now: Int64
    ) -> [Fact] {
        let accepted = answers.counts.filter { $0.key.outcome == "accepted" }.values.reduce(0, +)
        var facts = [
            Fact(
                name: "Responses in \(span.label)",
                words: answers.total == 0
                    ? "none"
                    : "\(FigureText.count(answers.total)), \(FigureText.share(accepted, of: answers.total)) accepted"
            )
        ]
        if let lastAt = answers.lastAt { facts.append(Fact(name: "Last", time: Moment(lastAt, .short))) }
        for credential in credentials {
            let left = credential.endsAt.map { $0 - now / 1_000_000 }
            let words =
                credential.problem
                ?? left.map { $0 > 0 ? "expires in \(FigureText.duration(Double($0)))" : "expired" }
                ?? "does not expire"
            facts.append(Fact(name: credential.credential, words: words))
        }
        return facts
    }
}

/// What one daemon reports of the provider.
struct ProviderDaemonLine: ViewContext {
    let daemon: String
    let breaker: Badge
}

extension ProviderDaemonLine {
    /// Returns what each daemon reports of a provider.
    ///
    /// - Parameters:
    ///   - key: the app, provider and environment.
    ///   - daemons: all daemons in the table.
    ///   - isServed: whether there were answers: a daemon reports a breaker only after it has opened once.
    /// - Returns: a line for each running daemon that sends to the provider.
    static func lines(_ key: ProviderKey, _ daemons: [DaemonRow], isServed: Bool) -> [ProviderDaemonLine] {
        let name = "\(key.app)/\(key.provider)/\(key.environment)"
        return daemons.filter(\.isAlive).compactMap { daemon in
            let word = daemon.report["breakers"]?[name]?.stringValue ?? (isServed ? "closed" : nil)
            guard let word else { return nil }
            return ProviderDaemonLine(
                daemon: daemon.name,
                breaker: word == "open" ? Badge(.bad, "open: only probes are sent") : Badge(.good, "OK")
            )
        }
    }

    /// Returns whether every running daemon reports that it has no credentials for a provider.
    ///
    /// - Parameters:
    ///   - key: the app, provider and environment.
    ///   - daemons: all daemons in the table.
    /// - Returns: false if no daemon runs.
    static func isUnserved(_ key: ProviderKey, _ daemons: [DaemonRow]) -> Bool {
        let alive = daemons.filter(\.isAlive)
        return !alive.isEmpty
            && alive.allSatisfy { daemon in
                (daemon.report["unserved"]?.arrayValue ?? []).contains {
                    $0.stringValue == "\(key.app)/\(key.provider)"
                }
            }
    }

    /// Returns the provider's, or the system's, error text for an open breaker.
    ///
    /// - Parameters:
    ///   - key: the app, provider and environment.
    ///   - daemons: all daemons in the table.
    /// - Returns: the text; nil if no daemon reports one.
    static func said(_ key: ProviderKey, _ daemons: [DaemonRow]) -> String? {
        let name = "\(key.app)/\(key.provider)/\(key.environment)"
        for daemon in daemons.filter(\.isAlive) {
            if let words = daemon.report["failures"]?[name]?.stringValue {
                return "Unreachable or failing: \(words)"
            }
            if let words = daemon.report["refusals"]?[name]?.stringValue { return "Rejects this sender: \(words)" }
        }
        return nil
    }
}
