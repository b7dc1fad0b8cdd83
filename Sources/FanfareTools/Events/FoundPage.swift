public import FanfareRecords
package import PostgresClient

/// Pushes, and where their list continues.
public typealias FoundPushes = FoundPage<DeliveryRow, [Int64]>
/// Events, the newest first, and where their list continues.
package typealias FoundEvents = FoundPage<FoundEvent, EventPlace>

/// One page of a search that examines a limited number of rows at a time.
public struct FoundPage<Row: Sendable, Place: Sendable>: Sendable {
    /// What was found; may be empty although ``next`` leads to more.
    public let rows: [Row]
    /// Where the list continues; nil at its end.
    public let next: Place?
    /// The time back to which a stopped search looked.
    package var searchedTo: Timestamp?
    /// Whether the search stopped before the end of the list.
    package var isStopped = false
    /// Whether more events wait to be planned than the page holds, while ``next`` continues in the log.
    package var isMoreWaiting = false

    /// Assembles a page.
    package init(
        rows: [Row],
        next: Place?,
        searchedTo: Timestamp? = nil,
        isStopped: Bool = false,
        isMoreWaiting: Bool = false
    ) {
        (self.rows, self.next, self.searchedTo) = (rows, next, searchedTo)
        (self.isStopped, self.isMoreWaiting) = (isStopped, isMoreWaiting)
    }
}
