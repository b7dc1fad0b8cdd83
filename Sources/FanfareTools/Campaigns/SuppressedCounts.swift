package import FanfareCore
package import FanfareProviders
package import FanfareRecords

/// How many devices of an audience would get nothing or get the push later; the others are counted elsewhere.
package struct SuppressedCounts: Sendable, Equatable {
    /// The reasons for which the push comes later.
    private static let kept: [Suppression] = [.heldQuiet, .heldSnoozed]

    /// The number of devices by reason, each device counted once.
    package var counts: [Suppression: Int64]

    package init(counts: [Suppression: Int64] = [:]) {
        self.counts = counts
    }

    private var left: [Suppression] { Suppression.allCases.filter { !Self.kept.contains($0) } }

    /// Devices that get nothing, by reason, and devices that get the push later.
    package var json: (suppressed: JSONValue, later: JSONValue) { (json(left), json(Self.kept)) }

    /// The number of devices that get nothing.
    package var nothing: Int64 { left.reduce(0) { $0 + (counts[$1] ?? 0) } }
    /// Devices that get nothing, as in `296: held out 290, opted out 6`; nil if there are none.
    package var nothingText: String? { text(left) }
    /// Devices that get the push later, in the same form.
    package var laterText: String? { text(Self.kept) }

    private func text(_ reasons: [Suppression]) -> String? {
        let sum = reasons.reduce(0) { $0 + (counts[$1] ?? 0) }
        let parts = reasons.compactMap { reason in counts[reason].map { "\(reason.text) \($0)" } }
        return sum == 0 ? nil : "\(sum): \(parts.joined(separator: ", "))"
    }

    /// The counts as text for people; empty if all devices get the push at once.
    package var lines: [String] {
        [("would get nothing", left), ("would get it later", Self.kept)].compactMap { what, reasons in
            let parts = reasons.compactMap { reason in counts[reason].map { "\(reason.text) \($0)" } }
            let sum = reasons.reduce(0) { $0 + (counts[$1] ?? 0) }
            return sum == 0 ? nil : "of these \(sum) \(what): \(parts.joined(separator: ", "))"
        }
    }

    private func json(_ reasons: [Suppression]) -> JSONValue {
        var object = JSONObject()
        for reason in reasons { object[reason.key] = JSONValue(counts[reason] ?? 0) }
        return .object(object)
    }
}

extension Suppression {
    /// The key in JSON; the enclosing member tells whether the suppression is final.
    fileprivate var key: String {
        switch self {
        case .heldSnoozed: Suppression.snoozed.rawValue
        case .heldQuiet: Suppression.quiet.rawValue
        default: rawValue
        }
    }

    /// The reason as text for people.
    fileprivate var text: String {
        switch self {
        case .heldOut: "held out"
        case .optedOut: "opted out"
        case .snoozed, .heldSnoozed: "snoozed"
        case .quiet, .heldQuiet: "quiet hours"
        case .capped: "capped now"
        case .expired: "too late by then"
        }
    }
}

extension CompiledRule {
    /// Whether the audience is found by a scan of all devices, and planned in slices.
    package var isScanned: Bool {
        switch audience {
        case .topic, .condition, .everyone: true
        case .users, .usersSQL, .tokens, .staged, .native: false
        }
    }
}
