internal import FanfareLogging
internal import Logging
internal import PostgresClient

/// Why a query was not read.
enum QueryRunError: Error {
    /// What the query, or its session, ran into.
    case query(PostgresError)
    /// What became of storing its rows.
    case store(PostgresError)
    /// A row is none that can be; says nothing of what is in it.
    case row(sqlState: String, String)
    /// It was aborted meanwhile, or another daemon reads it.
    case taken

    /// Whether there is nothing to note.
    var isTaken: Bool {
        if case .taken = self { true } else { false }
    }

    /// Whether it may be another time: what says nothing about the query itself.
    ///
    /// A query that took too long (57014) would again.
    var mayPass: Bool {
        switch self {
        case .query(let error), .store(let error):
            guard let state = error.sqlState else { return error.code != .protocolMismatch }
            return error.isConnectionLost || ["40", "53"].contains(state.prefix(2)) || state.hasPrefix("57P0")
                || state == "55P03"
        case .row, .taken: return false
        }
    }

    /// What people are told, in the database: it may quote what the query reads.
    var detail: String {
        switch self {
        case .query(let error) where error.sqlState == "57014":
            "57014: the query took longer than it may, or was cancelled"
        case .query(let error), .store(let error): "\(error.sqlState ?? "\(error.code)"): \(error.message)"
        case .row(let state, let reason): "\(state): \(reason)"
        case .taken: ""
        }
    }

    /// What the log says, which quotes nothing.
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
