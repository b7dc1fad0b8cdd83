/// The result of planning an event; the raw value is stored in `event_log`.
public enum EventFate: Int16, CaseIterable, Sendable {
    /// In `outbox`, not planned yet.
    case waiting = 0
    /// Expanded, or being expanded, into deliveries.
    case planned = 1
    /// An earlier event had the same type and key.
    case duplicate = 2
    /// No rule matched it.
    case unmatched = 3
    /// Cancelled before it was planned.
    case cancelled = 4
    /// Past its `ttl` before it was planned.
    case expired = 5
    /// It cannot be planned; the event's detail has the reason.
    case refused = 6

    /// The text in column `fate` of view `events`.
    public var name: String {
        switch self {
        case .waiting: "waiting"
        case .planned: "planned"
        case .duplicate: "duplicate"
        case .unmatched: "unmatched"
        case .cancelled: "cancelled"
        case .expired: "expired"
        case .refused: "refused"
        }
    }
}
