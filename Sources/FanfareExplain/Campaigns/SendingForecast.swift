internal import FanfareCampaigns
internal import FanfareCore
internal import FanfareTools
package import PostgresClient

/// A forecast of a campaign's pushes: when the first and the last leave, and how many expire.
///
/// It uses the limits of the campaign and of its app's policy (time zones, rates, ramp, canary, ttl). It assumes that
/// providers answer at once, that nothing else uses up the rates, and that the canary passes.
package struct SendingForecast: Equatable, Sendable {
    /// When the first push leaves; nil if none does.
    package let firstAt: Timestamp?
    /// When the last push leaves; without a rate, when it may leave.
    package let lastAt: Timestamp?
    /// The size of the canary; nil if there is none.
    package let canary: Int64?
    /// When the canary is judged; nil if there is none.
    package let judgedAt: Timestamp?
    /// The number of pushes that expire while they wait.
    package let expired: Int64
    /// Whether a rate determines when the last push leaves.
    package let isLimited: Bool
    /// Whether the ramp ends before the first push leaves.
    package let isRampWasted: Bool

    /// Computes the forecast.
    ///
    /// - Parameters:
    ///   - groups: the audience.
    ///   - begin: when the campaign fires.
    ///   - campaign: its rate, canary and ttl.
    ///   - limits: the limits of the app and its providers.
    init(
        _ groups: [CampaignCounts.Group],
        from begin: Timestamp,
        _ campaign: CampaignDefinition,
        _ limits: SendingLimits
    ) {
        let total = Double(groups.reduce(0) { $0 + $1.devices })
        let share =
            switch campaign.sample?.size {
            case nil: 1.0
            case .share(let share): share.part
            case .devices(let count): min(1, Double(count) / max(1, total))
            }
        let course = SendingCourse(begin: begin, ttl: campaign.timeToLive, canary: campaign.sample, share: share)
        let speed = SendingSpeed(campaign.rate, limit: limits.app)
        let judged = course.verdict(groups, speed)
        let whole = course.line(groups, speed, judged: judged)
        // A rate of one provider does not slow the pushes of the others.
        let parts = limits.providers.map { provider, limit in
            let slower = SendingSpeed(campaign.rate, limit: min(limit, limits.app ?? limit))
            return course.line(groups.filter { $0.provider == provider }, slower, judged: judged)
        }
        firstAt = course.time(whole.first)
        lastAt = course.time(([whole] + parts).compactMap(\.last).max())
        canary = campaign.sample.map { _ in Int64((total * share).rounded()) }
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

    /// The seconds between the first push and the last.
    package var seconds: Int64 {
        guard let firstAt, let lastAt else { return 0 }
        return (lastAt.microseconds - firstAt.microseconds) / 1_000_000
    }
}

/// The rates of an app's policy, in pushes a second.
package struct SendingLimits: Equatable, Sendable {
    /// The limit of the whole app; nil for none.
    package var app: Int?
    /// The limits by provider.
    package var providers: [String: Int] = [:]

    /// - Parameters:
    ///   - policy: the stored policy; nil if the app has none.
    ///   - lane: the lane of the pushes: the transactional lane is neither counted nor delayed.
    init(_ policy: JSONValue?, lane: Lane) {
        guard let policy, lane != .transactional else { return }
        app = Self.limit(policy["rate"])
        for member in policy["providers"]?.objectValue?.members ?? [] {
            providers[member.key] = Self.limit(member.value["rate"])
        }
    }

    private static func limit(_ json: JSONValue?) -> Int? {
        json.flatMap { try? CampaignRate($0) }?.perSecond
    }
}

/// The parameters that all lines of one campaign share.
private struct SendingCourse {
    /// The number of answers that a canary needs before it is judged, if it has that many.
    private static let answersNeeded = 100.0

    let begin: Timestamp
    let ttl: TimeSpan
    let canary: CampaignCanary?
    /// The canary's share of the audience.
    let share: Double

    /// When the canary is judged; nil if there is none.
    func verdict(_ groups: [CampaignCounts.Group], _ speed: SendingSpeed?) -> Double? {
        guard let canary else { return nil }
        var line = SendingLine(speed)
        _ = line.serve(parts(groups, share, from: 0))
        let wait = TimeSpan(canary.wait ?? CampaignCanary.standardWait)?.seconds ?? 0
        return max((line.first ?? 0) + Double(wait), line.time(of: min(Self.answersNeeded, line.sent)))
    }

    /// Sends all groups along one line.
    func line(_ groups: [CampaignCounts.Group], _ speed: SendingSpeed?, judged: Double?) -> SendingLine {
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
        _ groups: [CampaignCounts.Group],
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
