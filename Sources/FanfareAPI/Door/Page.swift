internal import FanfareCore

/// Which part of a list is asked for: `limit` and `after`.
struct Page: Sendable {
    /// How many at most.
    let limit: Int64
    /// Behind which place; nil for the beginning.
    let after: [Int64]?
    private let list: String
    private let cursors: CursorKey

    /// Reads the query.
    ///
    /// - Parameters:
    ///   - call: the request; its path and its other filters say which list it is.
    ///   - numbers: how many say where the list goes on.
    ///   - filters: the names of the filters there are.
    /// - Throws: a ``Problem``.
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

    /// Answers with a part of the list.
    ///
    /// - Parameters:
    ///   - rows: one more than ``limit`` where there are further ones.
    ///   - place: by which numbers the list goes on behind a row.
    ///   - json: a row as JSON.
    /// - Returns: `data` and `next`; no total, which nobody could count.
    /// - Throws: ``ToolError`` if the database cannot be asked.
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

    /// Answers with a part of a list that is looked for so much at a time.
    ///
    /// - Parameters:
    ///   - rows: what was found; nothing, where the search ended before it found something.
    ///   - place: by which numbers the list goes on; nil where it does not.
    /// - Returns: `data` and `next`.
    /// - Throws: ``ToolError`` if the database cannot be asked.
    func answer(_ rows: [JSONValue], next place: [Int64]?) async throws -> Answer {
        var next = JSONValue.null
        if let place { next = .string(try await cursors.seal(place, of: list)) }
        return Answer(["data": .array(rows), "next": next])
    }
}
