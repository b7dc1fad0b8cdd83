internal import FanfareLogging
internal import Logging
internal import PostgresClient

/// The reasons why a query run failed.
enum QueryRunError: Error {
    /// An error of the query or its session.
    case query(PostgresError)
    /// An error while its rows were stored.
    case store(PostgresError)
    /// A row that is not valid; the text does not quote the row.
    case row(sqlState: String, String)
    /// The run was aborted, or another daemon runs its query.
    case taken

    /// Whether the run no longer belongs to this daemon, so that there is nothing to store.
    var isTaken: Bool {
        if case .taken = self { true } else { false }
    }

    /// Whether the error is transient, that is, not caused by the query itself.
    ///
    /// A query that timed out (57014) counts as permanent, because it would time out again.
    var mayPass: Bool {
        switch self {
        case .query(let error), .store(let error):
            guard let state = error.sqlState else { return error.code != .protocolMismatch }
            return error.isConnectionLost || ["40", "53"].contains(state.prefix(2)) || state.hasPrefix("57P0")
                || state == "55P03"
        case .row, .taken: return false
        }
    }

    /// The text stored in the database for operators; it may quote data that the query read.
    var detail: String {
        switch self {
        case .query(let error) where error.sqlState == "57014":
            "57014: the query took longer than it may, or was cancelled"
        case .query(let error), .store(let error): "\(error.sqlState ?? "\(error.code)"): \(error.message)"
        case .row(let state, let reason): "\(state): \(reason)"
        case .taken: ""
        }
    }

    /// Adds the error to log metadata, without quoting data.
    func describe(in metadata: inout Logger.Metadata) {
        switch self {
        case .query(let error), .store(let error):
            metadata[.error] = "\(error)"
            metadata[.sqlState] = error.sqlState.map { "\($0)" }
        case .row(let state, let reason):
            metadata[.detail] = "\(reason)"
            metadata[.sqlState] = "\(state)"
        case .taken: break
        }
    }
}
