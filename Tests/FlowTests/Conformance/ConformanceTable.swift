import Testing

@testable import DaemonKit

/// What a provider's documentation says of each of its reasons: written down once more, apart from the sender's code.
struct ConformanceTable: Sendable, CustomTestStringConvertible {
    /// Those of all providers.
    static let all: [ConformanceTable] = [.apns, .fcm, .webPush, .webhook]

    let provider: ProviderUnderTest
    /// Cases that stop nobody else: one daemon takes them all.
    let independent: [ConformanceCase]
    /// Cases after which a sender waits, since its credential is refused.
    let stopping: [ConformanceCase]
    /// Cases after which a sender waits, since everything it sends is to wait.
    let holding: [ConformanceCase]
    /// A reason that asks for fewer pushes, and what is recorded of it.
    let throttled: (reason: String, word: String)
    /// The members of a fault that calls the sender's credential expired; nil where it has none that can.
    let expired: String?
    /// Bytes that are more than it takes.
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
    /// Once refused for a passing reason, then taken.
    static func once(_ provider: ProviderUnderTest, _ reason: String, _ word: String) -> ConformanceCase {
        let fault = #""reason": "\#(reason)", "times": 1"#
        return ConformanceCase(provider, reason, fault, "retrying/\(word)", "accepted/accepted")
    }

    /// The sender is refused, and the push waits.
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
