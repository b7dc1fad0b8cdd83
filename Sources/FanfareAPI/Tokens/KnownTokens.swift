internal import FanfareCore
internal import FanfareStore
internal import FanfareTools
internal import Threading

/// The tokens that may be asked with, at most half a second old.
///
/// All of them at once: however many are made up, the database is asked twice a second; and not at all while nobody asks.
actor KnownTokens {
    /// How long what was read counts; a token that is revoked is refused after that.
    static let age = Duration.milliseconds(500)
    /// How soon it is read again for one that is not on it: it may have just been made.
    static let ageForUnknown = Duration.milliseconds(100)
    /// How often the use of a token is written down.
    static let noteInterval = Duration.seconds(60)

    /// How often the database was asked.
    private(set) var reads = 0
    private let database: ToolDatabase
    private let rate: Int
    private var known: [Int32: KnownToken] = [:]
    private var readAt: ContinuousClock.Instant?
    private var underWay: Task<Void, any Error>?
    private var used: Set<Int32> = []
    private var notedAt: [Int32: ContinuousClock.Instant] = [:]

    /// Nothing is known yet.
    ///
    /// - Parameters:
    ///   - database: where the tokens are.
    ///   - rate: requests a second of a token that has no limit of its own.
    init(_ database: ToolDatabase, rate: Int) {
        (self.database, self.rate) = (database, rate)
    }

    /// How many entries it keeps: none for a token that nobody made.
    var remembered: Int { known.count + used.count + notedAt.count }

    /// Finds the token that somebody asks with.
    ///
    /// - Parameter given: as it came.
    /// - Returns: nil if there is none, or its secret is another.
    /// - Throws: ``ToolError`` if the database cannot be asked.
    func find(_ given: APIToken) async throws -> KnownToken? {
        guard let token = try await find(id: given.id), given.matches(token.row.secretHash) else { return nil }
        return token
    }

    /// Finds a token of which it was shown before that somebody has it.
    ///
    /// - Parameter id: the token's.
    /// - Returns: nil if there is none.
    /// - Throws: ``ToolError`` if the database cannot be asked.
    func find(id: Int32) async throws -> KnownToken? {
        let asked = ContinuousClock.now
        if readAt.map({ asked - $0 > Self.age }) ?? true { try await read() }
        if known[id] == nil { try await readAgain(since: asked) }
        guard let token = known[id] else { return nil }
        used.insert(id)
        return token
    }

    /// Reads what was made before a moment, but not more often than every ``ageForUnknown``.
    private func readAgain(since moment: ContinuousClock.Instant) async throws {
        // One that is under way may have begun before it.
        for _ in 0..<2 {
            guard let readAt, readAt < moment else { return }
            try await Task.sleep(until: readAt + Self.ageForUnknown, clock: .continuous)
            if self.readAt == readAt { try await read() }
        }
    }

    /// One reads, and all who come meanwhile wait for that.
    private func read() async throws {
        if let underWay { return try await underWay.value }
        // Awaited right below.
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
        for row in try await database.tokens(onlyValid: true) {
            // What it has used up of its limit stays used up.
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
        try await database.noteUse(of: due.sorted())
    }
}

/// A token that may be asked with.
struct KnownToken: Sendable {
    let row: APITokenRow
    let scopes: Set<TokenScope>
    let budget: RequestBudget

    init(_ row: APITokenRow, budget: RequestBudget) {
        (self.row, self.budget) = (row, budget)
        // A newer program's are unknown here, and allow nothing.
        scopes = Set(row.scopes.compactMap(TokenScope.init))
    }
}
