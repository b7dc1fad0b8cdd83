@testable import DaemonKit

/// A table that may break a watch: the SQL that creates it, the application's writes, and the events of its watch.
struct HostileTable: Sendable, CustomStringConvertible {
    let name: String
    /// The owner's SQL in schema `shop`, which creates and watches table `t`.
    let made: String
    /// The application's SQL, which must succeed.
    let write: String
    /// A line for each event, sorted: the operation and the new and old row, or `refused`, the operation and the
    /// reason.
    let told: [String]
    /// SQL that is true if the server has the feature that the case needs.
    let needs: String

    init(_ name: String, _ made: String, _ write: String, _ told: [String], needs: String = "SELECT true") {
        self.name = name
        self.made = made
        self.write = write
        self.told = told
        self.needs = needs
    }

    var description: String { name }

    /// Returns the line of an event without the columns that cannot be emitted.
    static func refused(_ operation: String, _ reasons: KeyValuePairs<String, String>) -> String {
        "refused \(operation) shop.t: "
            + reasons.map { "column \($0.key) cannot be emitted: \($0.value)" }.joined(separator: "; ")
    }

    static let nul = "SQLSTATE 22P05, for example a NUL in json"
    static let halfAPair = "SQLSTATE 22P02, for example half a surrogate pair in json"
    static let tooLarge = "it has more than 65536 bytes"

    /// Returns a table with an enum whose cast to json runs a statement for one of its values.
    static func mood(_ statement: String) -> String {
        """
        CREATE TYPE mood AS ENUM ('good', 'bad');
        CREATE FUNCTION told(mood) RETURNS json LANGUAGE plpgsql AS
            'BEGIN IF $1 = ''bad'' THEN \(statement); END IF; RETURN to_json($1::text); END';
        CREATE CAST (mood AS json) WITH FUNCTION told(mood);
        CREATE TABLE t (id int PRIMARY KEY, m mood, n text);
        SELECT fanfare.watch_table('t', 'hostile');
        """
    }

    static let virtual = "SELECT current_setting('server_version_num')::int >= 180000"

    /// Values of type json that jsonb cannot hold.
    static let json = [
        HostileTable(
            "a NUL in json",
            "CREATE TABLE t (id int PRIMARY KEY, j json, n text); SELECT fanfare.watch_table('t', 'hostile');",
            #"INSERT INTO t VALUES (1, '{"a": "\u0000"}'), (2, '{"a": 1}')"#,
            [#"insert {"j": {"a": 1}, "n": null, "id": 2}"#, refused("insert", ["j": nul])]
        ),
        HostileTable(
            "half a surrogate pair",
            "CREATE TABLE t (id int PRIMARY KEY, j json, n text); SELECT fanfare.watch_table('t', 'hostile');",
            #"INSERT INTO t VALUES (1, '"\ud83d cut"')"#,
            [refused("insert", ["j": halfAPair])]
        ),
        HostileTable(
            "a number beyond numeric",
            "CREATE TABLE t (id int PRIMARY KEY, j json, n text); SELECT fanfare.watch_table('t', 'hostile');",
            #"INSERT INTO t VALUES (1, '{"n": 1e400000}')"#,
            [refused("insert", ["j": "SQLSTATE 22003, for example a number that numeric cannot hold"])]
        ),
        HostileTable(
            "two columns at once",
            "CREATE TABLE t (id int PRIMARY KEY, a json, b json); SELECT fanfare.watch_table('t', 'hostile');",
            #"INSERT INTO t VALUES (1, '"\u0000"', '"\ud83d"')"#,
            [refused("insert", ["a": nul, "b": halfAPair])]
        ),
        HostileTable(
            "a row from before the watch",
            #"""
            CREATE TABLE t (id int PRIMARY KEY, j json, n text);
            INSERT INTO t VALUES (1, '"\u0000"', 'a');
            SELECT fanfare.watch_table('t', 'hostile');
            """#,
            "UPDATE t SET n = 'b'; DELETE FROM t",
            [refused("delete", ["j": nul]), refused("update", ["j": nul])]
        ),
        HostileTable(
            "a changed key",
            #"""
            CREATE TABLE t (id int PRIMARY KEY, j json, n text);
            INSERT INTO t VALUES (1, '"\u0000"');
            SELECT fanfare.watch_table('t', 'hostile');
            """#,
            "UPDATE t SET id = 2",
            [refused("delete", ["j": nul]), refused("insert", ["j": nul])]
        ),
        HostileTable(
            "an update that changes nothing, beside one that does",
            #"""
            CREATE TABLE t (id int PRIMARY KEY, j json, n text);
            INSERT INTO t VALUES (1, '"\u0000"', 'a'), (2, '1', 'b');
            SELECT fanfare.watch_table('t', 'hostile');
            """#,
            "UPDATE t SET n = 'b'",
            [refused("update", ["j": nul])]
        ),
        HostileTable(
            "operations that are not watched",
            #"""
            CREATE TABLE t (id int PRIMARY KEY, j json, n text);
            INSERT INTO t VALUES (1, '"\u0000"', 'a');
            SELECT fanfare.watch_table('t', 'hostile', NULL, '{update}');
            """#,
            #"INSERT INTO t VALUES (2, '"\u0000"'); UPDATE t SET id = 3, n = 'b' WHERE id = 2; UPDATE t SET n = 'c'; DELETE FROM t"#,
            [refused("update", ["j": nul]), refused("update", ["j": nul])]
        ),
        HostileTable(
            "a list without it",
            "CREATE TABLE t (id int PRIMARY KEY, j json, n text); SELECT fanfare.watch_table('t', 'hostile', '{n}');",
            #"INSERT INTO t VALUES (1, '"\u0000"', 'a'); UPDATE t SET j = '"\ud83d"'; UPDATE t SET n = 'b'"#,
            [#"insert {"n": "a", "id": 1}"#, #"update {"n": "b", "id": 1} {"n": "a", "id": 1}"#]
        ),
        HostileTable(
            "no key, no updates",
            "CREATE TABLE t (j json); SELECT fanfare.watch_table('t', 'hostile', NULL, '{insert,delete}');",
            #"INSERT INTO t VALUES ('"\u0000"'), ('1'); DELETE FROM t"#,
            [#"delete {"j": 1}"#, #"insert {"j": 1}"#, refused("delete", ["j": nul]), refused("insert", ["j": nul])]
        ),
        HostileTable(
            "an odd name",
            #"CREATE TABLE t (id int PRIMARY KEY, "Body ""x' %s" json); SELECT fanfare.watch_table('t', 'hostile');"#,
            #"INSERT INTO t VALUES (1, '"\u0000"')"#,
            [refused("insert", [#""Body ""x' %s""#: nul])]
        ),
    ]
}
