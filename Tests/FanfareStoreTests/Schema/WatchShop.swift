import PostgresClient
import TestKit
import Testing

@testable import DaemonKit

/// A shop on a test's database, with roles of its own since those are cluster-wide.
///
/// `app` owns the tables and may emit, `web` writes to them and knows nothing of Fanfare, `rival` may emit too, `mallory`
/// may not.
final class WatchShop {
    let connection: PostgresConnection
    private let prefix: String

    init() throws {
        connection = try TestDatabase.current.connect()
        prefix = TestDatabase.current.name
        try run(
            as: nil,
            """
            CREATE ROLE {app}; GRANT fanfare_emitter TO {app};
            CREATE ROLE {web};
            CREATE ROLE {mallory};
            CREATE ROLE {rival}; GRANT fanfare_emitter TO {rival};
            CREATE SCHEMA shop AUTHORIZATION {app};
            CREATE SCHEMA den AUTHORIZATION {mallory};
            GRANT USAGE ON SCHEMA shop TO {web}, {mallory}, {rival};
            """
        )
        try run(
            as: "app",
            """
            ALTER DEFAULT PRIVILEGES GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE ON TABLES TO {web};
            ALTER DEFAULT PRIVILEGES GRANT EXECUTE ON FUNCTIONS TO {web}, {mallory};
            CREATE TABLE shop.orders (id bigint PRIMARY KEY, status text, total numeric, note text);
            SELECT fanfare.watch_table('shop.orders', 'order.changed', '{status,total}');
            """
        )
    }

    deinit {
        let roles = "{app}, {web}, {mallory}, {rival}"
        try? run(as: nil, "ROLLBACK; RESET SESSION AUTHORIZATION; DROP OWNED BY \(roles) CASCADE; DROP ROLE \(roles)")
    }

    /// Runs SQL as one of the roles, or as superuser; `{app}` and the like stand for the roles' real names.
    func run(as role: String?, _ sql: String) throws(PostgresError) {
        if let role { try connection.execute(named("SET SESSION AUTHORIZATION {\(role)}")) }
        do throws(PostgresError) {
            try connection.execute(named(sql))
        } catch {
            try connection.execute("ROLLBACK; RESET SESSION AUTHORIZATION; RESET ALL")
            throw error
        }
        try connection.execute("RESET SESSION AUTHORIZATION; SET search_path = fanfare, pg_catalog, pg_temp")
    }

    /// Returns the error of SQL that must fail.
    func refusal(as role: String?, _ sql: String) -> PostgresError? {
        do throws(PostgresError) {
            try run(as: role, sql)
            return nil
        } catch {
            return error
        }
    }

    /// Returns the payloads that statements add to the outbox, as jsonb prints them, sorted by operation.
    func payloads(as role: String? = "web", _ sql: String) throws -> [String] {
        try connection.execute("TRUNCATE fanfare.outbox")
        try run(as: role, sql)
        return try connection.column(
            "SELECT payload FROM fanfare.outbox ORDER BY payload ->> 'op', payload::text COLLATE \"C\""
        )
    }

    /// Returns the number of events of each type, as `type=n type=n`.
    func counts(as role: String? = "web", _ sql: String) throws -> String {
        try connection.execute("TRUNCATE fanfare.outbox")
        try run(as: role, sql)
        return try connection.column(
            "SELECT type || '=' || count(*) FROM fanfare.outbox GROUP BY type ORDER BY type"
        ).joined(separator: " ")
    }

    /// Inserts the roles' real names.
    func named(_ sql: String) -> String {
        ["app", "web", "mallory", "rival"].reduce(sql) { $0.replacing("{\($1)}", with: "\"\(prefix)_\($1)\"") }
    }
}
