import PrivateCluster
public import Testing

/// Gives each test, and each of its arguments, a database of its own: ``TestDatabase/current``.
public struct DatabaseTrait: TestTrait, SuiteTrait, TestScoping {
    let hasOwnServer: Bool
    let hasWholeRing: Bool

    /// On a suite it holds for the tests in it.
    public var isRecursive: Bool { true }

    /// Runs one test with its database.
    ///
    /// - Parameters:
    ///   - test: ignored.
    ///   - testCase: ignored.
    ///   - function: the test.
    /// - Throws: what the test throws, or why there is no database.
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
    /// A database of the test's own, with the schema loaded, dropped afterwards.
    ///
    /// Its logs have few partitions, which take the rows of all days.
    public static var database: Self { Self(hasOwnServer: false, hasWholeRing: false) }

    /// The same with all partitions, for tests that name them.
    public static var databaseWithRing: Self { Self(hasOwnServer: false, hasWholeRing: true) }

    /// The same on a server of the test's own, for tests that harm it: a server process that is stopped holds up
    /// whoever creates or drops a database, and with them everybody who connects.
    public static var databaseOnOwnServer: Self { Self(hasOwnServer: true, hasWholeRing: false) }
}
