package import PostgresClient

/// A row of a search that reads a limited part of a log, or the place where it stopped.
package enum SearchRow<Found: Sendable>: Sendable {
    /// A row that was found.
    case found(Found)
    /// The last row: the limit was reached here, and the search may continue after it.
    case stopped(Stop)

    /// The place where a search stopped.
    package struct Stop: Sendable, Equatable {
        /// The id after which it continues.
        package let place: Int64
        /// The time up to which rows were read; nil if that is not known.
        package let at: Timestamp?
    }

    /// The row that was found; nil for the last row.
    package var found: Found? {
        guard case .found(let found) = self else { return nil }
        return found
    }

    /// The place where the search stopped; nil for a row that was found.
    package var stop: Stop? {
        guard case .stopped(let stop) = self else { return nil }
        return stop
    }
}

/// The rows read for one page.
package enum SearchBudget {
    /// Rows of the log of events.
    package static let events: Int32 = 20_000
    /// Batches of one event, for a search of a few pushes.
    package static let batches: Int32 = 1_000
    /// Batches of one event, for a count of all pushes.
    package static let counted: Int32 = 500
    /// Rows of the log of batches, for a user.
    package static let pushes: Int32 = 2_000
    /// The last deliveries sent, for finding a delivery by its computed id.
    package static let deliveries: Int32 = 10_000
    /// Devices.
    package static let devices: Int32 = 20_000
}
