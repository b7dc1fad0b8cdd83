internal import FanfareCore
internal import PushCrypto

/// How a rule divides people, the same in every process and in SQL: `fanfare.rule_groups`, `fanfare.group_of`.
///
/// By two buckets of each, which have nothing to do with each other, nor with who goes first in a campaign; and by the rule's name, so
/// that a campaign that is dropped and put again means the same people, as does the one that tests it.
package struct Division: Sendable {
    /// What somebody gets.
    package enum Group: Equatable, Sendable {
        /// Nothing.
        case heldOut
        /// The variant at this place; the first of none where the rule has no variants.
        case variant(Int)
    }

    /// Everyone, in buckets.
    private static let all: Int64 = 1 << 32

    private let seed: String
    /// Who is below gets nothing.
    private let holdout: Int64
    /// The sum of the weights, to each variant and with it.
    private let upTo: [Int64]

    /// Divides by a rule's variants and holdout; nil where it has neither.
    init?(_ rule: RuleDefinition) {
        let perMillion = rule.groups.holdout?.perMillion ?? 0
        guard !rule.groups.variants.isEmpty || perMillion > 0 else { return nil }
        seed = "\(rule.app)/\(RuleNames.divided(rule.name))"
        holdout = (perMillion * Self.all + 999_999) / 1_000_000
        var (sum, upTo): (Int64, [Int64]) = (0, [])
        for variant in rule.groups.variants {
            sum += variant.weight
            upTo.append(sum)
        }
        self.upTo = upTo
    }

    /// What somebody gets.
    ///
    /// - Parameter who: what ``who(user:device:)`` makes of a device.
    /// - Returns: always the same.
    package func group(of who: String) -> Group { isHeldOut(who) ? .heldOut : .variant(variant(of: who)) }

    /// Whether somebody gets nothing.
    ///
    /// - Parameter who: what ``who(user:device:)`` makes of a device.
    /// - Returns: always the same.
    package func isHeldOut(_ who: String) -> Bool { holdout > 0 && Self.bucket("\(seed):holdout", who) < holdout }

    /// The place of the variant that somebody gets who gets anything.
    ///
    /// - Parameter who: what ``who(user:device:)`` makes of a device.
    /// - Returns: always the same; 0 where there is none.
    package func variant(of who: String) -> Int {
        guard let sum = upTo.last else { return 0 }
        let point = (Self.bucket("\(seed):variant", who) * sum) >> 32
        return upTo.firstIndex { $0 > point } ?? 0
    }

    /// Whose device it is: all devices of a user are one, who is nobody's device is one by itself.
    ///
    /// - Parameters:
    ///   - user: the device's user; nil for none.
    ///   - device: its id.
    /// - Returns: what people are told apart by.
    package static func who(user: String?, device: Int64) -> String { user ?? "device:\(device)" }

    /// From 0 below 2^32: the same as `fanfare.bucket`.
    private static func bucket(_ seed: String, _ who: String) -> Int64 {
        sha256(Array("\(seed):\(who)".utf8)).prefix(4).reduce(0) { $0 << 8 | Int64($1) }
    }
}
