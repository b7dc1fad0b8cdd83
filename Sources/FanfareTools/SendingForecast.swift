internal import FanfareCampaigns
internal import FanfareCore
internal import PostgresClient

/// What would become of a campaign's pushes if it fired: when the first and the last leave, and how many would be too late.
///
/// Goes by what the campaign and its app's policy say (time zones, rates, ramp, canary, ttl), and takes for granted that providers
/// answer at once, that nothing else uses up the rates, and that the canary passes.
struct SendingForecast: Equatable, Sendable {
    /// Devices of one provider that are due at the same time.
    struct Group: Equatable, Sendable {
        let provider: String
        let dueAt: Timestamp
        let devices: Int64
    }

    /// What a push without `ttl` has.
    static let standardTimeToLive = TimeSpan(seconds: 86_400)
    /// When the first push leaves; nil where none does.
    let firstAt: Timestamp?
    /// When the last push leaves; without a rate when it may.
    let lastAt: Timestamp?
    /// How many go first; nil where nobody does.
    let canary: Int64?
    /// When the canary is judged; nil where there is none.
    let judgedAt: Timestamp?
    /// How many would still wait when their time is over.
    let expired: Int64
    /// Whether a rate says when the last push leaves.
    let isLimited: Bool
    /// Whether the ramp is over before the first push leaves.
    let isRampWasted: Bool

    /// Reckons.
    ///
    /// - Parameters:
    ///   - groups: who gets it.
    ///   - begin: when the campaign fires.
    ///   - campaign: how fast it goes, whom first, and how long a push may wait.
    ///   - limits: what its app and its providers allow.
    init(_ groups: [Group], from begin: Timestamp, _ campaign: CampaignDefinition, _ limits: SendingLimits) {
        let total = Double(groups.reduce(0) { $0 + $1.devices })
        let share =
            switch campaign.canary?.size {
            case nil: 1.0
            case .share(let share): share.part
            case .devices(let count): min(1, Double(count) / max(1, total))
            }
        let course = SendingCourse(begin: begin, ttl: campaign.timeToLive, canary: campaign.canary, share: share)
        let speed = SendingSpeed(campaign.rate, limit: limits.app)
        let judged = course.verdict(groups, speed)
        let whole = course.line(groups, speed, judged: judged)
        // One provider's rate stops no other's pushes.
        let parts = limits.providers.map { provider, limit in
            let slower = SendingSpeed(campaign.rate, limit: min(limit, limits.app ?? limit))
            return course.line(groups.filter { $0.provider == provider }, slower, judged: judged)
        }
        firstAt = course.time(whole.first)
        lastAt = course.time(([whole] + parts).compactMap(\.last).max())
        canary = campaign.canary.map { _ in Int64((total * share).rounded()) }
        judgedAt = course.time(judged)
        expired = Int64(max(whole.expired, parts.reduce(0) { $0 + $1.expired }).rounded())
        isLimited = speed != nil || !parts.isEmpty
        isRampWasted =
            if judged == nil, let ramp = campaign.rate?.ramp, let first = whole.first {
                first >= Double(ramp.over.seconds)
            } else {
                false
            }
    }

    /// Seconds from the first push to the last.
    var seconds: Int64 {
        guard let firstAt, let lastAt else { return 0 }
        return (lastAt.microseconds - firstAt.microseconds) / 1_000_000
    }
}

/// How many pushes a second an app's policy allows.
struct SendingLimits: Equatable, Sendable {
    /// All of the app's; nil for as many as can be.
    var app: Int?
    /// Those by one provider.
    var providers: [String: Int] = [:]

    /// - Parameters:
    ///   - policy: as it was put; nil where the app has none.
    ///   - lane: where the pushes wait: the transactional lane is neither counted nor delayed.
    init(_ policy: JSONValue?, lane: Lane) {
        guard let policy, lane != .transactional else { return }
        app = Self.limit(policy["rate"])
        for member in policy["providers"]?.objectValue?.members ?? [] {
            providers[member.key] = Self.limit(member.value["rate"])
        }
    }

    private static func limit(_ json: JSONValue?) -> Int? {
        json.flatMap { try? CampaignRate($0, path: "rate") }?.perSecond
    }
}

/// What is the same for all lines of one campaign.
private struct SendingCourse {
    /// So many answers a canary is judged by at least, where there are so many.
    private static let answersNeeded = 100.0

    let begin: Timestamp
    let ttl: TimeSpan
    let canary: CampaignCanary?
    /// Which part of the audience goes first.
    let share: Double

    /// When the canary is judged; nil where there is none.
    func verdict(_ groups: [SendingForecast.Group], _ speed: SendingSpeed?) -> Double? {
        guard let canary else { return nil }
        var line = SendingLine(speed)
        _ = line.serve(parts(groups, share, from: 0))
        let wait = TimeSpan(canary.wait ?? CampaignCanary.standardWait)?.seconds ?? 0
        return max((line.first ?? 0) + Double(wait), line.time(of: min(Self.answersNeeded, line.sent)))
    }

    /// Sends it all.
    func line(_ groups: [SendingForecast.Group], _ speed: SendingSpeed?, judged: Double?) -> SendingLine {
        var line = SendingLine(speed)
        let left = line.serve(parts(groups, share, from: 0), until: judged ?? .infinity)
        if let judged {
            line.restartRamp(at: judged)
            _ = line.serve(left + parts(groups, 1 - share, from: judged))
        }
        return line
    }

    func time(_ seconds: Double?) -> Timestamp? {
        seconds.map { Timestamp(microseconds: begin.microseconds + Int64(($0 * 1_000_000).rounded())) }
    }

    private func parts(
        _ groups: [SendingForecast.Group],
        _ share: Double,
        from earliest: Double
    ) -> [SendingLine.Part] {
        groups.map { group in
            let due = Double(group.dueAt.microseconds - begin.microseconds) / 1_000_000
            let pushes = Double(group.devices) * share
            return SendingLine.Part(ready: max(due, earliest), deadline: due + Double(ttl.seconds), pushes: pushes)
        }
    }
}
