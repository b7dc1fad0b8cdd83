@testable import DaemonKit

extension HostileTable {
    /// Tables that change, triggers that write, and columns that are computed.
    static let changes = [
        HostileTable(
            "json that came later",
            #"""
            CREATE TABLE t (id int PRIMARY KEY);
            SELECT fanfare.watch_table('t', 'hostile');
            INSERT INTO t VALUES (0);
            ALTER TABLE t ADD j json;
            """#,
            #"INSERT INTO t VALUES (1, '"\u0000"')"#,
            [refused("insert", ["j": nul])]
        ),
        HostileTable(
            "a column that is gone, and json",
            #"""
            CREATE TABLE t (id int PRIMARY KEY, j json, n int);
            SELECT fanfare.watch_table('t', 'hostile', '{j,n}');
            ALTER TABLE t DROP n;
            """#,
            #"INSERT INTO t VALUES (1, '"\u0000"'); UPDATE t SET j = '1'"#,
            [refused("insert", ["j": nul]), refused("update", ["j": nul])]
        ),
        HostileTable(
            "a type that became json",
            #"""
            CREATE TABLE t (id int PRIMARY KEY, j text);
            SELECT fanfare.watch_table('t', 'hostile');
            INSERT INTO t VALUES (0, '1');
            ALTER TABLE t ALTER j TYPE json USING j::json;
            """#,
            #"INSERT INTO t VALUES (1, '"\u0000"')"#,
            [refused("insert", ["j": nul])]
        ),
        HostileTable(
            "a partition of another order",
            #"""
            CREATE TABLE t (gone int, id int PRIMARY KEY, j json) PARTITION BY LIST (id);
            ALTER TABLE t DROP gone;
            CREATE TABLE t_1 (j json, id int NOT NULL);
            ALTER TABLE t ATTACH PARTITION t_1 FOR VALUES IN (1, 2);
            SELECT fanfare.watch_table('t', 'hostile');
            """#,
            #"INSERT INTO t VALUES (1, '"\u0000"'), (2, '2')"#,
            [#"insert {"j": 2, "id": 2}"#, refused("insert", ["j": nul])]
        ),
        HostileTable(
            "a trigger that changes the row before",
            #"""
            CREATE TABLE t (id int PRIMARY KEY, j json);
            CREATE FUNCTION spoil() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.j := ''"\u0000"''; RETURN NEW; END';
            CREATE TRIGGER spoil BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION spoil();
            SELECT fanfare.watch_table('t', 'hostile');
            """#,
            "INSERT INTO t VALUES (1, '1')",
            [refused("insert", ["j": nul])]
        ),
        HostileTable(
            "a trigger that writes again after",
            #"""
            CREATE TABLE t (id int PRIMARY KEY, j json);
            CREATE FUNCTION spoil() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS
                'BEGIN UPDATE shop.t SET j = ''"\u0000"'' WHERE id = NEW.id; RETURN NULL; END';
            CREATE TRIGGER a_spoil AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION spoil();
            SELECT fanfare.watch_table('t', 'hostile');
            """#,
            "INSERT INTO t VALUES (1, '1')",
            [#"insert {"j": 1, "id": 1}"#, refused("update", ["j": nul])]
        ),
        HostileTable(
            "a table altered between two writes of a transaction",
            #"""
            CREATE TABLE t (id int PRIMARY KEY, n int);
            SELECT fanfare.watch_table('t', 'hostile');
            CREATE FUNCTION alter_it() RETURNS void LANGUAGE sql SECURITY DEFINER AS
                'ALTER TABLE shop.t RENAME n TO m; ALTER TABLE shop.t ADD j json';
            """#,
            #"BEGIN; INSERT INTO t VALUES (1, 1); SELECT alter_it(); INSERT INTO t VALUES (2, 2, '"\u0000"'); UPDATE t SET m = 3 WHERE id = 1; COMMIT"#,
            [
                #"insert {"n": 1, "id": 1}"#,
                refused("insert", ["j": nul]),
                #"update {"j": null, "m": 3, "id": 1} {"j": null, "m": 1, "id": 1}"#,
            ]
        ),
        HostileTable(
            "a savepoint, and an upsert",
            "CREATE TABLE t (id int PRIMARY KEY, j json, n text); SELECT fanfare.watch_table('t', 'hostile');",
            #"""
            BEGIN; INSERT INTO t VALUES (1, '"\u0000"'); SAVEPOINT s; INSERT INTO t VALUES (2, '"\u0000"'); ROLLBACK TO s;
            INSERT INTO t VALUES (1, '1') ON CONFLICT (id) DO UPDATE SET j = '"\ud83d"'; COMMIT
            """#,
            [refused("insert", ["j": nul]), refused("update", ["j": halfAPair, "j": nul])]
        ),
        HostileTable(
            "a virtual column",
            #"""
            CREATE TABLE t (id int PRIMARY KEY, b int GENERATED ALWAYS AS (id * 2));
            SELECT fanfare.watch_table('t', 'hostile');
            ALTER TABLE t ADD c int;
            """#,
            "INSERT INTO t (id, c) VALUES (1, 1); UPDATE t SET c = 2; UPDATE t SET c = c; DELETE FROM t",
            [
                #"delete {"c": 2, "id": 1}"#,
                #"insert {"c": 1, "id": 1}"#,
                #"update {"c": 2, "id": 1} {"c": 1, "id": 1}"#,
            ],
            needs: virtual
        ),
        HostileTable(
            "a virtual column that came later",
            #"""
            CREATE TABLE t (id int PRIMARY KEY, a int);
            SELECT fanfare.watch_table('t', 'hostile');
            INSERT INTO t VALUES (0, 0);
            ALTER TABLE t ADD b int GENERATED ALWAYS AS (a * 2);
            """#,
            "INSERT INTO t (id, a) VALUES (1, 1); UPDATE t SET a = 2 WHERE id = 1; DELETE FROM t WHERE id = 1",
            [
                #"delete {"a": 2, "id": 1}"#,
                #"insert {"a": 1, "id": 1}"#,
                #"update {"a": 2, "id": 1} {"a": 1, "id": 1}"#,
            ],
            needs: virtual
        ),
        HostileTable(
            "a virtual column in place of a listed one",
            #"""
            CREATE TABLE t (id int PRIMARY KEY, a int, b int);
            SELECT fanfare.watch_table('t', 'hostile', '{a,b}');
            ALTER TABLE t DROP b, ADD b int GENERATED ALWAYS AS (a * 2);
            """#,
            "INSERT INTO t (id, a) VALUES (1, 1)",
            [#"insert {"a": 1, "id": 1}"#],
            needs: virtual
        ),
        HostileTable(
            "a virtual column and json",
            #"""
            CREATE TABLE t (id int PRIMARY KEY, j json, b int GENERATED ALWAYS AS (id * 2));
            SELECT fanfare.watch_table('t', 'hostile');
            """#,
            #"INSERT INTO t VALUES (1, '"\u0000"'), (2, '2')"#,
            [#"insert {"j": 2, "id": 2}"#, refused("insert", ["j": nul])],
            needs: virtual
        ),
    ]
}
