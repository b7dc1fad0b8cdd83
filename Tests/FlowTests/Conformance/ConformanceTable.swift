import Testing

@testable import DaemonKit

/// The reasons in a provider's documentation and their expected handling, written independently of the sender's code.
struct ConformanceTable: Sendable, CustomTestStringConvertible {
    /// The tables of all providers.
    static let all: [ConformanceTable] = [.apns, .fcm, .webPush, .webhook]

    let provider: ProviderUnderTest
    /// Cases that do not affect other pushes: one daemon runs them all.
    let independent: [ConformanceCase]
    /// Cases after which the sender waits because its credential is refused.
    let stopping: [ConformanceCase]
    /// Cases after which the sender waits because the provider asks it to.
    let holding: [ConformanceCase]
    /// A reason that asks for fewer pushes, and the recorded outcome.
    let throttled: (reason: String, word: String)
    /// The fault's members for an expired credential; nil for a provider without expiring credentials.
    let expired: String?
    /// A body size in bytes that exceeds the provider's limit.
    let tooMuch: Int

    var testDescription: String { provider.rawValue }

    init(
        _ provider: ProviderUnderTest,
        independent: [ConformanceCase],
        stopping: [ConformanceCase] = [],
        holding: [ConformanceCase] = [],
        throttled: (reason: String, word: String),
        expired: String? = nil,
        tooMuch: Int = 4096
    ) {
        (self.provider, self.throttled, self.expired, self.tooMuch) = (provider, throttled, expired, tooMuch)
        (self.independent, self.stopping, self.holding) = (independent, stopping, holding)
    }
}

extension ConformanceCase {
    /// Creates a case that is refused once for a transient reason, and then accepted.
    static func once(_ provider: ProviderUnderTest, _ reason: String, _ word: String) -> ConformanceCase {
        let fault = #""reason": "\#(reason)", "times": 1"#
        return ConformanceCase(provider, reason, fault, "retrying/\(word)", "accepted/accepted")
    }

    /// Creates a case in which the sender is refused and the push waits.
    static func refused(
        _ provider: ProviderUnderTest,
        _ name: String,
        _ fault: String? = nil,
        as word: String
    ) -> ConformanceCase {
        var refused = ConformanceCase(provider, name, fault, "pending/not_attempted")
        refused.refusal = word
        return refused
    }
}
