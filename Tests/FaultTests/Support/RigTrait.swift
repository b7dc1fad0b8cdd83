import Testing

/// A trait that gives the tests of a suite one rig, ``Rig/current``, with three daemons at the start of each test.
struct RigTrait: SuiteTrait, TestScoping {
    @TaskLocal static var rig: Rig?

    /// False: once around the suite, not around each of its tests.
    var isRecursive: Bool { false }

    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        let rig = try await Rig.start()
        let outcome: Result<Void, any Error>
        do {
            try await rig.serve(3)
            try await Self.$rig.withValue(rig) { try await function() }
            try await rig.searchLogsForSecrets()
            outcome = .success(())
        } catch {
            outcome = .failure(error)
        }
        await rig.stop()
        try outcome.get()
    }
}

extension Trait where Self == RigTrait {
    /// Three daemons, a database and the simulated providers, shared by the suite's tests.
    static var rig: Self { Self() }
}

extension Rig {
    /// The rig of the running suite.
    static var current: Rig {
        get throws { try #require(RigTrait.rig, "give the suite the trait .rig") }
    }
}
