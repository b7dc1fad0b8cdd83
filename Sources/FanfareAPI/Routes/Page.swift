internal import FanfareCore
internal import FanfareHTTP

/// The requested part of a list: `limit` and `after`.
struct Page: Sendable {
    /// The largest number of rows.
    let limit: Int64
    /// The position to continue after; nil for the beginning.
    let after: [Int64]?
    private let list: String
    private let cursors: CursorKey

    /// Reads the query.
    ///
    /// - Parameters:
    ///   - call: the request; its path and its other filters identify the list.
    ///   - numbers: how many numbers a position has.
    ///   - filters: the names of the list's filters.
    /// - Throws: a ``Problem`` for an unknown filter, an invalid limit or an invalid position.
    init(_ call: Call, numbers: Int, filters: [String] = []) async throws {
        let unknown = call.query.keys.filter { !(filters + ["limit", "after"]).contains($0) }.min()
        if let unknown {
            throw Problem(
                .malformed,
                "there is no filter “\(unknown)”",
                hint: "There are \(filters + ["limit", "after"])."
            )
        }
        let limit = call.query["limit"].map { Int64($0) ?? 0 } ?? 100
        guard (1...1000).contains(limit) else { throw Problem(.malformed, "limit is not a number from 1 to 1000") }
        self.limit = limit
        cursors = call.context.cursors
        list = ([call.path] + filters.map { "\($0)=\(call.query[$0] ?? "")" }).joined(separator: "\n")
        after =
            if let text = call.query["after"] {
                try await cursors.open(text, count: numbers, of: list)
            } else {
                nil
            }
    }

    /// Answers with one page of the list.
    ///
    /// - Parameters:
    ///   - rows: one more than ``limit`` if the list goes on.
    ///   - place: returns the position of a row.
    ///   - json: returns a row as JSON.
    /// - Returns: `data` and `next`; there is no total, which would need a full count.
    /// - Throws: ``ToolError`` if the database cannot be queried.
    func answer<Row>(
        _ rows: [Row],
        place: (Row) -> [Int64],
        json: (Row) -> JSONValue
    ) async throws -> Answer {
        let shown = rows.prefix(Int(limit))
        var next = JSONValue.null
        if rows.count > shown.count, let last = shown.last {
            next = .string(try await cursors.seal(place(last), of: list))
        }
        return Answer(["data": .array(shown.map(json)), "next": next])
    }

    /// Answers with one page of a list that is searched in bounded steps.
    ///
    /// - Parameters:
    ///   - rows: the rows found; possibly none, if the step ended before the first match.
    ///   - place: the position to continue from; nil at the end.
    /// - Returns: `data` and `next`.
    /// - Throws: ``ToolError`` if the database cannot be queried.
    func answer(_ rows: [JSONValue], next place: [Int64]?) async throws -> Answer {
        var next = JSONValue.null
        if let place { next = .string(try await cursors.seal(place, of: list)) }
        return Answer(["data": .array(rows), "next": next])
    }
}
