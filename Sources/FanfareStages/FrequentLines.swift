internal import FanfareConfiguration
package import FanfareCore
internal import FanfareLogging
internal import FanfareProviders
package import Logging
internal import Threading

/// What lines about single pushes have in common: for each message, rule and reason a bounded number is written.
package struct LineKind: Hashable, Sendable {
    package let level: Logger.Level
    package let message: String
    package let app: String
    package let provider: String
    package let rule: String
    package let reason: String

    /// Names a kind.
    package init(level: Logger.Level, message: String, app: String, provider: String, rule: String, reason: String) {
        (self.level, self.message, self.app) = (level, message, app)
        (self.provider, self.rule, self.reason) = (provider, rule, reason)
    }
}

/// Holds lines about single pushes to so many a second, for all threads of a daemon.
package final class FrequentLines: Sendable {
    private static let perSecond = 10

    private let limiter = Locked(LineLimiter<LineKind>(limit: perSecond))

    /// Whether a line of this kind may be written now; else it is counted.
    package func admit(_ kind: LineKind) -> Bool {
        limiter.withLock { $0.admits(kind, at: Clocks.steady) }
    }

    /// Writes how many lines were left out in seconds that are over.
    ///
    /// - Parameters:
    ///   - logger: where to.
    ///   - now: steady time; `.max` where no more lines come.
    package func tellLeftOut(to logger: Logger, at now: Microseconds = Clocks.steady) {
        for left in limiter.withLock({ $0.takeLeftOut(at: now) }) {
            let kind = left.kind
            logger.log(
                level: kind.level,
                "more of these lines were suppressed",
                metadata: .init([
                    .messageLeftOut: "\(kind.message)", .app: "\(kind.app)", .provider: "\(kind.provider)",
                    .ruleName: "\(kind.rule)", .reason: "\(kind.reason)", .count: "\(left.count)",
                ])
            )
        }
    }
}
