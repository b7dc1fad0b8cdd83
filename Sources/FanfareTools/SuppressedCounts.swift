internal import FanfareCore
internal import FanfareProviders
internal import FanfareStore

/// How many devices of an audience would get nothing, or not at once; those that would are counted with the others.
struct SuppressedCounts: Sendable, Equatable {
    /// Those that get it later.
    private static let kept: [Suppression] = [.heldQuiet, .heldSnoozed]

    /// By reason, each device once.
    var counts: [Suppression: Int64] = [:]

    private var left: [Suppression] { Suppression.allCases.filter { !Self.kept.contains($0) } }

    /// Those that get nothing by reason, and those that get it later.
    var json: (suppressed: JSONValue, later: JSONValue) { (json(left), json(Self.kept)) }

    /// How many get nothing.
    var nothing: Int64 { left.reduce(0) { $0 + (counts[$1] ?? 0) } }
    /// As in `296: held out 290, opted out 6`; nil where there are none.
    var nothingText: String? { text(left) }
    /// The same of those that get it later.
    var laterText: String? { text(Self.kept) }

    private func text(_ reasons: [Suppression]) -> String? {
        let sum = reasons.reduce(0) { $0 + (counts[$1] ?? 0) }
        let parts = reasons.compactMap { reason in counts[reason].map { "\(reason.text) \($0)" } }
        return sum == 0 ? nil : "\(sum): \(parts.joined(separator: ", "))"
    }

    /// Nothing where all get it at once; for people.
    var lines: [String] {
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
    /// As a key; whether it is for good says where it stands.
    fileprivate var key: String {
        switch self {
        case .heldSnoozed: Suppression.snoozed.rawValue
        case .heldQuiet: Suppression.quiet.rawValue
        default: rawValue
        }
    }

    /// For people.
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
    /// Whether its audience is looked for among all devices, and planned in slices.
    var isScanned: Bool {
        switch audience {
        case .topic, .condition, .everyone: true
        case .users, .usersSQL, .tokens, .staged, .native: false
        }
    }
}
