public import Testing

/// Gives each test, and each of its arguments, a database of its own: ``TestDatabase/current``.
public struct DatabaseTrait: TestTrait, SuiteTrait, TestScoping {
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
        try await TestDatabase.with { try await function() }
    }
}

extension Trait where Self == DatabaseTrait {
    /// A database of the test's own, with the schema loaded, dropped afterwards.
    public static var database: Self { Self() }
}
