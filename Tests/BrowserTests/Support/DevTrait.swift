import TestKit
import Testing

/// A trait that gives all tests of a suite one running `fanfare dev`: ``TestKit/DevProcess/current``.
struct DevTrait: SuiteTrait, TestScoping {
    /// Runs a suite with the process.
    ///
    /// - Parameters:
    ///   - test: ignored.
    ///   - testCase: ignored.
    ///   - function: the suite.
    /// - Throws: the suite's error, or the reason why the process did not start.
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

    /// The process of the running suite; traps in suites without the trait `dev`.
    static var current: DevProcess {
        guard let bound else { preconditionFailure("give the suite the trait .dev") }
        return bound
    }
}
