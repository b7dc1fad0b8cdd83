import FanfareTools
import PostgresClient

extension TailLine {
    /// The line for people.
    ///
    /// - Parameter colour: whether to colour the line for a terminal.
    /// - Returns: one line.
    func text(colour: Bool) -> String {
        let time = String(at.rfc3339.dropFirst(11).prefix(12))
        let lag = lagMilliseconds.map { "\($0) ms" } ?? ""
        let event = eventID.map { "\($0)" } ?? ""
        var cells: [String]
        let word: String
        switch subject {
        case .event(let fate, let key, let detail):
            word = fate
            let trace = traceID.map { "trace \($0)" }
            cells = ["event", eventType, event, key.map { "key \($0)" }, detail, trace].compactMap { $0 }
        case .push(let push):
            word = push.outcome
            let user = push.userID.map { "user \($0) · " } ?? ""
            cells = [
                "push", eventType, event, "\(push.app)/\(push.rule)",
                "\(user)\(push.provider) device \(push.deviceID)",
            ]
            if push.reason != push.outcome { cells.append(push.reason) }
            if let detail = push.detail { cells.append(detail) }
            if push.attempt > 1 { cells.append("attempt \(push.attempt)") }
        case .campaign(let progress):
            word = progress.state
            cells = ["campaign", eventType, event, progress.details]
        }
        cells = ([time] + cells + [lag]).filter { !$0.isEmpty }.map(\.printable)
        cells.insert(colour ? Self.coloured(word) : word, at: 2)
        return cells.joined(separator: "  ")
    }

    /// Colours a word: green for success, yellow for waiting, red for a problem, dim for the rest.
    private static func coloured(_ word: String) -> String {
        let code =
            switch word {
            case "accepted", "planned", "running", "done": "32"
            case "retrying", "waiting", "attempted", "pending", "aborting": "33"
            case "gone", "rejected", "refused", "exhausted", "unknown", "failed", "aborted": "31"
            default: "2"
            }
        return "\u{1B}[\(code)m\(word)\u{1B}[0m"
    }
}
