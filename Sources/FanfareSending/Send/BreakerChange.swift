internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareLogging
internal import FanfareProviders
internal import FanfareStages
internal import FanfareStore
internal import Logging
internal import PushTransport

/// The reason of a breaker's change.
struct BreakerReason: Sendable {
    /// The reason code, from table `outcome_codes`.
    let reason: String
    /// The text of the provider or the operating system; nil if there is none.
    let words: String?

    /// Creates a reason from a push's outcome.
    init(_ outcome: Outcome, in words: String? = nil) {
        reason = outcome.reason
        self.words = words
    }
}

extension BreakerReport {
    /// Creates a report of a pool's open breakers.
    init(_ standing: Breakers.Standing) {
        func named(_ told: [BreakerScope: String]) -> [String: String] {
            Dictionary(told.map { ($0.key.words, $0.value) }) { first, _ in first }
        }
        self.init(
            isOpen: standing.isAnyOpen,
            refusals: named(standing.refusals),
            failures: named(standing.failures)
        )
    }
}

extension BreakerScope {
    /// The name of the scope; empty for all requests to a provider with one endpoint.
    fileprivate var words: String {
        switch self {
        case .provider: ""
        case .origin(let endpoint): "\(endpoint.authority)"
        case .device(let id): "device \(id)"
        case .topic(let topic): topic
        }
    }
}

/// A change of a breaker between open and closed.
struct BreakerChange: Sendable {
    let scope: BreakerScope
    /// The cause of opening; nil if the breaker closed.
    let cause: Breaker.Cause?
    let why: BreakerReason?

    /// Logs the change as one line.
    ///
    /// - Parameters:
    ///   - logger: the logger to write to.
    ///   - target: the target whose senders the breaker holds back.
    func tell(to logger: Logger, about target: Target) {
        var metadata = target.metadata()
        switch scope {
        case .provider: break
        case .origin(let endpoint): metadata[.endpoint] = "\(endpoint.authority)"
        case .device(let id):
            metadata[.deviceID] = "\(id)"
            return tell(to: logger, aboutDevice: metadata)
        case .topic(let topic): metadata[.topic] = "\(topic)"
        }
        guard let cause else {
            return logger.notice("a provider works again", metadata: metadata)
        }
        metadata[.reason] = why.map { "\($0.reason)" }
        metadata[.error] = why?.words.map { "\($0)" }
        switch cause {
        case .failures(let failures, let answers):
            metadata[.detail] = "\(failures) of \(answers) answers in 10 s were failures"
            logger.warning("a provider fails; only probes are sent", metadata: metadata)
        case .unreachable(let connects):
            metadata[.detail] = "\(connects) connects in a row failed"
            logger.warning("a provider fails; only probes are sent", metadata: metadata)
        case .refused:
            logger.error("a provider refuses this sender; only probes are sent", metadata: metadata)
        case .asked(let wait):
            metadata[.durationMilliseconds] = "\(wait / Micros.millisecond)"
            logger.warning("the provider asks this sender to wait", metadata: metadata)
        }
    }

    /// Logs at level info, because a single failing device concerns only its owner.
    private func tell(to logger: Logger, aboutDevice metadata: Logger.Metadata) {
        guard cause != nil else { return logger.info("an address works again", metadata: metadata) }
        var metadata = metadata
        metadata[.reason] = why.map { "\($0.reason)" }
        logger.info("an address fails; only probes are sent to it", metadata: metadata)
    }
}
