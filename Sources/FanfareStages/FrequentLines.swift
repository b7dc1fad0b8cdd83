internal import FanfareConfiguration
package import FanfareCore
internal import FanfareLogging
internal import FanfareProviders
package import Logging
internal import Threading

/// The key by which log lines about single pushes are limited: level, message, app, provider, rule and reason.
package struct LineKind: Hashable, Sendable {
    package let level: Logger.Level
    package let message: String
    package let app: String
    package let provider: String
    package let rule: String
    package let reason: String

    /// Creates a kind.
    package init(level: Logger.Level, message: String, app: String, provider: String, rule: String, reason: String) {
        (self.level, self.message, self.app) = (level, message, app)
        (self.provider, self.rule, self.reason) = (provider, rule, reason)
    }
}

/// Limits log lines about single pushes to 10 a second and kind, over all threads of a daemon.
package final class FrequentLines: Sendable {
    private static let perSecond = 10

    private let limiter = Locked(LineLimiter<LineKind>(limit: perSecond))

    /// Returns whether a line of this kind may be written now; otherwise counts it as left out.
    package func admit(_ kind: LineKind) -> Bool {
        limiter.withLock { $0.admits(kind, at: Clocks.steady) }
    }

    /// Logs how many lines were left out in the seconds that are over.
    ///
    /// - Parameters:
    ///   - logger: the logger to write to.
    ///   - now: steady time; `.max` at the end, when no more lines follow.
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
