import TestKit

@testable import DaemonKit

/// A random combination of suppressions and schedules, drawn from a seed.
struct SuppressionCombination: Sendable, CustomStringConvertible {
    /// Its number, 0 to 29, which is part of the names of its users, topic, rule or campaign.
    let number: Int
    /// Its quiet hours, if any: `hold` or `drop`.
    let quiet: String?
    let isCampaign: Bool
    /// Whether it is scheduled by recipients' local time.
    let isLocal: Bool
    let isCanary: Bool
    let isDigest: Bool
    /// Pushes per second; for campaigns only.
    let rate: Int?
    /// The maximum number of events per user.
    let cap: Int?

    static let all = (0..<30).map { SuppressionCombination(number: $0, seed: 20_261_126) }

    private init(number: Int, seed: UInt64) {
        var chance = SeededGenerator(seed: seed + UInt64(number) * 7919)
        self.number = number
        quiet = ["hold", "drop", nil, "hold", "drop"].randomElement(using: &chance) ?? nil
        isCampaign = Bool.random(using: &chance)
        isLocal = Bool.random(using: &chance) && isCampaign
        isCanary = Bool.random(using: &chance) && isCampaign
        // Only rules have digests.
        isDigest = Bool.random(using: &chance) && !isCampaign
        let some = [nil, 5, 20].randomElement(using: &chance) ?? nil
        rate = isCampaign ? some : nil
        cap = [nil, 1, 2, nil].randomElement(using: &chance) ?? nil
    }

    var name: String { "m\(number)" }

    var description: String {
        let parts = [
            quiet.map { "quiet hours \($0)" }, isLocal ? "local time" : nil, isCanary ? "canary" : nil,
            isDigest ? "digest" : nil, rate.map { "\($0)/s" }, cap.map { "cap of \($0)" },
        ]
        return ([name, isCampaign ? "campaign" : "rule"] + parts.compactMap(\.self)).joined(separator: ", ")
    }

    // MARK: Recipients

    /// One of its twelve users.
    struct User: Sendable {
        let id: String
        /// The time zone; nil if unknown, which counts as UTC.
        let zone: String?
        let tokens: [String]
        /// Whether the user has opted out.
        let isOut: Bool

        /// Whether the quiet hours, which are by UTC, apply to the user.
        var isInUTC: Bool { zone != "Asia/Tokyo" }
    }

    var users: [User] {
        (0..<12).map { index in
            let base = "c5" + [number, index].map { String($0 + 256, radix: 16).suffix(2) }.joined()
            return User(
                id: "\(name)-\(index)",
                zone: ["UTC", "Asia/Tokyo", nil][index % 3],
                tokens: (0..<(index % 4 == 0 ? 2 : 1)).map { "\(base)0\($0)" },
                isOut: index == 11
            )
        }
    }

    // MARK: Definition

    /// Returns the JSON members that rules and campaigns share.
    ///
    /// - Parameter quietHours: the members of the quiet hours object for `hold`.
    func members(quietHours: String) -> String {
        var members = [
            isDigest
                ? #""message": {"notification": {"title": "{{count}}", "body": "{{#events}}{{n}} {{/events}}"}}"#
                : #""message": {"notification": {"title": "1", "body": "{{n}}"}}"#,
            #""category": "\#(name)""#, #""lane": "normal""#,
        ]
        if let quiet { members.append(#""quiet_hours": {\#(quietHours), "mode": "\#(quiet)"}"#) }
        if let rate { members.append(#""rate": "\#(rate)/s""#) }
        if let cap { members.append(#""caps": ["max\#(cap)"]"#) }
        if isLocal { members.append(#""ttl": "4h""#) }
        if isCanary { members.append(#""canary": {"share": "50%", "wait": "5s"}"#) }
        if isDigest { members.append(#""digest": {"every": "5s", "by": "{{user_id}}"}"#) }
        return members.joined(separator: ", ")
    }
}
