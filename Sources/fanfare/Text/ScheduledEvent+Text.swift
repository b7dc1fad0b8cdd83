import FanfareCore
import FanfareRecords
import FanfareTools

extension ScheduledEvent {
    /// Formats events as a table for people.
    ///
    /// - Parameter events: any number.
    /// - Returns: the table.
    static func table(_ events: [ScheduledEvent]) -> String {
        guard !events.isEmpty else { return "no event is scheduled" }
        var table = TextTable(["id", "at", "recipients' time", "type", "key", "app"])
        for event in events {
            table.append([
                "\(event.id)", event.at.rfc3339, event.wall ?? "-", event.type, event.key ?? "-", event.app ?? "-",
            ])
        }
        return table.text
    }
}
