import Foundation
public import PostgresClient
public import PrivateCluster

/// A database for one test, with the schema loaded.
public struct TestDatabase: Sendable {
    /// Its name.
    public let name: String
    /// A libpq URL for its superuser.
    public let url: String
    /// The server that it is on.
    public let cluster: PrivateCluster

    @TaskLocal private static var bound: TestDatabase?

    /// The database of the running test.
    ///
    /// Traps outside tests with the trait ``DatabaseTrait``. Not available on other threads: capture it before.
    public static var current: TestDatabase {
        guard let bound else { preconditionFailure("give the test the trait .database") }
        return bound
    }

    /// Creates a database, runs a body with it as ``current``, and drops it.
    ///
    /// - Parameters:
    ///   - cluster: the server; nil for the shared one.
    ///   - hasWholeRing: whether its logs have all 32 partitions.
    ///   - body: the test.
    /// - Throws: the error of `body`, or the reason why there is no database.
    public static func with(
        on cluster: PrivateCluster? = nil,
        hasWholeRing: Bool = false,
        _ body: () async throws -> Void
    ) async throws {
        let database = try await create(on: cluster, hasWholeRing: hasWholeRing)
        let outcome: Result<Void, any Error>
        do {
            outcome = .success(try await $bound.withValue(database, operation: body))
        } catch {
            outcome = .failure(error)
        }
        // A test may have stopped its cluster.
        try? await onThread("drop") { try database.cluster.dropDatabase(database.name) }
        try outcome.get()
    }

    /// Creates a database that the caller drops, or that is deleted with its cluster.
    ///
    /// - Parameters:
    ///   - cluster: the server; nil for the shared one.
    ///   - hasWholeRing: whether its logs have all 32 partitions.
    /// - Returns: a copy of the template.
    /// - Throws: the reason why there is none.
    public static func create(
        on cluster: PrivateCluster? = nil,
        hasWholeRing: Bool = false
    ) async throws -> TestDatabase {
        let template = hasWholeRing ? TestCluster.Template.wholeRing : .shortRing
        let server: PrivateCluster
        if let cluster { server = cluster } else { server = try await TestCluster.shared() }
        let name = "test_" + UUID().uuidString.prefix(13).lowercased()
        return try await onThread("create") {
            try TestCluster.prepare(template, on: server)
            try server.createDatabase(name, template: template.rawValue)
            return TestDatabase(name: name, url: server.connectionURL(database: name), cluster: server)
        }
    }

    /// Opens a session on the calling thread; blocks for a millisecond or two.
    ///
    /// - Parameter session: the settings to pin.
    /// - Returns: a session of the superuser.
    /// - Throws: the reason why there is none.
    public func connect(_ session: SessionSettings = .plain) throws(PostgresError) -> PostgresConnection {
        try .open(PostgresOptions(url: url, applicationName: "test", session: session))
    }
}
