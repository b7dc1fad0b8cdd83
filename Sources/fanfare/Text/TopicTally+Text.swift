import FanfareTools

extension TopicTally {
    /// The counts as text for people.
    var text: String {
        var parts = ["\(done) done"]
        if gone > 0 { parts.append("\(gone) unknown to FCM: their next push disables them") }
        for (word, count) in refused.sorted(by: { $0.key < $1.key }) { parts.append("\(count) refused: \(word)") }
        if repeated > 0 { parts.append("\(repeated) requests repeated") }
        if unserved > 0 {
            parts.append("\(unserved) not served: run it again later, which requests every device again")
        }
        return parts.joined(separator: "\n")
    }
}
