internal import FanfareConsoleView
internal import FanfareHTTP
internal import PostgresClient

extension Visit {
    /// Opens a position that this console sealed into the page's address.
    ///
    /// - Parameters:
    ///   - list: the list that the position belongs to.
    ///   - count: how many numbers a position has.
    ///   - name: the parameter's name in the address.
    /// - Returns: the numbers; nil if the address has none.
    /// - Throws: a ``Problem`` for a value that this console did not seal.
    func place(in list: String, count: Int = 1, _ name: String = "after") async throws -> [Int64]? {
        guard let text = filter(name) else { return nil }
        return try await call.context.cursors.open(text, count: count, of: list)
    }

    /// Returns the page's address with a sealed position.
    ///
    /// - Parameters:
    ///   - place: the position; nil for none.
    ///   - list: the list that the position belongs to.
    ///   - name: the parameter's name in the address.
    /// - Returns: the path and query; nil without a position.
    /// - Throws: ``ToolError`` if the database cannot be asked.
    func address(of place: [Int64]?, in list: String, _ name: String = "after") async throws -> String? {
        try await sealed(place, in: list).map { address([name: $0]) }
    }

    /// Seals a position for an address or a form.
    ///
    /// - Parameters:
    ///   - place: the position; nil for none.
    ///   - list: the list that the position belongs to.
    /// - Returns: the sealed position; nil without one.
    /// - Throws: ``ToolError`` if the database cannot be asked.
    func sealed(_ place: [Int64]?, in list: String) async throws -> String? {
        guard let place else { return nil }
        return try await call.context.cursors.seal(place, of: list)
    }
}

extension Pager {
    /// Creates the end of a list that is searched in bounded steps.
    ///
    /// - Parameters:
    ///   - shown: the size of the part.
    ///   - first: the address of the first part; nil on the first.
    ///   - next: the address of the next part.
    ///   - isStopped: whether the search stopped before the end of the list.
    ///   - searchedTo: the time back to which a stopped search looked.
    init(shown: String, first: String?, next: String?, isStopped: Bool, searchedTo: Timestamp? = nil) {
        self.init(
            shown: shown,
            first: first,
            next: isStopped ? nil : next,
            searchedTo: searchedTo.map { Moment($0.microseconds, .short) },
            further: isStopped ? next : nil
        )
    }
}
