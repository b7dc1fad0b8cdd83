internal import FanfareStore
internal import PostgresClient

/// Copies the rows of a query from one session to another.
struct QueryRunTransfer {
    let queryRun: QueryRun
    let query: QueryRun.Query
    let owner: Int32
    let rows: QueryRows

    /// Stores all rows and completes the query run, in one transaction.
    ///
    /// - Parameters:
    ///   - first: the rows that are already fetched.
    ///   - connection: a connection outside a transaction.
    /// - Returns: the number of rows; nothing is stored if it throws.
    /// - Throws: the reason of the failure.
    func store(_ first: [[String?]], on connection: PostgresConnection) throws(QueryRunError) -> Int64 {
        do {
            return try connection.transaction(throwingAny: { connection in
                var count: Int64 = 0
                var (some, rows) = (first, rows)
                while !some.isEmpty {
                    if queryRun.testUsers != nil, case .payloads = query { break }
                    try store(some, after: count, on: connection)
                    count += Int64(some.count)
                    do throws(PostgresError) {
                        some = try rows.next()
                    } catch {
                        throw QueryRunError.query(error)
                    }
                }
                guard try connection.run(end(with: first)).first ?? false else { throw QueryRunError.taken }
                return count
            })
        } catch let problem as QueryRunError {
            throw problem
        } catch let error as PostgresError {
            throw .store(error)
        } catch {
            preconditionFailure("nothing else is thrown")
        }
    }

    private func end(with first: [[String?]]) throws(QueryRunError) -> StatementCall<Bool> {
        switch query {
        case .audience: return SQL.endQueryRun(queryRun.id, owner, queryRun.eventID, nil)
        case .payloads where queryRun.testUsers == nil:
            return SQL.endQueryRun(queryRun.id, owner, nil, nil)
        case .payloads:
            let sample = try first.first.map { row throws(QueryRunError) in try Self.payload(row) }
            return SQL.endQueryRun(queryRun.id, owner, queryRun.eventID, sample)
        }
    }

    private func store(_ some: [[String?]], after count: Int64, on connection: PostgresConnection) throws {
        switch query {
        case .audience:
            var buckets: [Int64] = []
            var users: [String] = []
            for row in some {
                guard let bucket = row[0].flatMap({ Int64($0) }), let user = row[1] else {
                    throw QueryRunError.row(sqlState: "22004", "audience_sql gives NULL for a user")
                }
                buckets.append(bucket)
                users.append(user)
            }
            let variables = try some.map { try Self.variables($0[2]) }
            _ = try connection.runReturningCount(
                SQL.storeAudience(queryRun.eventID, buckets, users, variables)
            )
        case .payloads:
            let payloads = try some.map { try Self.payload($0) }
            _ = try connection.runReturningCount(SQL.emitPayloads(queryRun.id, count, payloads))
        }
    }

    /// Returns a user's template variables; nil if there are none.
    private static func variables(_ text: String?) throws(QueryRunError) -> String? {
        guard let text, text != "null" else { return nil }
        guard text.hasPrefix("{") else {
            throw .row(sqlState: "22023", "audience_sql gives something else than a JSON object beside a user")
        }
        return text
    }

    private static func payload(_ row: [String?]) throws(QueryRunError) -> String {
        guard let text = row[0] else { throw .row(sqlState: "22004", "payload_sql gives NULL for a payload") }
        guard text.hasPrefix("{") else {
            throw .row(sqlState: "22023", "payload_sql gives something else than a JSON object")
        }
        return text
    }
}
