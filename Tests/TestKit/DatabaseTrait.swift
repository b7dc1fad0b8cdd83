import PrivateCluster
public import Testing

/// Gives each test, and each of its arguments, a database of its own: ``TestDatabase/current``.
public struct DatabaseTrait: TestTrait, SuiteTrait, TestScoping {
    let hasOwnServer: Bool
    let hasWholeRing: Bool

    /// Applied to a suite, the trait applies to its tests.
    public var isRecursive: Bool { true }

    /// Runs one test with its database.
    ///
    /// - Parameters:
    ///   - test: ignored.
    ///   - testCase: ignored.
    ///   - function: the test.
    /// - Throws: the test's error, or the reason why there is no database.
    public func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        guard hasOwnServer else {
            return try await TestDatabase.with(hasWholeRing: hasWholeRing) { try await function() }
        }
        let server = try await onThread("cluster") { try TestCluster.start() }
        let outcome: Result<Void, any Error>
        do {
            outcome = .success(try await TestDatabase.with(on: server) { try await function() })
        } catch {
            outcome = .failure(error)
        }
        try? await onThread("cluster") { server.stop(.immediate) }
        try outcome.get()
    }
}

extension Trait where Self == DatabaseTrait {
    /// A database for the test alone, with the schema loaded, dropped afterwards.
    ///
    /// Its logs have few partitions, which hold the rows of all days.
    public static var database: Self { Self(hasOwnServer: false, hasWholeRing: false) }

    /// Like ``database`` with all partitions, for tests that name them.
    public static var databaseWithRing: Self { Self(hasOwnServer: false, hasWholeRing: true) }

    /// Like ``database`` on a server of its own, for tests that disrupt it.
    ///
    /// A suspended server process blocks sessions that create or drop a database, and then all new connections.
    public static var databaseOnOwnServer: Self { Self(hasOwnServer: true, hasWholeRing: false) }
}
