@testable import DaemonKit

extension HostileTable {
    /// Types, names and sizes.
    static let types = [
        HostileTable(
            "a domain over json",
            #"""
            CREATE DOMAIN doc AS json;
            CREATE TABLE t (id int PRIMARY KEY, j doc);
            SELECT fanfare.watch_table('t', 'hostile');
            """#,
            #"INSERT INTO t VALUES (1, '"\u0000"')"#,
            [refused("insert", ["j": nul])]
        ),
        HostileTable(
            "an array of json",
            "CREATE TABLE t (id int PRIMARY KEY, j json[]); SELECT fanfare.watch_table('t', 'hostile');",
            #"INSERT INTO t VALUES (1, ARRAY['1', '"\u0000"']::json[])"#,
            [refused("insert", ["j": nul])]
        ),
        HostileTable(
            "json in a composite",
            #"""
            CREATE TYPE pair AS (a int, j json);
            CREATE TABLE t (id int PRIMARY KEY, p pair);
            SELECT fanfare.watch_table('t', 'hostile');
            """#,
            #"INSERT INTO t VALUES (1, ROW(1, '"\u0000"'))"#,
            [refused("insert", ["p": nul])]
        ),
        HostileTable(
            "a cast to json that raises",
            mood("RAISE EXCEPTION ''secret %'', $1"),
            "INSERT INTO t VALUES (1, 'good', 'a'), (2, 'bad', 'a'); UPDATE t SET n = 'b'; DELETE FROM t WHERE id = 2",
            [
                #"insert {"m": "good", "n": "a", "id": 1}"#,
                refused("delete", ["m": "SQLSTATE P0001"]),
                refused("insert", ["m": "SQLSTATE P0001"]),
                refused("update", ["m": "SQLSTATE P0001"]),
                #"update {"m": "good", "n": "b", "id": 1} {"m": "good", "n": "a", "id": 1}"#,
            ]
        ),
        HostileTable(
            "a cast that asserts",
            mood("ASSERT false"),
            "INSERT INTO t VALUES (1, 'bad')",
            [refused("insert", ["m": "SQLSTATE P0004"])]
        ),
        HostileTable(
            "a cast to what is not json",
            mood("RETURN ''{''"),
            "INSERT INTO t VALUES (1, 'bad')",
            [refused("insert", ["m": halfAPair])]
        ),
        HostileTable(
            "a cast without a right",
            mood("PERFORM FROM fanfare.devices"),
            "INSERT INTO t VALUES (1, 'bad')",
            [refused("insert", ["m": "SQLSTATE 42501"])]
        ),
        HostileTable(
            "a cast that comes after the plan",
            #"""
            CREATE TYPE mood AS ENUM ('good', 'bad');
            CREATE TABLE t (id int PRIMARY KEY, m mood);
            SELECT fanfare.watch_table('t', 'hostile');
            INSERT INTO t VALUES (1, 'bad');
            CREATE FUNCTION told(mood) RETURNS json LANGUAGE plpgsql AS 'BEGIN RAISE division_by_zero; END';
            CREATE CAST (mood AS json) WITH FUNCTION told(mood);
            """#,
            "INSERT INTO t VALUES (2, 'bad')",
            [refused("insert", ["m": "SQLSTATE 22012"])]
        ),
        HostileTable(
            "names of the trigger's own",
            #"""
            CREATE TABLE t (id int PRIMARY KEY, fanfare_new int, fanfare_old int, fanfare_new_row int, fanfare_table int,
                told_new int, op int, "table" int, name int, value int);
            SELECT fanfare.watch_table('t', 'hostile');
            """#,
            "INSERT INTO t (id, fanfare_new_row) VALUES (1, 2)",
            [
                #"insert {"id": 1, "op": null, "name": null, "table": null, "value": null, "told_new": null, "fanfare_new": null, "fanfare_old": null, "fanfare_table": null, "fanfare_new_row": 2}"#
            ]
        ),
        HostileTable(
            "values at the edges",
            #"""
            CREATE TABLE t (id int PRIMARY KEY, at timestamptz, day date, f float8, d numeric, i int4multirange);
            SELECT fanfare.watch_table('t', 'hostile');
            """#,
            #"""
            SET TimeZone = 'UTC';
            INSERT INTO t VALUES (1, 'infinity', '-infinity', 'NaN', 'Infinity', '{[1,),(,-1)}'),
                (2, '4713-11-24 00:00:00+00 BC', '5874897-12-31', '-Infinity', 'NaN', '{}')
            """#,
            [
                #"insert {"d": "Infinity", "f": "NaN", "i": "{(,-1),[1,)}", "at": "infinity", "id": 1, "day": "-infinity"}"#,
                #"insert {"d": "NaN", "f": "-Infinity", "i": "{}", "at": "4713-11-24T00:00:00+00:00 BC", "id": 2, "day": "5874897-12-31"}"#,
            ]
        ),
        HostileTable(
            "columns that have no room together",
            "CREATE TABLE t (id int PRIMARY KEY, a text, b text, c text); SELECT fanfare.watch_table('t', 'hostile');",
            "INSERT INTO t SELECT 1, x, x, x FROM repeat('x', 90000000) AS x",
            [refused("insert", ["a": tooLarge, "b": tooLarge, "c": tooLarge])]
        ),
        HostileTable(
            "no columns",
            "CREATE TABLE t (); SELECT fanfare.watch_table('t', 'hostile', NULL, '{insert,delete}');",
            "INSERT INTO t DEFAULT VALUES; DELETE FROM t",
            [#"delete {}"#, #"insert {}"#]
        ),
    ]
}
