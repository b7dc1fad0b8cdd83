import TestKit
import Testing

/// Gives all tests of a suite one running `fanfare dev`: ``TestKit/DevProcess/current``.
struct DevTrait: SuiteTrait, TestScoping {
    /// Runs a suite with it.
    ///
    /// - Parameters:
    ///   - test: ignored.
    ///   - testCase: ignored.
    ///   - function: the suite.
    /// - Throws: what the suite throws, or why there is no such process.
    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        try await DevProcess.with { dev in
            try await DevProcess.$bound.withValue(dev) { try await function() }
        }
    }
}

extension Trait where Self == DevTrait {
    /// One `fanfare dev` for all tests of the suite.
    static var dev: Self { Self() }
}

extension DevProcess {
    @TaskLocal fileprivate static var bound: DevProcess?

    /// That of the running suite; traps in suites without the trait `dev`.
    static var current: DevProcess {
        guard let bound else { preconditionFailure("give the suite the trait .dev") }
        return bound
    }
}
