package import FanfareCore
package import FanfareRecords
package import FanfareTools
internal import PostgresClient
internal import Threading

/// The valid tokens, at most half a second old.
///
/// All tokens are read at once, so that requests with made-up tokens cause a bounded number of queries. Without
/// requests there are no queries.
package actor KnownTokens {
    /// How long the tokens are used before they are read again; a revoked token is refused after at most that long.
    static let age = Duration.milliseconds(500)
    /// How soon the tokens are read again for an unknown id, which may be a new token's.
    static let ageForUnknown = Duration.milliseconds(100)
    /// How often the use of a token is recorded.
    static let noteInterval = Duration.seconds(60)

    /// The number of queries run.
    private(set) var reads = 0
    private let database: ToolDatabase
    private let rate: Int
    private var known: [Int32: KnownToken] = [:]
    private var readAt: ContinuousClock.Instant?
    private var underWay: Task<Void, any Error>?
    private var used: Set<Int32> = []
    private var notedAt: [Int32: ContinuousClock.Instant] = [:]

    /// Creates an empty cache.
    ///
    /// - Parameters:
    ///   - database: the database with the tokens.
    ///   - rate: requests a second of a token without a limit of its own.
    init(_ database: ToolDatabase, rate: Int) {
        (self.database, self.rate) = (database, rate)
    }

    /// The number of entries kept; unknown tokens add none.
    var remembered: Int { known.count + used.count + notedAt.count }

    /// Finds the token of a request.
    ///
    /// - Parameter given: the token as received.
    /// - Returns: nil if there is none with that id, or the secret differs.
    /// - Throws: ``ToolError`` if the database cannot be queried.
    package func find(_ given: APIToken) async throws -> KnownToken? {
        guard let token = try await find(id: given.id), given.matches(token.row.secretHash) else { return nil }
        return token
    }

    /// Finds a token by id, without a check of the secret, which an earlier request has shown.
    ///
    /// - Parameter id: the token's id.
    /// - Returns: nil if there is no such token.
    /// - Throws: ``ToolError`` if the database cannot be queried.
    package func find(id: Int32) async throws -> KnownToken? {
        let asked = ContinuousClock.now
        if readAt.map({ asked - $0 > Self.age }) ?? true { try await read() }
        if known[id] == nil { try await readAgain(since: asked) }
        guard let token = known[id] else { return nil }
        used.insert(id)
        return token
    }

    /// Reads tokens created before a moment, at most once every ``ageForUnknown``.
    private func readAgain(since moment: ContinuousClock.Instant) async throws {
        // A read in progress may have started before that moment.
        for _ in 0..<2 {
            guard let readAt, readAt < moment else { return }
            try await Task.sleep(until: readAt + Self.ageForUnknown, clock: .continuous)
            if self.readAt == readAt { try await read() }
        }
    }

    /// Reads the tokens, or waits for a read in progress.
    private func read() async throws {
        if let underWay { return try await underWay.value }
        // Awaited below.
        let task = Task { try await readNow() }
        underWay = task
        defer { underWay = nil }
        try await task.value
    }

    private func readNow() async throws {
        let began = ContinuousClock.now
        reads += 1
        try await noteUse(at: began)
        var fresh: [Int32: KnownToken] = [:]
        for row in try await database.rows(of: SQL.listAPITokens(true)) {
            // A token keeps what is left of its rate limit.
            let budget = known[row.id].flatMap { $0.row.rate == row.rate ? $0.budget : nil }
            fresh[row.id] = KnownToken(row, budget: budget ?? RequestBudget(row.rate.map(Int.init) ?? rate))
        }
        known = fresh
        readAt = began
    }

    private func noteUse(at now: ContinuousClock.Instant) async throws {
        let due = used.filter { id in notedAt[id].map { now - $0 > Self.noteInterval } ?? true }
        used = []
        guard !due.isEmpty else { return }
        for id in due { notedAt[id] = now }
        _ = try await database.rows(of: SQL.noteTokenUse(due.sorted()))
    }
}

/// A valid token.
package struct KnownToken: Sendable {
    package let row: APITokenRow
    package let scopes: Set<TokenScope>
    package let budget: RequestBudget

    init(_ row: APITokenRow, budget: RequestBudget) {
        (self.row, self.budget) = (row, budget)
        // Scopes of newer versions are unknown here and allow nothing.
        scopes = Set(row.scopes.compactMap(TokenScope.init))
    }
}
