import FanfareCore
import FanfareExplain
import FanfareTools

extension RuleJudgement {
    /// The judgement as text for people: the rule's name and `when`, then its audience.
    var text: String {
        let verdict =
            isMatched
            ? (when == nil ? "matches every event of its type" : "matches the event") : "does not match the event"
        var lines = ["\(app)/\(rule)  \(verdict)" + (when.map { "  (when: \($0.printable))" } ?? "")]
        if let gathered {
            let key = gathered.key.printable
            lines.append("  combined by '\(key)' and sent as one push \(gathered.leaves)")
        }
        switch audience {
        case .counted(let counts): lines += ([counts.text] + counts.suppressed.lines).map { "  " + $0 }
        case .asked: lines.append("  audience_sql selects the audience when the campaign runs")
        case .kept(let provider): lines.append("  \(provider.rawValue) manages the audience: one request for everyone")
        case .problem(let problem): lines.append("  no device: \(problem.printable)")
        case nil: break
        }
        return (lines + (user?.lines(isMatched: isMatched) ?? []).map { "  " + $0 }).joined(separator: "\n")
    }
}

extension JudgedUser {
    /// A line for each device of the user.
    func lines(isMatched: Bool) -> [String] {
        let name = id.printable
        guard isMatched else { return ["\(name) gets nothing: the rule does not match the event"] }
        guard !devices.isEmpty else { return ["\(name) gets nothing: no device of this user is registered for \(app)"] }
        return devices.map { device in
            let verdict = device.obstacle.map { "would not get it: \($0.printable)" } ?? "would get it"
            return "\(name): device \(device.id) (\(device.provider)) \(verdict)"
        }
    }
}
