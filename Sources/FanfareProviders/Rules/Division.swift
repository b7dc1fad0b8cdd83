internal import FanfareCore
internal import PushCrypto

/// The assignment of users to a rule's variants and holdout, the same in every process and in SQL
/// (`fanfare.rule_groups`, `fanfare.group_of`).
///
/// Two independent hash buckets decide, one for the holdout and one for the variant; both are independent of the order
/// in which a campaign reaches users. The seed contains the rule's name, so that a campaign that is dropped and created
/// again keeps its assignment, as does the campaign that tests it.
package struct Division: Sendable {
    /// The group of a user.
    package enum Group: Equatable, Sendable {
        /// The user gets no push.
        case heldOut
        /// The index of the user's variant; 0 if the rule has no variants.
        case variant(Int)
    }

    /// The number of buckets.
    private static let all: Int64 = 1 << 32

    private let seed: String
    /// The number of buckets, from 0, that get no push.
    private let holdout: Int64
    /// The cumulative weights of the variants.
    private let upTo: [Int64]

    /// Creates the assignment of a rule; nil if it has neither variants nor a holdout.
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

    /// Returns the group of a user.
    ///
    /// - Parameter who: the result of ``who(user:device:)`` for a device.
    /// - Returns: the same group on every call.
    package func group(of who: String) -> Group { isHeldOut(who) ? .heldOut : .variant(variant(of: who)) }

    /// Returns whether a user is held out.
    ///
    /// - Parameter who: the result of ``who(user:device:)`` for a device.
    /// - Returns: the same answer on every call.
    package func isHeldOut(_ who: String) -> Bool { holdout > 0 && Self.bucket("\(seed):holdout", who) < holdout }

    /// Returns the index of a user's variant, regardless of the holdout.
    ///
    /// - Parameter who: the result of ``who(user:device:)`` for a device.
    /// - Returns: the same index on every call; 0 if there are no variants.
    package func variant(of who: String) -> Int {
        guard let sum = upTo.last else { return 0 }
        let point = (Self.bucket("\(seed):variant", who) * sum) >> 32
        return upTo.firstIndex { $0 > point } ?? 0
    }

    /// Returns the key by which users are assigned: the user's id, or a key of the device's own if it has no user.
    ///
    /// - Parameters:
    ///   - user: the device's user; nil for none.
    ///   - device: its id.
    /// - Returns: the key, which all devices of a user share.
    package static func who(user: String?, device: Int64) -> String { user ?? "device:\(device)" }

    /// Returns a bucket from 0 to 2^32 - 1, the same as `fanfare.bucket`.
    private static func bucket(_ seed: String, _ who: String) -> Int64 {
        sha256(Array("\(seed):\(who)".utf8)).prefix(4).reduce(0) { $0 << 8 | Int64($1) }
    }
}
