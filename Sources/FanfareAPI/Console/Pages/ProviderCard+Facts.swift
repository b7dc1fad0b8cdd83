internal import FanfareCore
internal import FanfareStore
internal import FanfareTools
internal import PostgresClient

extension ProviderCard {
    /// How long before its end a credential is warned of, in seconds.
    private static let warning: Int64 = 14 * 86_400

    /// Shows one app's way to one provider.
    ///
    /// - Parameters:
    ///   - key: which.
    ///   - digest: what was answered.
    ///   - span: in how much time.
    ///   - daemons: all that are on the list.
    ///   - credentials: those of this daemon's files that it is sent with.
    ///   - now: by the database's clock, in microseconds since 1970.
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
        let (badge, problem) = Self.badge(isOpen: isOpen, isServed: isServed || !lines.isEmpty, credentials, at: now)
        let worst = recent.worst.map { worst in
            let share = FigureText.share(worst.count, of: recent.total)
            let meaning = digest.meanings[worst.key].map { ": \($0)" } ?? ""
            return "\(share) of the last 5 minutes' answers are \(worst.key.outcome), \(worst.key.reason)\(meaning)"
        }
        self.init(
            id: "\(key.app)-\(key.platform)-\(key.environment)",
            app: key.app,
            provider: key.environment == "production" ? key.platform : "\(key.platform) \(key.environment)",
            badge: badge,
            words: problem ?? worst,
            perSecond: "\(FigureText.short(Double(recent.total) / digest.recentSeconds))/s",
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
            return (Badge(.bad, "credential of no use"), "\(broken.credential): \(broken.problem ?? "")")
        }
        if credentials.contains(where: { $0.endsAt.map { $0 - now / 1_000_000 < warning } ?? false }) {
            return (Badge(.warn, "credential ends"), nil)
        }
        return (isServed ? Badge(.good, "well") : Badge(.quiet, "nothing sent yet"), nil)
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
                name: "Answers in \(span.label)",
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
                ?? left.map { $0 > 0 ? "ends in \(FigureText.duration(Double($0)))" : "has ended" }
                ?? "holds until it is revoked"
            facts.append(Fact(name: credential.credential, words: words))
        }
        return facts
    }
}

extension ProviderDaemonLine {
    /// What daemons say of a provider.
    ///
    /// - Parameters:
    ///   - key: which.
    ///   - daemons: all that are on the list.
    ///   - isServed: whether anything was answered: a daemon tells of a breaker only once that has opened, and of none that always was
    ///     closed.
    /// - Returns: a line for each that lives and sends there.
    static func lines(_ key: ProviderKey, _ daemons: [DaemonRow], isServed: Bool) -> [ProviderDaemonLine] {
        let name = "\(key.app)/\(key.platform)/\(key.environment)"
        return daemons.filter(\.isAlive).compactMap { daemon in
            let word = daemon.report["breakers"]?[name]?.stringValue ?? (isServed ? "closed" : nil)
            guard let word else { return nil }
            return ProviderDaemonLine(
                daemon: daemon.name,
                breaker: word == "open" ? Badge(.bad, "open: only probes are sent") : Badge(.good, word)
            )
        }
    }
}
