package import PostgresClient

/// A row of what reads so much of a log at a time, or where it stopped.
package enum SearchRow<Found: Sendable>: Sendable {
    /// What was looked for.
    case found(Found)
    /// The last row: nothing more was found up to here, and the search may go on behind it.
    case stopped(Stop)

    /// Where a search stopped.
    package struct Stop: Sendable, Equatable {
        /// The id behind which it goes on.
        package let place: Int64
        /// The time up to which was looked; nil where that is not known.
        package let at: Timestamp?
    }

    /// What was found; nil for the last row.
    package var found: Found? {
        guard case .found(let found) = self else { return nil }
        return found
    }

    /// Where the search stopped; nil for what was found.
    package var stop: Stop? {
        guard case .stopped(let stop) = self else { return nil }
        return stop
    }
}

/// How much is read for one page.
package enum SearchBudget {
    /// Rows of the log of events.
    package static let events: Int32 = 20_000
    /// Batches of one event, where a few pushes are looked for.
    package static let batches: Int32 = 1_000
    /// Batches of one event, where all pushes are counted.
    package static let counted: Int32 = 500
    /// Rows of the log of batches, for a user.
    package static let pushes: Int32 = 2_000
    /// Deliveries that were sent last, of which the ids of deliveries are reckoned.
    package static let deliveries: Int32 = 10_000
    /// Devices.
    package static let devices: Int32 = 20_000
}
