import FanfareService
import PostgresClient
import PrivateCluster
import TestKit

@testable import FanfareConfiguration
@testable import FanfareProviders
@testable import FanfareTools

/// Returns the commands' connection to the running test's database.
func toolDatabase(user: String? = nil, environment: [String: String] = [:]) throws -> ToolDatabase {
    try ToolDatabase(toolConfiguration(user: user), environment: environment)
}

/// Returns a configuration with a database URL.
///
/// - Parameters:
///   - yaml: the rest of the configuration.
///   - user: the user to connect as; nil for the superuser.
///   - url: the database; nil for the running test's.
func toolConfiguration(_ yaml: String? = nil, user: String? = nil, url: String? = nil) throws -> Configuration {
    var url = url ?? TestDatabase.current.url
    if let user { url = url.replacing("user=postgres", with: "user=\(user)") }
    return try Configuration.parse(
        yaml,
        named: "fanfare.yaml",
        directory: "/etc/fanfare",
        environment: ["DATABASE_URL": url]
    )
}

/// Runs SQL in the running test's database and returns the first column.
@discardableResult
func sql(_ text: String, _ binds: String?...) throws -> [String?] {
    let connection = try TestDatabase.current.connect()
    defer { connection.close() }
    return try connection.query(text, binds: binds).rows.map { $0.first ?? nil }
}

/// Runs a body with an empty database beside the test's own.
///
/// - Parameters:
///   - options: options of CREATE DATABASE.
///   - body: receives its name and its superuser's URL.
func withDatabase(_ options: String = "", _ body: (_ name: String, _ url: String) async throws -> Void) async throws {
    let name = TestDatabase.current.name + "_b"
    try sql("CREATE DATABASE \"\(name)\" TEMPLATE template0 \(options)")
    defer { _ = try? sql("DROP DATABASE \"\(name)\" WITH (FORCE)") }
    try await body(name, TestDatabase.current.cluster.connectionURL(database: name))
}

/// Runs a body with a role that may log in and has only the rights of another role.
///
/// - Parameters:
///   - parent: the role it is a member of; nil for none.
///   - body: receives its name.
func withRole(in parent: String?, _ body: (String) async throws -> Void) async throws {
    let role = TestDatabase.current.name.replacing("test_", with: "role_").replacing("-", with: "_")
    try sql("CREATE ROLE \(role) LOGIN" + (parent.map { " IN ROLE \($0)" } ?? ""))
    defer { _ = try? sql("DROP ROLE \(role)") }
    try await body(role)
}
