import FanfareTools

extension CampaignStarted {
    /// The result on one line, for people.
    var text: String {
        guard let eventID else {
            guard problem != nil else { return "run \(runID), whose query is read now" }
            return "run \(runID) failed: \((problem ?? "no event was emitted").printable)"
        }
        return "run \(runID), event \(eventID)" + (devices.map { ", devices: \($0)" } ?? "")
    }
}
