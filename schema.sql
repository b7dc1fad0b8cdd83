-- Fanfare's database: everything, in schema `fanfare`. Safe to load again on a live database.
--
-- Pending work is stored in two small queues, outbox and batches. The statement that finishes a row moves it into one
-- of two append-only logs, event_log and batch_log. A user's transaction therefore never touches a partition, a claim
-- never touches history, and a log row is written once. What devices report later has logs of its own, report_log and
-- report_actions. Only these four tables are partitioned.
--
-- Load the file with `fanfare migrate`, or with psql -f as a role that may create roles and schemas.
--
--   1  One load at a time
--   2  Roles and the schema
--   3  Statements that check before they lock
--   4  The version
--   5  Upgrades of older databases
--   6  Ids
--   7  The installation and its timelines
--   8  Providers
--   9  Outcomes of deliveries and fates of events
--  10  Apps, targets, devices, topics
--  11  Rules
--  12  Events: the queue and its log
--  13  Batches: the queue and its log
--  14  Counters, daemons, alarms, fuses, lock keys
--  15  Functions: installation and timelines
--  16  Functions: emit and cancel
--  17  Functions: names
--  18  Functions: devices and subscriptions
--  19  Functions: rules
--  20  Functions: watched tables
--  21  Functions: SQL written by rule authors
--  22  Functions: time
--  23  Functions: campaigns
--  23a Functions: retract
--  24  Functions: policies
--  25  Views: queue and log together
--  26  Functions: why
--  27  Functions: lookups
--  28  Functions: reports
--  29  Rights
--  30  No JIT
--
-- Parts 6 and up describe a new database. Part 5 runs before them and adds what an older database lacks. To change
-- something:
--   1. Edit the table, index, function or view in its part. Its rights follow it. Put a new column last, as ALTER TABLE
--      does.
--   2. Add to part 5 what an older database needs besides: a column, a constraint, an index to drop, rows to repair.
--      CREATE ... IF NOT EXISTS adds new objects and leaves existing ones alone; functions and views are replaced.
-- A load that has nothing to do waits for no lock: statements that would lock before they check go through part 3.
-- Daemons of two versions run side by side, so a column is dropped one version after its last reader.
-- A new version gets its number in part 4 and in Schema.versions (Swift), and a section of its own at the end of part
-- 5.

BEGIN READ WRITE;

-- ---------------------------------------------------------------------------------------------------------------
-- 1. One load at a time
-- ---------------------------------------------------------------------------------------------------------------

-- If the lock is not available within 3 s, fail and retry later: other sessions queue behind a waiting lock request.
SET LOCAL lock_timeout = '3s';
SET LOCAL client_min_messages = warning;
SET LOCAL search_path = pg_catalog, pg_temp;
-- These override the settings of the role, the database and the server. If the file is sent as one string, PostgreSQL
-- parses all of it with the session's standard_conforming_strings.
SET LOCAL statement_timeout = 0;
SET LOCAL standard_conforming_strings = on;
SET LOCAL plpgsql.extra_errors = 'none';
SET LOCAL plpgsql.extra_warnings = 'none';

-- Two concurrent loads would race on CREATE ... IF NOT EXISTS. (0x46414e46 is "FANF"; part 14 lists the other keys.)
SELECT pg_advisory_xact_lock(1178685254, 0);

DO $$
BEGIN
    IF current_setting('server_version_num')::int < 150000 THEN
        RAISE EXCEPTION 'Fanfare needs PostgreSQL 15 or newer, this server is %', current_setting('server_version')
            USING ERRCODE = 'feature_not_supported', HINT = 'Upgrade the server, or use another one for Fanfare.';
    END IF;
    -- Only PostgreSQL 17 and newer have this setting.
    PERFORM set_config(s.name, '0', true) FROM pg_settings AS s WHERE s.name = 'transaction_timeout';
    -- This file is ASCII up to here, so that a database of any encoding can report this error.
    IF current_setting('server_encoding') = 'SQL_ASCII' THEN
        RAISE WARNING 'this database''s encoding is SQL_ASCII: text that is not valid UTF-8 can be stored, and JSON with escapes beyond ASCII is refused'
            USING HINT = 'Create a database with ENCODING ''UTF8''.';
    ELSIF current_setting('server_encoding') <> 'UTF8' THEN
        RAISE EXCEPTION 'this database''s encoding is %, and pushes are UTF-8', current_setting('server_encoding')
            USING ERRCODE = 'feature_not_supported', HINT = 'Create a database with ENCODING ''UTF8''.';
    END IF;
END
$$;

-- ---------------------------------------------------------------------------------------------------------------
-- 2. Roles and the schema
-- ---------------------------------------------------------------------------------------------------------------
-- Roles are cluster-wide: another database may have created them already, or may be creating them now.

DO $$
DECLARE
    role_name name;
    refusal text;
BEGIN
    FOREACH role_name IN ARRAY '{fanfare_owner,fanfare_daemon,fanfare_emitter,fanfare_registrar,
        fanfare_author,fanfare_operator,fanfare_reader,fanfare_sql}'::name[]
    LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = role_name) THEN
            BEGIN
                EXECUTE format('CREATE ROLE %I NOLOGIN', role_name);
            EXCEPTION WHEN duplicate_object OR unique_violation THEN
                NULL;
            END;
        END IF;
    END LOOP;
    BEGIN
        -- A superuser needs no membership, and granting one would touch a shared row for nothing. From PostgreSQL 16 on,
        -- the creator of a role is a member of it, but may not SET ROLE to it.
        IF NOT pg_has_role(current_user, 'fanfare_owner',
            CASE WHEN current_setting('server_version_num')::int >= 160000 THEN 'SET' ELSE 'MEMBER' END)
        THEN
            EXECUTE format('GRANT fanfare_owner TO %I', current_user);
        END IF;
        -- Only the owner of a function may change its owner, and only to a role that it is a member of.
        IF NOT pg_has_role('fanfare_owner', 'fanfare_sql', 'MEMBER') THEN
            BEGIN
                GRANT fanfare_sql TO fanfare_owner;
            EXCEPTION WHEN unique_violation THEN
                NULL;
            END;
        END IF;
        -- A daemon serves each HTTP request as the role that the request's token allows, so that a bug there cannot
        -- exceed that role's rights. An operator may also read everything it operates.
        FOREACH role_name IN ARRAY '{fanfare_emitter,fanfare_registrar,fanfare_author,fanfare_operator,fanfare_reader}'::name[]
        LOOP
            IF NOT pg_has_role('fanfare_daemon', role_name, 'MEMBER') THEN
                BEGIN
                    EXECUTE format('GRANT %I TO fanfare_daemon', role_name);
                EXCEPTION WHEN unique_violation THEN
                    NULL;
                END;
            END IF;
        END LOOP;
        IF NOT pg_has_role('fanfare_operator', 'fanfare_reader', 'MEMBER') THEN
            BEGIN
                GRANT fanfare_reader TO fanfare_operator;
            EXCEPTION WHEN unique_violation THEN
                NULL;
            END;
        END IF;
    EXCEPTION WHEN insufficient_privilege THEN
        -- From PostgreSQL 16 on, a role with CREATEROLE may grant only the roles that it created.
        GET STACKED DIAGNOSTICS refusal = MESSAGE_TEXT;
        RAISE EXCEPTION '%', refusal USING ERRCODE = '42501', HINT = CASE
            WHEN (SELECT r.rolcreaterole FROM pg_roles AS r WHERE r.rolname = current_user) THEN 'Have'
            ELSE 'Run it as a role with CREATEROLE and CREATE on the database; or have' END || format(
            ' %sa superuser run: GRANT fanfare_owner TO %I; and, so that %I can grant roles to daemons and applications, %s TO %I WITH ADMIN OPTION.',
            (SELECT string_agg(DISTINCT quote_ident(r.rolname) || ' or ', '')
            FROM pg_auth_members AS m JOIN pg_roles AS r ON r.oid = m.member
            WHERE m.roleid = to_regrole('fanfare_owner') AND m.admin_option AND NOT r.rolsuper), current_user, current_user,
            'GRANT fanfare_daemon, fanfare_emitter, fanfare_registrar, fanfare_author, fanfare_operator, fanfare_reader', current_user);
    END;
END
$$;

-- CREATE SCHEMA IF NOT EXISTS requires CREATE on the database even if the schema exists.
DO $$
BEGIN
    IF to_regnamespace('fanfare') IS NULL THEN
        CREATE SCHEMA fanfare AUTHORIZATION fanfare_owner;
    END IF;
END
$$;

SET LOCAL ROLE fanfare_owner;

COMMENT ON SCHEMA fanfare IS 'Push-notification fan-out: events, rules, devices, queues and logs.';
REVOKE ALL ON SCHEMA fanfare FROM PUBLIC;
GRANT USAGE ON SCHEMA fanfare
    TO fanfare_daemon, fanfare_emitter, fanfare_registrar, fanfare_author, fanfare_operator, fanfare_reader;

-- ---------------------------------------------------------------------------------------------------------------
-- 3. Statements that check before they lock
-- ---------------------------------------------------------------------------------------------------------------

-- CREATE INDEX IF NOT EXISTS takes a lock that blocks writers before it checks whether the index exists.
CREATE OR REPLACE FUNCTION fanfare.create_index(name text, statement text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF to_regclass('fanfare.' || name) IS NULL THEN
        EXECUTE statement;
    END IF;
END
$$;

-- ALTER TABLE … ADD COLUMN IF NOT EXISTS blocks readers too. In a new database the table does not exist yet, and
-- nothing is done.
CREATE OR REPLACE FUNCTION fanfare.add_column(relation text, name text, definition text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    place regclass := to_regclass(relation);
BEGIN
    IF place IS NOT NULL AND NOT EXISTS (
        SELECT FROM pg_attribute AS a WHERE a.attrelid = place AND a.attname = add_column.name)
    THEN
        EXECUTE format('ALTER TABLE %s ADD COLUMN %I %s', place, name, definition);
    END IF;
END
$$;

-- CREATE OR REPLACE TRIGGER takes a lock that blocks writers.
CREATE OR REPLACE FUNCTION fanfare.create_trigger(relation text, name text, statement text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_trigger AS t WHERE t.tgrelid = relation::regclass AND t.tgname = create_trigger.name) THEN
        EXECUTE statement;
    END IF;
END
$$;

-- PostgreSQL rejects UPDATE and DELETE on a published table without a replica identity, and FOR ALL TABLES publishes
-- Fanfare's tables too. FULL costs nothing below wal_level = logical.
CREATE OR REPLACE FUNCTION fanfare.identify_by_row(relation text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF (SELECT c.relreplident FROM pg_class AS c WHERE c.oid = relation::regclass) <> 'f' THEN
        EXECUTE format('ALTER TABLE %s REPLICA IDENTITY FULL', relation::regclass);
    END IF;
END
$$;

-- Replaces the view only if its text changed: replacing a view waits for every open reader. The view's comment stores
-- the text's hash.
CREATE OR REPLACE FUNCTION fanfare.create_view(name text, comment text, query text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    mark text := create_view.comment || ' [' || md5(query) || ']';
BEGIN
    IF obj_description(to_regclass('fanfare.' || name), 'pg_class') IS DISTINCT FROM mark THEN
        EXECUTE format('CREATE OR REPLACE VIEW fanfare.%I AS %s', name, query);
        EXECUTE format('COMMENT ON VIEW fanfare.%I IS %L', name, mark);
    END IF;
END
$$;

-- ---------------------------------------------------------------------------------------------------------------
-- 4. The version
-- ---------------------------------------------------------------------------------------------------------------

CREATE TABLE IF NOT EXISTS fanfare.schema_version (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    -- The version of this file, and the oldest daemon version that works with it.
    version int NOT NULL,
    oldest_daemon int NOT NULL,
    loaded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- SHA-256 of this file, in hex; NULL if the file was sent statement by statement, as by psql -f.
    text_hash text
);
GRANT SELECT ON fanfare.schema_version TO fanfare_reader;

DO $$
DECLARE
    this_version CONSTANT int := 2;
    oldest_daemon CONSTANT int := 1;
    there int := (SELECT version FROM fanfare.schema_version);
    -- The daemon sends the file as one string, so current_query() is the whole file.
    text_hash CONSTANT text := CASE WHEN current_query() LIKE '-- Fanfare''s database: %'
        THEN encode(sha256(convert_to(current_query(), 'UTF8')), 'hex') END;
BEGIN
    IF there IS NOT NULL AND to_regclass('fanfare.platforms') IS NOT NULL THEN
        RAISE EXCEPTION 'this database was made by a Fanfare before 0.1.0, which was never released and cannot be upgraded'
            USING ERRCODE = '55000', HINT = 'Use a new database, or run DROP SCHEMA fanfare CASCADE and migrate again. '
                'Before that, `fanfare devices export` of the old program saves the devices, and `fanfare devices import` takes them.';
    ELSIF there > this_version THEN
        RAISE EXCEPTION 'this database has schema version %, which is newer than this file (%)', there, this_version
            USING ERRCODE = '55000', HINT = 'Run the migrate command of the newest Fanfare.';
    END IF;
    -- Never lower what require_daemon raised.
    INSERT INTO fanfare.schema_version AS v (version, oldest_daemon, text_hash) VALUES (this_version, oldest_daemon, text_hash)
    ON CONFLICT (one) DO UPDATE
        SET version = excluded.version, oldest_daemon = greatest(v.oldest_daemon, excluded.oldest_daemon),
            loaded_at = clock_timestamp(), text_hash = excluded.text_hash;
END
$$;

-- ---------------------------------------------------------------------------------------------------------------
-- 5. Upgrades of older databases
-- ---------------------------------------------------------------------------------------------------------------
-- Upgrades run before the tables are created, because everything below (indexes, rows, views, BEGIN ATOMIC functions)
-- refers to columns that an older database lacks. The rest of the file can then ignore older versions. In a new
-- database no table exists yet, and the upgrades do nothing. Each statement checks what exists rather than the version,
-- and takes no lock if its work is already done.
--
-- An index to be replaced is dropped here, and the new one is created later under the same lock. A statement that fills
-- a table introduced by its own version from older rows would have to come last in the file.
--
-- Each version has a section of its own. Version 1 is the first.

-- Version 2.
SELECT fanfare.add_column('fanfare.providers', 'fid_shape', 'text');
SELECT fanfare.add_column('fanfare.devices', 'address', 'text');
SELECT fanfare.add_column('fanfare.devices', 'permission', 'text');
SELECT fanfare.add_column('fanfare.devices', 'presents', 'text[]');
SELECT fanfare.add_column('fanfare.outbox', 'wall', 'timestamp');
SELECT fanfare.add_column('fanfare.quarantine', 'wall', 'timestamp');
SELECT fanfare.add_column('fanfare.event_log', 'wall', 'timestamp');
SELECT fanfare.add_column('fanfare.cancels', 'taken_back', 'boolean NOT NULL DEFAULT false');
SELECT fanfare.add_column('fanfare.rule_versions', 'retract_version', 'int');
SELECT fanfare.add_column('fanfare.rule_versions', 'retract_event', 'text');
SELECT fanfare.add_column('fanfare.rule_versions', 'retract_by', 'text[]');
SELECT fanfare.add_column('fanfare.rule_versions', 'retract_user', 'text[]');
SELECT fanfare.add_column('fanfare.rule_versions', 'retract_within', 'interval');
SELECT fanfare.add_column('fanfare.rule_versions', 'permissions', 'text[]');
SELECT fanfare.add_column('fanfare.rule_versions', 'presents', 'text[]');
SELECT fanfare.add_column('fanfare.rule_versions', 'conversion_event', 'text');
SELECT fanfare.add_column('fanfare.rule_versions', 'conversion_user', 'text[]');
SELECT fanfare.add_column('fanfare.rule_versions', 'conversion_value', 'text[]');
SELECT fanfare.add_column('fanfare.rule_versions', 'conversion_within', 'interval');
SELECT fanfare.add_column('fanfare.rule_versions', 'winner_of', 'int');
SELECT fanfare.add_column('fanfare.report_log', 'accepted', 'smallint');
SELECT fanfare.add_column('fanfare.touches', 'planned_at', $$timestamptz NOT NULL DEFAULT '-infinity'$$);
SELECT fanfare.add_column('fanfare.runs', 'experiment', 'jsonb');
SELECT fanfare.add_column('fanfare.feedback', 'event_id', 'bigint');
SELECT fanfare.add_column('fanfare.feedback', 'device_id', 'bigint');
SELECT fanfare.add_column('fanfare.feedback', 'rule_version', 'int');
SELECT fanfare.add_column('fanfare.feedback', 'kind', 'smallint');
SELECT fanfare.add_column('fanfare.feedback', 'action', 'text');
SELECT fanfare.add_column('fanfare.runs', 'looks', 'smallint NOT NULL DEFAULT 0');
SELECT fanfare.add_column('fanfare.runs', 'look_at', 'timestamptz');
SELECT fanfare.add_column('fanfare.runs', 'winner', 'text');
SELECT fanfare.add_column('fanfare.runs', 'figures', 'jsonb');
DO $$
DECLARE
    users text;
BEGIN
    -- They have other arguments or results now.
    -- A version 2 that was loaded while conversions were new.
    IF to_regprocedure('fanfare.arms(bigint,text,text,timestamptz,timestamptz)') IS NOT NULL THEN
        DROP FUNCTION fanfare.arms(bigint, text, text, timestamptz, timestamptz);
    END IF;
    IF EXISTS (SELECT FROM pg_attribute AS t WHERE t.attrelid = to_regclass('fanfare.touches') AND t.attname = 'at' AND NOT t.attisdropped) THEN
        DROP TABLE fanfare.touches, fanfare.conversions_pending;
    END IF;
    IF to_regclass('fanfare.event_values_created') IS NOT NULL THEN
        DROP INDEX fanfare.event_values_created;
    END IF;
    IF to_regprocedure('fanfare.resume_campaign(text,text)') IS NOT NULL THEN
        DROP FUNCTION fanfare.resume_campaign(text, text);
    END IF;
    IF pg_get_function_result(to_regprocedure('fanfare.funnel(bigint)')) NOT LIKE '%value numeric%' THEN
        DROP FUNCTION fanfare.funnel(bigint);
    END IF;
    IF to_regprocedure('fanfare.watch_table(regclass,text,text[],text[])') IS NOT NULL THEN
        DROP FUNCTION fanfare.watch_table(regclass, text, text[], text[]);
        DROP FUNCTION fanfare.watch_body(regclass, text, text[], text[]);
        DROP FUNCTION fanfare.watch_query(text, text, text[], text[], text[], text[], text[], text, text);
        DROP FUNCTION fanfare.watch_query_now(oid, text, text, text[], text[]);
        DROP FUNCTION fanfare.watch_query_each(oid, text, text, text[], text[]);
        DROP FUNCTION fanfare.watch_query_bare(text, text);
    END IF;
    IF to_regprocedure('fanfare.register_device(text,text,text,text,text,text,text,text,jsonb,text,text,text)') IS NOT NULL THEN
        DROP FUNCTION fanfare.import_rows(smallint, jsonb);
        DROP FUNCTION fanfare.register_device(text, text, text, text, text, text, text, text, jsonb, text, text, text);
    END IF;
    -- A version 2 that was loaded before it had permissions.
    IF to_regprocedure('fanfare.register_device(text,text,text,text,text,text,text,text,jsonb,text,text,text,text)') IS NOT NULL THEN
        DROP FUNCTION fanfare.import_rows(smallint, jsonb);
        DROP FUNCTION fanfare.register_device(text, text, text, text, text, text, text, text, jsonb, text, text, text, text);
    END IF;
EXCEPTION WHEN dependent_objects_still_exist THEN
    GET STACKED DIAGNOSTICS users = PG_EXCEPTION_DETAIL;
    RAISE EXCEPTION 'fanfare.register_device and fanfare.watch_table have more arguments in this version, and your own objects refer to the old functions'
        USING ERRCODE = '2BP01', DETAIL = users,
            HINT = 'Drop these objects, migrate, and create them again. Functions whose body is a text do not refer to it.';
END
$$;

-- ---------------------------------------------------------------------------------------------------------------
-- 6. Ids
-- ---------------------------------------------------------------------------------------------------------------
-- An id contains its UTC day: days since 2020-01-01 << 32 | sequence. One bigint identifies a row and its partition.

CREATE SEQUENCE IF NOT EXISTS fanfare.event_sequence MAXVALUE 4294967295 MINVALUE 0 START 1 CYCLE;
GRANT USAGE ON SEQUENCE fanfare.event_sequence TO fanfare_emitter;
CREATE SEQUENCE IF NOT EXISTS fanfare.batch_sequence MAXVALUE 4294967295 MINVALUE 0 START 1 CYCLE;

-- BEGIN ATOMIC, because a string-bodied SQL function in a column default is inlined and resolved in the caller's
-- search_path.
CREATE OR REPLACE FUNCTION fanfare.new_event_id() RETURNS bigint LANGUAGE sql VOLATILE
BEGIN ATOMIC
    SELECT ((clock_timestamp() AT TIME ZONE 'UTC')::date - DATE '2020-01-01')::bigint << 32
        | nextval('fanfare.event_sequence'::regclass);
END;
GRANT EXECUTE ON FUNCTION fanfare.new_event_id TO fanfare_emitter;

CREATE OR REPLACE FUNCTION fanfare.new_batch_id() RETURNS bigint LANGUAGE sql VOLATILE
BEGIN ATOMIC
    SELECT ((clock_timestamp() AT TIME ZONE 'UTC')::date - DATE '2020-01-01')::bigint << 32
        | nextval('fanfare.batch_sequence'::regclass);
END;

CREATE OR REPLACE FUNCTION fanfare.ring_day(id bigint) RETURNS smallint LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT ((id >> 32) % 32)::smallint;
END;
COMMENT ON FUNCTION fanfare.ring_day IS 'The partition of an event''s or a batch''s log row: the day of its id modulo 32.';
GRANT EXECUTE ON FUNCTION fanfare.ring_day TO fanfare_reader;

-- Compares sequence numbers, because clocks can be set back. The sequence wraps around after 4 billion events, so the
-- order is correct only for events at most 2 billion apart.
CREATE OR REPLACE FUNCTION fanfare.is_emitted_after(event_id bigint, number bigint) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT ((event_id & 4294967295) - number) & 4294967295 < 2147483648;
END;
COMMENT ON FUNCTION fanfare.is_emitted_after IS
    'Whether an event was emitted after a number was taken from the event sequence; NULL if the number is NULL.';
GRANT EXECUTE ON FUNCTION fanfare.is_emitted_after TO fanfare_reader;

-- ---------------------------------------------------------------------------------------------------------------
-- 7. The installation and its timelines
-- ---------------------------------------------------------------------------------------------------------------

-- The identity of this database. A copy (staging, a restore) must not push to real users, so each daemon compares all
-- three values.
CREATE TABLE IF NOT EXISTS fanfare.installation (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    name text,
    system_identifier bigint NOT NULL,
    database_oid oid NOT NULL,
    adopted_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
GRANT SELECT ON fanfare.installation TO fanfare_reader;

-- The servers and timelines that this database has been on. After a failover to a standby that lacked the last
-- transactions, or after a point-in-time restore, the sequences would hand out ids again that events of the lost
-- transactions had.
CREATE TABLE IF NOT EXISTS fanfare.timelines (
    system_identifier bigint NOT NULL,
    timeline bigint NOT NULL,
    entered_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (system_identifier, timeline)
);

-- ---------------------------------------------------------------------------------------------------------------
-- 8. Providers
-- ---------------------------------------------------------------------------------------------------------------

-- The supported providers, and what a device of each must have. Adding a provider adds a row here and its outcomes in
-- part 9.
CREATE TABLE IF NOT EXISTS fanfare.providers (
    name text PRIMARY KEY,
    -- The provider's name in messages.
    label text NOT NULL,
    -- Whether a token can turn out to belong to the other environment, which therefore needs a target.
    both_environments boolean NOT NULL,
    -- Whether tokens are case-insensitive; they are then stored in lower case.
    folds_case boolean NOT NULL,
    -- A regular expression for tokens that the provider can have issued. It does not limit lengths: providers may
    -- change these.
    token_shape text NOT NULL,
    token_error text NOT NULL,
    token_hint text NOT NULL,
    -- A regular expression for Firebase installation ids, with which apps of the provider can register instead of a
    -- token; NULL if the provider has none. Lengths are not limited either.
    fid_shape text,
    -- Whether a device has an encryption key, devices.p256dh.
    has_p256dh boolean NOT NULL,
    -- A regular expression for devices.auth, which each device must then have; NULL if devices of the provider have
    -- none.
    auth_shape text,
    auth_error text,
    auth_hint text,
    -- The oldest daemon that can send to the provider, as a schema version. Once any app has a device of the provider,
    -- or a rule names the provider, older daemons may not run.
    oldest_daemon int NOT NULL DEFAULT 1,
    CONSTRAINT providers_auth CHECK (num_nonnulls(auth_shape, auth_error, auth_hint) IN (0, 3)),
    CONSTRAINT providers_p256dh CHECK (NOT has_p256dh OR auth_shape IS NOT NULL)
);
GRANT SELECT ON fanfare.providers TO fanfare_author, fanfare_reader;

INSERT INTO fanfare.providers AS p (name, label, both_environments, folds_case, token_shape, token_error, token_hint, fid_shape,
    has_p256dh, auth_shape, auth_error, auth_hint, oldest_daemon)
VALUES
    ('apns', 'APNs', true, true, '^(?:[0-9a-fA-F]{2})+$',
        'this is not an APNs token: it must be an even number of hexadecimal digits',
        'Send its bytes as hexadecimal text, without spaces or brackets; for an Android token use provider fcm.',
        NULL, false, NULL, NULL, NULL, 1),
    ('fcm', 'FCM', false, false, '^[A-Za-z0-9:_.~%=-]+$',
        'this is not an FCM registration token', 'Pass the token exactly as the Firebase SDK gives it.',
        '^[A-Za-z0-9_-]+$', false, NULL, NULL, NULL, 1),
    -- Checks the keys as far as possible without arithmetic: not whether the point lies on the curve. 16 bytes are 22
    -- characters in base64; padding and both alphabets are accepted, as in the daemon.
    ('webpush', 'Web Push', false, false, '^https://[^[:space:]]+$',
        'a Web Push token is the subscription''s endpoint, an https URL',
        'Pass subscription.endpoint as token, keys.p256dh and keys.auth beside it.',
        NULL, true, '^[A-Za-z0-9+/_-]{22}(==)?$',
        'auth is not an authentication secret: it must be 16 bytes in base64url',
        'Pass keys.auth exactly as subscription.toJSON() gives it.', 1),
    -- A secret is 24 to 64 bytes in standard base64, as in Standard Webhooks.
    ('webhook', 'a webhook', false, false, '^https://[^[:space:]]+$',
        'a webhook''s token is the https URL that is posted to', 'Pass the URL as token, and the signing secret as auth.',
        NULL, false, '^whsec_(?:(?:[A-Za-z0-9+/]{4}){8,20}(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?'
            '|(?:[A-Za-z0-9+/]{4}){21}(?:[A-Za-z0-9+/][AQgw]==)?)$',
        'auth is not a signing secret: it must be whsec_ and 24 to 64 bytes in base64',
        'Pass the secret as Standard Webhooks writes it, whsec_ and standard base64 with its padding.', 1)
ON CONFLICT (name) DO UPDATE
    SET label = excluded.label, both_environments = excluded.both_environments, folds_case = excluded.folds_case,
        token_shape = excluded.token_shape, token_error = excluded.token_error, token_hint = excluded.token_hint, fid_shape = excluded.fid_shape,
        has_p256dh = excluded.has_p256dh, auth_shape = excluded.auth_shape, auth_error = excluded.auth_error,
        auth_hint = excluded.auth_hint, oldest_daemon = excluded.oldest_daemon
    WHERE p.* IS DISTINCT FROM excluded.*;

-- ---------------------------------------------------------------------------------------------------------------
-- 9. Outcomes of deliveries and fates of events
-- ---------------------------------------------------------------------------------------------------------------

-- An outcome is one byte per delivery. Ranges of codes have a meaning, and codes are never reused.
CREATE TABLE IF NOT EXISTS fanfare.outcome_codes (
    code smallint PRIMARY KEY CHECK (code BETWEEN 0 AND 255),
    outcome text NOT NULL,
    reason text NOT NULL,
    provider text,
    -- A one-line description for operators.
    meaning text NOT NULL DEFAULT ''
);
GRANT SELECT ON fanfare.outcome_codes TO fanfare_reader;

INSERT INTO fanfare.outcome_codes AS c (code, outcome, reason, provider, meaning) VALUES
    (0, 'pending', 'not_attempted', NULL, 'Not attempted yet.'),
    (1, 'accepted', 'accepted', NULL, 'The provider accepted the push; this does not prove that the device showed it.'),
    (2, 'attempted', 'answer_awaited', NULL, 'At most once: being sent to the provider, no response yet.'),
    (3, 'unknown', 'answer_lost', NULL, 'At most once: sent to the provider without a response, so it may have arrived; not retried.'),
    (4, 'expired', 'ttl_passed', NULL, 'Its ttl passed before it could be sent.'),
    (5, 'cancelled', 'cancel_requested', NULL, 'fanfare.cancel reached it before it was sent.'),
    (6, 'superseded', 'newer_event', NULL, 'A newer event of the same collapse key took its place.'),
    (7, 'disabled', 'device_disabled', NULL, 'The device was disabled, unregistered or forgotten between planning and sending.'),
    (8, 'opted_out', 'user_opted_out', NULL, 'Opted out of this category or of all categories.'),
    (9, 'refused', 'not_renderable', NULL, 'The message could not be made for this event and device; the delivery''s detail names the rule and the field.'),
    (10, 'backlog_dropped', 'stale_after_outage', NULL, 'Waited out an outage, and the rule''s backlog option drops such events.'),
    (11, 'exhausted', 'attempts_used_up', NULL, 'All attempts, or the 24 hours without a ttl, were used up.'),
    (12, 'refused', 'destination_forbidden', NULL, 'The endpoint is, or resolves to, an address that must not be connected to.'),
    (13, 'capped', 'frequency_cap', NULL, 'The user has reached a cap of the rule.'),
    (14, 'held_out', 'holdout', NULL, 'In the holdout (control) group.'),
    (15, 'quiet', 'quiet_hours', NULL, 'In quiet hours of the recipient, which drop pushes.'),
    (16, 'opted_out', 'user_snoozed', NULL, 'The user had snoozed its category, and no quiet hours hold it until then.'),
    (17, 'expired', 'quiet_hours', NULL, 'In quiet hours of the recipient, which end after its ttl.'),
    (18, 'expired', 'user_snoozed', NULL, 'The user had snoozed its category until after its ttl.'),
    (19, 'cancelled', 'campaign_aborted', NULL, 'Its campaign was aborted before it was sent.'),
    (20, 'retracted', 'taken_back', NULL, 'Its event was taken back before it was sent.'),
    (32, 'retrying', 'device_throttled', NULL, 'The provider throttles this device; retried.'),
    (33, 'retrying', 'topic_throttled', NULL, 'The provider throttles this topic; retried.'),
    (34, 'retrying', 'sender_throttled', NULL, 'The provider throttles this project, credential or host; retried.'),
    (35, 'retrying', 'server_error', NULL, 'The provider reported an internal error; retried.'),
    (36, 'retrying', 'unavailable', NULL, 'The provider is overloaded or down; retried.'),
    (37, 'retrying', 'shutdown', NULL, 'The provider''s server was shutting down; retried on another one.'),
    (38, 'retrying', 'status_5xx', NULL, 'A 5xx status without a known reason; retried.'),
    (39, 'retrying', 'answer_lost', NULL, 'The response was lost; sent again with the same ids.'),
    (40, 'retrying', 'not_processed', NULL, 'The provider did not process the request; retried.'),
    (41, 'retrying', 'not_sent', NULL, 'The request never left this machine; retried.'),
    (42, 'retrying', 'credential_renewed', NULL, 'The credential was refused; retried with a fresh one.'),
    (43, 'retrying', 'other_connection', NULL, 'Refused because of earlier use of its connection; retried on another connection.'),
    (44, 'retrying', 'other_environment', NULL, 'The token is unknown in this APNs environment; retried in the other.'),
    (45, 'retrying', 'registered_later', NULL, 'Reported gone, but registered again since; retried once.'),
    (46, 'retrying', 'idle_timeout', NULL, 'The connection had been idle too long; retried.'),
    (47, 'retrying', 'quiet_hours', NULL, 'In quiet hours of the recipient; sent when they end.'),
    (48, 'retrying', 'user_snoozed', NULL, 'The user had snoozed its category; sent when the snooze ends.'),
    (49, 'retrying', 'foreign_answer', NULL, 'A 4xx status without the provider''s own error body, such as a proxy''s; retried.'),
    (50, 'retrying', 'status_500', NULL, 'Status 500 without a known reason; retried.'),
    (51, 'retrying', 'status_502', NULL, 'Status 502 without a known reason; retried.'),
    (52, 'retrying', 'status_503', NULL, 'Status 503 without a known reason; retried.'),
    (53, 'retrying', 'status_504', NULL, 'Status 504 without a known reason; retried.'),
    (64, 'gone', 'Unregistered', 'apns', 'The app was removed from the device, or the token is inactive; the device is disabled.'),
    (65, 'gone', 'ExpiredToken', 'apns', 'The token expired; the device is disabled.'),
    (66, 'gone', 'BadDeviceToken', 'apns', 'The token is unknown in both APNs environments; the device is disabled.'),
    (67, 'gone', 'status_410', 'apns', 'Gone (410) without a known reason; the device is disabled.'),
    (72, 'gone', 'UNREGISTERED', 'fcm', 'The app was removed, or the token expired or was replaced; the device is disabled.'),
    (73, 'gone', 'invalid_token', 'fcm', 'The token itself is malformed; the device is disabled.'),
    (74, 'gone', 'APNs_Unregistered', 'fcm', 'APNs told FCM that the token is gone; the device is disabled.'),
    (80, 'gone', 'not_found', 'webpush', 'The subscription is unknown or expired; the device is disabled.'),
    (81, 'gone', 'gone', 'webpush', 'The subscription was ended; the device is disabled.'),
    (82, 'gone', 'invalid_subscription', 'webpush', 'The subscription''s endpoint or keys are damaged; the device is disabled.'),
    (88, 'gone', 'gone', 'webhook', 'The webhook answered 410; the device is disabled.'),
    (89, 'gone', 'invalid_endpoint', 'webhook', 'The device has no usable URL or no usable signing secret; the device is disabled.'),
    (96, 'rejected', 'status_4xx', 'apns', 'A 4xx status without a known reason.'),
    (97, 'rejected', 'status_3xx', 'apns', 'A redirect; Fanfare follows none.'),
    (98, 'rejected', 'status_other', 'apns', 'A status outside 200 to 599.'),
    (100, 'rejected', 'BadCollapseId', 'apns', 'The collapse id is over 64 bytes.'),
    (101, 'rejected', 'BadDeviceToken', 'apns', 'The token is not valid here; the device is kept because evidence is lacking, or because of the pruning breaker.'),
    (102, 'rejected', 'BadExpirationDate', 'apns', 'apns-expiration is not a number.'),
    (103, 'rejected', 'BadMessageId', 'apns', 'apns-id is not a UUID.'),
    (104, 'rejected', 'BadPriority', 'apns', 'The priority is unknown, or not allowed for this push type.'),
    (105, 'rejected', 'BadTopic', 'apns', 'apns-topic is invalid: look at the app''s topic.'),
    (106, 'rejected', 'DeviceTokenNotForTopic', 'apns', 'The token belongs to another app than the topic.'),
    (107, 'rejected', 'DuplicateHeaders', 'apns', 'A header appears twice.'),
    (108, 'rejected', 'InvalidPushType', 'apns', 'The push type is unknown, or not allowed here.'),
    (109, 'rejected', 'MissingDeviceToken', 'apns', 'The path has no token.'),
    (110, 'rejected', 'MissingTopic', 'apns', 'A topic is required: look at the app''s topic.'),
    (111, 'rejected', 'PayloadEmpty', 'apns', 'The body is empty.'),
    (112, 'rejected', 'TopicDisallowed', 'apns', 'The credential does not allow pushes to this topic.'),
    (113, 'rejected', 'BadCertificate', 'apns', 'The client certificate was rejected.'),
    (114, 'rejected', 'BadCertificateEnvironment', 'apns', 'The client certificate is for the other APNs environment.'),
    (115, 'rejected', 'ExpiredProviderToken', 'apns', 'The provider token is too old, also after it was renewed: look at this machine''s clock.'),
    (116, 'rejected', 'Forbidden', 'apns', 'The action is not allowed.'),
    (117, 'rejected', 'InvalidProviderToken', 'apns', 'The provider token is invalid, also after it was renewed: look at key_id, team_id and the key.'),
    (118, 'rejected', 'MissingProviderToken', 'apns', 'The request had neither a certificate nor a provider token.'),
    (119, 'rejected', 'UnrelatedKeyIdInToken', 'apns', 'APNs calls the key unrelated to the connection''s first key. APNs also says so if the connection used only one key.'),
    (120, 'rejected', 'BadEnvironmentKeyIdInToken', 'apns', 'The key is not enabled for this environment.'),
    (121, 'rejected', 'BadPath', 'apns', 'The path is wrong.'),
    (122, 'rejected', 'MethodNotAllowed', 'apns', 'The method is not POST.'),
    (123, 'rejected', 'PayloadTooLarge', 'apns', 'The payload is over APNs'' limit.'),
    (124, 'rejected', 'Unregistered', 'apns', 'The token is unregistered, but the device is kept: it was registered later, or the pruning breaker keeps it.'),
    (125, 'rejected', 'ExpiredToken', 'apns', 'The token expired, but the device is kept: it was registered later, or the pruning breaker keeps it.'),
    (126, 'rejected', 'status_410', 'apns', 'Gone (410) without a known reason; the device is kept.'),
    (128, 'rejected', 'BadChannelId', 'apns', 'The channel id is malformed.'),
    (129, 'rejected', 'BadRequestParams', 'apns', 'The broadcast''s parameters are malformed.'),
    (130, 'rejected', 'BadRequestPayload', 'apns', 'The broadcast''s body is malformed.'),
    (131, 'rejected', 'CannotCreateChannelConfig', 'apns', 'The app already has the maximum number of channels.'),
    (132, 'rejected', 'ChannelNotRegistered', 'apns', 'There is no such channel for this app and environment.'),
    (133, 'rejected', 'FeatureNotEnabled', 'apns', 'Broadcasts are not enabled for the app.'),
    (134, 'rejected', 'MissingChannelId', 'apns', 'The broadcast has no channel id.'),
    (135, 'rejected', 'MissingPushType', 'apns', 'The broadcast has no push type.'),
    (136, 'rejected', 'TopicMismatch', 'apns', 'The credential is for another topic.'),
    (152, 'rejected', 'status_4xx', 'fcm', 'A 4xx status without a known code.'),
    (153, 'rejected', 'status_3xx', 'fcm', 'A redirect; Fanfare follows none.'),
    (154, 'rejected', 'status_other', 'fcm', 'A status outside 200 to 599.'),
    (156, 'rejected', 'INVALID_ARGUMENT', 'fcm', 'A field is bad or unknown, or the message is too large.'),
    (157, 'rejected', 'UNREGISTERED', 'fcm', 'The token is gone; the device is kept by the pruning breaker, or because the token may be that of a Live Activity.'),
    (158, 'rejected', 'SENDER_ID_MISMATCH', 'fcm', 'The token belongs to another Firebase project.'),
    (159, 'rejected', 'THIRD_PARTY_AUTH_ERROR', 'fcm', 'The APNs or Web Push credential stored in Firebase is bad.'),
    (160, 'rejected', 'UNSPECIFIED_ERROR', 'fcm', 'FCM refused the message without a reason.'),
    (161, 'rejected', 'UNAUTHENTICATED', 'fcm', 'The access token was refused, also after it was renewed.'),
    (162, 'rejected', 'PERMISSION_DENIED', 'fcm', 'The FCM API is not enabled, or the service account may not send.'),
    (163, 'rejected', 'NOT_FOUND', 'fcm', 'There is no such project.'),
    (164, 'rejected', 'invalid_token', 'fcm', 'FCM calls the token malformed. The device is kept until FCM refuses another rule''s push, or if pruning has stopped.'),
    (165, 'rejected', 'APNs_Unregistered', 'fcm', 'APNs told FCM that the token is gone; the pruning breaker keeps the device.'),
    (166, 'rejected', 'APNs_BadDeviceToken', 'fcm', 'APNs told FCM that the token is bad: it is stale, or belongs to another environment than FCM''s key.'),
    (167, 'rejected', 'UNREGISTERED_new', 'fcm', 'FCM does not know a FID that registered less than 10 minutes ago; the device is kept.'),
    (192, 'rejected', 'status_4xx', 'webpush', 'A 4xx status without a known meaning.'),
    (193, 'rejected', 'status_3xx', 'webpush', 'A redirect; Fanfare follows none.'),
    (194, 'rejected', 'status_other', 'webpush', 'A status outside 200 to 599.'),
    (196, 'rejected', 'bad_request', 'webpush', 'A header or the body is wrong.'),
    (197, 'rejected', 'unauthorized', 'webpush', 'The VAPID token was refused, also after it was renewed.'),
    (198, 'rejected', 'forbidden', 'webpush', 'The VAPID credential was refused.'),
    (199, 'rejected', 'not_found', 'webpush', 'The subscription is unknown; the pruning breaker keeps the device.'),
    (200, 'rejected', 'gone', 'webpush', 'The subscription was ended; the pruning breaker keeps the device.'),
    (201, 'rejected', 'method_not_allowed', 'webpush', 'The method is not POST.'),
    (202, 'rejected', 'payload_too_large', 'webpush', 'The body is over the service''s limit.'),
    (203, 'rejected', 'vapid_key_mismatch', 'webpush', 'The subscription belongs to another VAPID key. The device is kept: a wrong configuration has the same response.'),
    (204, 'rejected', 'domain_blocked', 'webpush', 'The service blocks this sender''s domain.'),
    (205, 'rejected', 'dropped', 'webpush', 'The service accepted the request, but says that the push will not be shown.'),
    (206, 'rejected', 'invalid_subscription', 'webpush', 'The subscription''s endpoint or keys are damaged; the pruning breaker keeps the device.'),
    (232, 'rejected', 'status_4xx', 'webhook', 'A 4xx status without a known meaning.'),
    (233, 'rejected', 'status_3xx', 'webhook', 'A redirect; Fanfare follows none.'),
    (234, 'rejected', 'status_other', 'webhook', 'A status outside 200 to 599.'),
    (236, 'rejected', 'bad_request', 'webhook', 'The webhook does not accept the body.'),
    (237, 'rejected', 'unauthorized', 'webhook', 'The webhook refused the signature, or requires a login.'),
    (238, 'rejected', 'forbidden', 'webhook', 'The webhook, or a proxy in front of it, denies access.'),
    (239, 'rejected', 'not_found', 'webhook', 'Nothing is at the webhook''s URL; the device is kept, because a webhook may also answer 404 while it is being deployed.'),
    (240, 'rejected', 'gone', 'webhook', 'The webhook answered 410; the pruning breaker keeps the device.'),
    (241, 'rejected', 'method_not_allowed', 'webhook', 'The webhook does not accept POST.'),
    (242, 'rejected', 'payload_too_large', 'webhook', 'The body is over the webhook''s limit.'),
    (243, 'rejected', 'invalid_endpoint', 'webhook', 'The device has no usable URL or no usable signing secret; the pruning breaker keeps the device.')
ON CONFLICT (code) DO UPDATE
    SET outcome = excluded.outcome, reason = excluded.reason, provider = excluded.provider, meaning = excluded.meaning
    WHERE c.* IS DISTINCT FROM excluded.*;

CREATE TABLE IF NOT EXISTS fanfare.event_fates (
    fate smallint PRIMARY KEY,
    name text NOT NULL UNIQUE
);
INSERT INTO fanfare.event_fates (fate, name)
VALUES (0, 'waiting'), (1, 'planned'), (2, 'duplicate'), (3, 'unmatched'), (4, 'cancelled'), (5, 'expired'),
    (6, 'refused')
ON CONFLICT (fate) DO UPDATE SET name = excluded.name;

-- ---------------------------------------------------------------------------------------------------------------
-- 10. Apps, targets, devices, topics
-- ---------------------------------------------------------------------------------------------------------------

CREATE TABLE IF NOT EXISTS fanfare.apps (
    id smallint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE CONSTRAINT apps_name_shape CHECK (name ~ '^[a-zA-Z0-9][a-zA-Z0-9_-]{0,63}$'),
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- The event types that the app's rules may use (fanfare.is_among); NULL for all. Set from the daemon's
    -- configuration.
    events text[]
);
GRANT SELECT ON fanfare.apps TO fanfare_author, fanfare_reader;

-- The destination of a batch: an app, a provider and one of the provider's environments.
CREATE TABLE IF NOT EXISTS fanfare.targets (
    id smallint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    app_id smallint NOT NULL REFERENCES fanfare.apps,
    -- No foreign key: creating one locks both tables. target_id_for checks instead.
    provider text NOT NULL,
    environment text NOT NULL CONSTRAINT targets_environment CHECK (environment IN ('production', 'sandbox')),
    -- For audiences that the provider keeps, the kind of audience: the key in a rule's `to`. NULL for devices in this
    -- database. The name of the topic, condition or channel is not part of the target, because it may differ for each
    -- event; the sender renders it again.
    native_key text CONSTRAINT targets_native CHECK (native_key IS NULL
        OR (native_key, provider) IN (('fcm_topic', 'fcm'), ('fcm_condition', 'fcm'), ('channel', 'apns'))),
    CONSTRAINT targets_key UNIQUE NULLS NOT DISTINCT (app_id, provider, environment, native_key)
);
GRANT SELECT ON fanfare.targets TO fanfare_reader;

-- One token of one user. Disabled, never deleted, when the provider reports the token as unregistered.
CREATE TABLE IF NOT EXISTS fanfare.devices (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    app_id smallint NOT NULL REFERENCES fanfare.apps,
    target_id smallint NOT NULL REFERENCES fanfare.targets,
    provider text NOT NULL,
    kind text NOT NULL DEFAULT 'device',
    token text NOT NULL CONSTRAINT devices_token_length CHECK (octet_length(token) BETWEEN 1 AND 4096),
    token_hash bytea NOT NULL,
    user_id text,
    locale text,
    time_zone text,
    attributes jsonb CONSTRAINT devices_attributes_shape CHECK (jsonb_typeof(attributes) = 'object'),
    p256dh text,
    auth text,
    registered_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    disabled_at timestamptz,
    disabled_reason text,
    -- The rule whose push the provider rejected with a bad-token error, for which the push itself may be to blame; NULL
    -- after another push was accepted.
    doubted_by int,
    -- When the device was enabled for its user, with no interruption since. NULL means registered_at, which each
    -- registration renews.
    reachable_since timestamptz,
    -- 'fid' if the token is a Firebase installation id; NULL for the provider's ordinary tokens.
    address text,
    -- What the phone's user allows: 'authorized', 'provisional' or 'denied', and which of alert, badge and sound are on.
    -- NULL means that no registration said it.
    permission text,
    presents text[],
    CONSTRAINT devices_disabled CHECK ((disabled_at IS NULL) = (disabled_reason IS NULL))
) WITH (fillfactor = 90);

-- Not a partial index: lookups of why a user got no push mostly look for disabled devices.
SELECT fanfare.create_index('devices_user', $$CREATE INDEX devices_user ON fanfare.devices (app_id, user_id)$$);
-- Finds the registration token of a Firebase installation: it begins with the installation's id and a colon.
SELECT fanfare.create_index('devices_installation', $$
    CREATE INDEX devices_installation ON fanfare.devices (left(split_part(token, ':', 1), 64))
    WHERE provider = 'fcm' AND address IS NULL AND strpos(token, ':') > 0 AND disabled_reason IS DISTINCT FROM 'reassigned'$$);
-- Web Push endpoints are long, so the index has their hash. A row whose token moved to another user stays for the logs
-- but no longer holds the token. This index is created last: if indexes have equal cost, as they do while an app has a
-- single device, the planner uses the newest. Otherwise it would cache a plan that looks tokens up by app alone and
-- keep it while thousands of devices are registered.
SELECT fanfare.create_index('devices_token', $$
    CREATE UNIQUE INDEX devices_token ON fanfare.devices (app_id, provider, token_hash)
    WHERE disabled_reason IS DISTINCT FROM 'reassigned'$$);
-- If the table is analyzed while each app has one device, the statistics show app_id as unique, and token lookups would
-- use app_id alone.
DO $$
BEGIN
    IF EXISTS (
        SELECT FROM pg_attribute
        WHERE attrelid = 'fanfare.devices'::regclass AND attname = 'app_id' AND attoptions IS NULL)
    THEN
        ALTER TABLE fanfare.devices ALTER COLUMN app_id SET (n_distinct = 1);
    END IF;
END
$$;
-- An operator undoes pruning. A reader sees all columns except those needed to push to a device.
GRANT UPDATE (disabled_at, disabled_reason, reachable_since) ON fanfare.devices TO fanfare_operator;
GRANT SELECT (id, app_id, target_id, provider, kind, token_hash, user_id, locale, time_zone, attributes,
    registered_at, disabled_at, disabled_reason, reachable_since, address, permission, presents) ON fanfare.devices TO fanfare_reader;

CREATE TABLE IF NOT EXISTS fanfare.topics (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE CONSTRAINT topics_name_shape CHECK (name ~ '^[a-zA-Z0-9_.~%-]+$' AND length(name) <= 900)
);
GRANT SELECT ON fanfare.topics TO fanfare_reader;

-- Planning walks the primary key as a keyset.
CREATE TABLE IF NOT EXISTS fanfare.subscriptions (
    topic_id int NOT NULL REFERENCES fanfare.topics,
    device_id bigint NOT NULL REFERENCES fanfare.devices ON DELETE CASCADE,
    PRIMARY KEY (topic_id, device_id)
);
SELECT fanfare.create_index('subscriptions_device', $$
    CREATE INDEX subscriptions_device ON fanfare.subscriptions (device_id)$$);
GRANT SELECT ON fanfare.subscriptions TO fanfare_reader;

-- The progress of device imports from files, kept for a month so that a later attempt can resume. Stores the app's
-- name, because the role that imports can read no other table.
CREATE TABLE IF NOT EXISTS fanfare.imports (
    app text NOT NULL,
    -- Hashes the file and the options that it is read with.
    fingerprint bytea NOT NULL,
    file text NOT NULL,
    -- The next byte offset and its line number.
    place bigint NOT NULL,
    line bigint NOT NULL,
    counts jsonb NOT NULL,
    started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    noted_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    finished_at timestamptz,
    PRIMARY KEY (app, fingerprint)
);
-- For `fanfare devices import --resume`.
GRANT SELECT ON fanfare.imports TO fanfare_registrar;

-- The progress of changes to FCM's own topics, kept for a month so that a later attempt can continue. Only the daemon's
-- role reads tokens, so only it can run `fanfare topics`.
CREATE TABLE IF NOT EXISTS fanfare.topic_changes (
    app text NOT NULL,
    operation text NOT NULL CONSTRAINT topic_changes_operation CHECK (operation IN ('subscribe', 'unsubscribe')),
    topic text NOT NULL,
    -- Hashes the selection of devices and the project.
    fingerprint bytea NOT NULL,
    -- The highest id up to which every selected device is done; 0 at the beginning.
    device_id bigint NOT NULL,
    counts jsonb NOT NULL,
    started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    noted_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    finished_at timestamptz,
    PRIMARY KEY (app, operation, topic, fingerprint)
);

-- Opt-outs of users: a category that rules name, or `*` for all categories. Has rows only for users who made a choice.
-- Claims read it without locks, so they never block a user's transaction.
CREATE TABLE IF NOT EXISTS fanfare.preferences (
    app_id smallint NOT NULL REFERENCES fanfare.apps,
    user_id text NOT NULL CONSTRAINT preferences_user_length CHECK (octet_length(user_id) BETWEEN 1 AND 2048),
    category text NOT NULL
        CONSTRAINT preferences_category_shape CHECK (category = '*' OR category ~ '^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,63}$'),
    opted_out boolean NOT NULL DEFAULT false,
    snoozed_until timestamptz CONSTRAINT preferences_snoozed CHECK (isfinite(snoozed_until)),
    -- The transaction that wrote the row; daemons read the rows written since their last query.
    xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
    PRIMARY KEY (app_id, user_id, category)
);
SELECT fanfare.create_index('preferences_xid', $$CREATE INDEX preferences_xid ON fanfare.preferences (xid)$$);
GRANT SELECT ON fanfare.preferences TO fanfare_reader;

-- ---------------------------------------------------------------------------------------------------------------
-- 11. Rules
-- ---------------------------------------------------------------------------------------------------------------
-- A version is immutable: an edit creates a new one. Queues and logs refer to the version that was used.

-- The keys of rules, campaigns, policies and messages, and of the objects within them: the list of the daemon (DefinitionKey), from which a test
-- writes these rows. `members` names the object whose keys a value may have; `form` describes any other value.
CREATE TABLE IF NOT EXISTS fanfare.definition_keys (
    object text NOT NULL,
    position smallint NOT NULL,
    key text NOT NULL,
    form text NOT NULL,
    members text,
    low bigint,
    high bigint,
    words text[],
    required boolean NOT NULL,
    -- What is said about another value, and how to fix it.
    reason text NOT NULL,
    hint text NOT NULL,
    PRIMARY KEY (object, key)
);
COMMENT ON TABLE fanfare.definition_keys IS 'The keys of rules, campaigns, policies and messages, and the form of each value.';
GRANT SELECT ON fanfare.definition_keys TO fanfare_author, fanfare_reader;

INSERT INTO fanfare.definition_keys AS d (object, position, key, form, members, low, high, words, required, reason, hint) VALUES
    ('rule', 1, 'name', 'rule_name', NULL, NULL, NULL, NULL, true, 'cannot be a name', 'use 1 to 100 letters, digits, "_", "." and "-", beginning with a letter or digit'),
    ('rule', 2, 'app', 'app_name', NULL, NULL, NULL, NULL, true, 'cannot be a name', 'use 1 to 64 letters, digits, "_" and "-", beginning with a letter or digit'),
    ('rule', 3, 'event', 'event_type', NULL, NULL, NULL, NULL, true, 'cannot be a name', 'use 1 to 255 bytes on one line, such as order.shipped'),
    ('rule', 4, 'when', 'predicate', NULL, NULL, NULL, NULL, false, 'is not a string', 'a string is needed'),
    ('rule', 5, 'to', 'object', 'audience', NULL, NULL, NULL, true, 'is not an object', 'say which devices the rule reaches, as in {"users": "$.customer_id"}'),
    ('rule', 6, 'message', 'object', NULL, NULL, NULL, NULL, true, 'is not an object', 'say what to send, as in {"notification": {"title": "Hello"}}'),
    ('rule', 7, 'locales', 'object', NULL, NULL, NULL, NULL, false, 'is not an object', 'write the parts that differ, as in {"es": {"notification": {"title": "Hola"}}}'),
    ('rule', 8, 'collapse', 'string', NULL, NULL, NULL, NULL, false, 'is not a string', 'a string is needed'),
    ('rule', 9, 'ttl', 'duration', NULL, 1, 315360000, NULL, false, 'is not a duration', 'write a whole number with s, m, h or d, such as 90s, 15m, 4h or 7d'),
    ('rule', 10, 'lane', 'word', NULL, NULL, NULL, '{transactional,normal,bulk}', false, 'is not one of its values', 'known are transactional, normal, bulk'),
    ('rule', 11, 'supersede', 'boolean', NULL, NULL, NULL, NULL, false, 'is neither true nor false', 'write true or false'),
    ('rule', 12, 'backlog', 'word', NULL, NULL, NULL, '{send,latest_per_collapse,drop}', false, 'is not one of its values', 'known are send, latest_per_collapse, drop'),
    ('rule', 13, 'delivery', 'word', NULL, NULL, NULL, '{at_least_once,at_most_once}', false, 'is not one of its values', 'known are at_least_once, at_most_once'),
    ('rule', 14, 'enabled', 'boolean', NULL, NULL, NULL, NULL, false, 'is neither true nor false', 'write true or false'),
    ('rule', 15, 'badge_sql', 'string', NULL, NULL, NULL, NULL, false, 'is not a string', 'a string is needed'),
    ('rule', 16, 'category', 'label', NULL, NULL, NULL, NULL, false, 'cannot be a category', 'use 1 to 64 letters, digits, "_", "." and "-", beginning with a letter or digit'),
    ('rule', 17, 'quiet_hours', 'word', 'quiet_hours', NULL, NULL, '{off}', false, 'is neither off nor an object', 'write {"from": "22:00", "until": "08:00", "mode": "hold"}, or off for none'),
    ('rule', 18, 'caps', 'names', NULL, NULL, NULL, NULL, false, 'is not a list of names', 'name caps of the app''s policy, as in ["daily"]'),
    ('rule', 19, 'variants', 'list', 'variant', 1, 16, NULL, false, 'is not a list', 'write [{"name": "short", "weight": 20, "message": {…}}, {"name": "plain", "weight": 80}]'),
    ('rule', 20, 'holdout', 'share', NULL, 0, 500000, NULL, false, 'is not a share from 0% to 50%', 'write a share such as 5% or 0.5%'),
    ('rule', 21, 'digest', 'object', 'digest', NULL, NULL, NULL, false, 'is not an object', 'write {"every": "10m", "by": "{{user_id}}"}'),
    ('rule', 22, 'debounce', 'object', 'debounce', NULL, NULL, NULL, false, 'is not an object', 'write {"wait": "30s", "by": "{{user_id}}"}'),
    ('rule', 23, 'retract_on', 'object', 'retract_on', NULL, NULL, NULL, false, 'is not an object', 'write {"event": "message.read", "by": "{{room}}", "user": "{{user_id}}"}'),
    ('rule', 24, 'report', 'boolean', NULL, NULL, NULL, NULL, false, 'is neither true nor false', 'write true or false'),
    ('rule', 25, 'as_event', 'event_type', NULL, NULL, NULL, NULL, false, 'cannot be a name', 'use 1 to 255 bytes on one line, such as order.shipped'),
    ('rule', 26, 'report_text', 'boolean', NULL, NULL, NULL, NULL, false, 'is neither true nor false', 'write true or false'),
    ('rule', 27, 'conversion', 'object', 'conversion', NULL, NULL, NULL, false, 'is not an object', 'write {"event": "order.paid", "user": "$.new.customer_id", "within": "24h"}'),
    ('rule', 28, 'conversion_sql', 'string', NULL, NULL, NULL, NULL, false, 'is not a string', 'a string is needed'),
    ('audience', 1, 'users', 'jsonpath', NULL, NULL, NULL, NULL, false, 'is not a string', 'a string is needed'),
    ('audience', 2, 'users_sql', 'string', NULL, NULL, NULL, NULL, false, 'is not a string', 'a string is needed'),
    ('audience', 3, 'tokens', 'jsonpath', NULL, NULL, NULL, NULL, false, 'is not a string', 'a string is needed'),
    ('audience', 4, 'topic', 'string', NULL, NULL, NULL, NULL, false, 'is not a string', 'a string is needed'),
    ('audience', 5, 'condition', 'string', NULL, NULL, NULL, NULL, false, 'is not a string', 'a string is needed'),
    ('audience', 6, 'everyone', 'yes', NULL, NULL, NULL, NULL, false, 'is not true', 'write "everyone": true'),
    ('audience', 7, 'fcm_topic', 'string', NULL, NULL, NULL, NULL, false, 'is not a string', 'a string is needed'),
    ('audience', 8, 'fcm_condition', 'string', NULL, NULL, NULL, NULL, false, 'is not a string', 'a string is needed'),
    ('audience', 9, 'channel', 'string', NULL, NULL, NULL, NULL, false, 'is not a string', 'a string is needed'),
    ('audience', 10, 'devices', 'predicate', NULL, NULL, NULL, NULL, false, 'is not a string', 'a string is needed'),
    ('audience', 11, 'provider', 'string', NULL, NULL, NULL, NULL, false, 'is not a string', 'a string is needed'),
    ('audience', 12, 'kind', 'word', NULL, NULL, NULL, '{device,voip,live_activity,live_activity_start,complication,file_provider,location,push_to_talk,widget,control,mdm}', false, 'is not one of its values', 'known are device, voip, live_activity, live_activity_start, complication, file_provider, location, push_to_talk, widget, control, mdm'),
    ('audience', 13, 'permission', 'words', NULL, NULL, NULL, '{authorized,provisional,denied,unknown}', false, 'is neither one of its values nor a list of them', 'known are authorized, provisional, denied, unknown'),
    ('audience', 14, 'presents', 'words', NULL, NULL, NULL, '{alert,badge,sound}', false, 'is neither one of its values nor a list of them', 'known are alert, badge, sound'),
    ('quiet_hours', 1, 'from', 'time_of_day', NULL, NULL, NULL, NULL, true, 'is not a time of day', 'write what clocks show, from 00:00 to 23:59, as in "22:00"'),
    ('quiet_hours', 2, 'until', 'time_of_day', NULL, NULL, NULL, NULL, true, 'is not a time of day', 'write what clocks show, from 00:00 to 23:59, as in "22:00"'),
    ('quiet_hours', 3, 'mode', 'word', NULL, NULL, NULL, '{hold,drop}', false, 'is neither hold nor drop', 'hold sends pushes when quiet hours end, drop never sends them'),
    ('variant', 1, 'name', 'label', NULL, NULL, NULL, NULL, true, 'cannot be a name', 'use 1 to 64 letters, digits, "_", "." and "-", beginning with a letter or digit; holdout is reserved for the control group'),
    ('variant', 2, 'weight', 'whole', NULL, 0, 1000000, NULL, false, 'is not a whole number from 0 to 1000000', 'write which share of all weights together it gets, such as 20'),
    ('variant', 3, 'message', 'object', NULL, NULL, NULL, NULL, false, 'is not an object', 'write what is different in it'),
    ('variant', 4, 'locales', 'object', NULL, NULL, NULL, NULL, false, 'is not an object', 'write what is different in it'),
    ('digest', 1, 'every', 'duration', NULL, 1, 86400, NULL, true, 'is not a duration from 1s to 24h', 'write a whole number with s, m or h, such as 30s, 10m or 24h'),
    ('digest', 2, 'by', 'text', NULL, NULL, NULL, NULL, true, 'is empty', 'say which events belong together, as in "{{user_id}}"'),
    ('debounce', 1, 'wait', 'duration', NULL, 1, 86400, NULL, true, 'is not a duration from 1s to 24h', 'write a whole number with s, m or h, such as 30s, 10m or 24h'),
    ('debounce', 2, 'by', 'text', NULL, NULL, NULL, NULL, true, 'is empty', 'say which events belong together, as in "{{user_id}}"'),
    ('debounce', 3, 'longest', 'duration', NULL, 1, 86400, NULL, false, 'is not a duration from 1s to 24h', 'write a whole number with s, m or h, such as 30s, 10m or 24h'),
    ('retract_on', 1, 'event', 'event_type', NULL, NULL, NULL, NULL, true, 'cannot be a name', 'use 1 to 255 bytes on one line, such as order.shipped'),
    ('retract_on', 2, 'by', 'text', NULL, NULL, NULL, NULL, true, 'is empty', 'name the value that both payloads have, as in "{{room}}"'),
    ('retract_on', 3, 'user', 'text', NULL, NULL, NULL, NULL, false, 'is empty', 'name the user in the payload of the event that takes back, as in "{{user_id}}"'),
    ('retract_on', 4, 'within', 'duration', NULL, 60, 2592000, NULL, false, 'is not a duration from 1m to 30d', 'write a whole number with m, h or d, such as 30m, 24h or 7d'),
    ('conversion', 1, 'event', 'event_type', NULL, NULL, NULL, NULL, false, 'cannot be a name', 'use 1 to 255 bytes on one line, such as order.shipped'),
    ('conversion', 2, 'user', 'jsonpath', NULL, NULL, NULL, NULL, false, 'is not a string', 'a string is needed'),
    ('conversion', 3, 'within', 'duration', NULL, 60, 2592000, NULL, false, 'is not a duration from 1m to 30d', 'write a whole number with m, h or d, such as 30m, 24h or 7d'),
    ('conversion', 4, 'value', 'jsonpath', NULL, NULL, NULL, NULL, false, 'is not a string', 'a string is needed'),
    ('campaign', 1, 'name', 'rule_name', NULL, NULL, NULL, NULL, true, 'cannot be a name', 'use 1 to 100 letters, digits, "_", "." and "-", beginning with a letter or digit'),
    ('campaign', 2, 'app', 'app_name', NULL, NULL, NULL, NULL, true, 'cannot be a name', 'use 1 to 64 letters, digits, "_" and "-", beginning with a letter or digit'),
    ('campaign', 3, 'schedule', 'object', 'schedule', NULL, NULL, NULL, false, 'is not an object', 'write {"cron": "0 9 * * mon", "time_zone": "Europe/Madrid"}'),
    ('campaign', 4, 'payload', 'object', NULL, NULL, NULL, NULL, false, 'is not an object', 'write {"sale": "winter"}'),
    ('campaign', 5, 'audience_sql', 'string', NULL, NULL, NULL, NULL, false, 'is not a string', 'write a query'),
    ('campaign', 6, 'payload_sql', 'string', NULL, NULL, NULL, NULL, false, 'is not a string', 'write a query'),
    ('campaign', 7, 'rate', 'speed', 'rate', NULL, NULL, NULL, false, 'is not a rate', 'an object is needed'),
    ('campaign', 8, 'canary', 'object', 'canary', NULL, NULL, NULL, false, 'is not an object', 'write {"share": "1%", "wait": "10m", "max_failed": "2%"}'),
    ('campaign', 9, 'experiment', 'object', 'experiment', NULL, NULL, NULL, false, 'is not an object', 'write {"share": "20%", "wait": "2h", "by": "opened"}'),
    ('campaign', 10, 'lane', 'word', NULL, NULL, NULL, '{transactional,normal,bulk}', false, 'is not one of its values', 'known are transactional, normal, bulk'),
    ('campaign', 11, 'to', 'object', 'audience', NULL, NULL, NULL, false, 'is not an object', 'say which devices the rule reaches, as in {"users": "$.customer_id"}'),
    ('campaign', 12, 'message', 'object', NULL, NULL, NULL, NULL, true, 'is not an object', 'say what to send, as in {"notification": {"title": "Hello"}}'),
    ('campaign', 13, 'locales', 'object', NULL, NULL, NULL, NULL, false, 'is not an object', 'write the parts that differ, as in {"es": {"notification": {"title": "Hola"}}}'),
    ('campaign', 14, 'collapse', 'string', NULL, NULL, NULL, NULL, false, 'is not a string', 'a string is needed'),
    ('campaign', 15, 'ttl', 'duration', NULL, 1, 315360000, NULL, false, 'is not a duration', 'write a whole number with s, m, h or d, such as 90s, 15m, 4h or 7d'),
    ('campaign', 16, 'delivery', 'word', NULL, NULL, NULL, '{at_least_once,at_most_once}', false, 'is not one of its values', 'known are at_least_once, at_most_once'),
    ('campaign', 17, 'badge_sql', 'string', NULL, NULL, NULL, NULL, false, 'is not a string', 'a string is needed'),
    ('campaign', 18, 'category', 'label', NULL, NULL, NULL, NULL, false, 'cannot be a category', 'use 1 to 64 letters, digits, "_", "." and "-", beginning with a letter or digit'),
    ('campaign', 19, 'quiet_hours', 'word', 'quiet_hours', NULL, NULL, '{off}', false, 'is neither off nor an object', 'write {"from": "22:00", "until": "08:00", "mode": "hold"}, or off for none'),
    ('campaign', 20, 'caps', 'names', NULL, NULL, NULL, NULL, false, 'is not a list of names', 'name caps of the app''s policy, as in ["daily"]'),
    ('campaign', 21, 'variants', 'list', 'variant', 1, 16, NULL, false, 'is not a list', 'write [{"name": "short", "weight": 20, "message": {…}}, {"name": "plain", "weight": 80}]'),
    ('campaign', 22, 'holdout', 'share', NULL, 0, 500000, NULL, false, 'is not a share from 0% to 50%', 'write a share such as 5% or 0.5%'),
    ('campaign', 23, 'report', 'boolean', NULL, NULL, NULL, NULL, false, 'is neither true nor false', 'write true or false'),
    ('campaign', 24, 'as_event', 'event_type', NULL, NULL, NULL, NULL, false, 'cannot be a name', 'use 1 to 255 bytes on one line, such as order.shipped'),
    ('campaign', 25, 'report_text', 'boolean', NULL, NULL, NULL, NULL, false, 'is neither true nor false', 'write true or false'),
    ('campaign', 26, 'conversion', 'object', 'conversion', NULL, NULL, NULL, false, 'is not an object', 'write {"event": "order.paid", "user": "$.new.customer_id", "within": "24h"}'),
    ('campaign', 27, 'conversion_sql', 'string', NULL, NULL, NULL, NULL, false, 'is not a string', 'a string is needed'),
    ('schedule', 1, 'cron', 'string', NULL, NULL, NULL, NULL, false, 'is not a string', 'a string is needed'),
    ('schedule', 2, 'at', 'wall_time', NULL, NULL, NULL, NULL, false, 'is not a time of day', 'write what clocks in time_zone show, as in 2026-12-01T09:00'),
    ('schedule', 3, 'time_zone', 'time_zone', NULL, NULL, NULL, '{recipient}', false, 'is not a string', 'use a name such as Europe/Madrid, or recipient for each device''s own; without one, it is UTC'),
    ('schedule', 4, 'default_time_zone', 'time_zone', NULL, NULL, NULL, NULL, false, 'is not a string', 'name the zone of devices that have none, such as Europe/Madrid; without one, it is UTC'),
    ('schedule', 5, 'catch_up', 'word', NULL, NULL, NULL, '{all,latest,none}', false, 'is not one of its values', 'known are all, latest, none'),
    ('rate', 1, 'per', 'speed', NULL, NULL, NULL, NULL, true, 'is not a rate', 'write how many pushes a second, as in 500/s'),
    ('rate', 2, 'ramp', 'object', 'ramp', NULL, NULL, NULL, false, 'is not an object', 'write {"from": "50/s", "over": "30m"}'),
    ('ramp', 1, 'from', 'speed', NULL, NULL, NULL, NULL, true, 'is not a rate', 'write how many pushes a second, as in 500/s'),
    ('ramp', 2, 'over', 'duration', NULL, 1, 315360000, NULL, true, 'is not a duration', 'write a whole number with s, m, h or d, such as 90s, 15m, 4h or 7d'),
    ('canary', 1, 'share', 'share', NULL, 1, 500000, NULL, false, 'is not a share from above 0% to 50%', 'write a share such as 1% or 0.5%'),
    ('canary', 2, 'devices', 'whole', NULL, 1, 1000000, NULL, false, 'is not a whole number from 1 to 1000000', 'write about how many devices go first, such as 500'),
    ('canary', 3, 'wait', 'duration', NULL, 1, 604800, NULL, false, 'is not a duration from 1s to 7d', 'write a whole number with s, m, h or d, such as 10m'),
    ('canary', 4, 'max_failed', 'share', NULL, 0, 1000000, NULL, false, 'is not a share from 0% to 100%', 'write a share such as 2% or 0.5%'),
    ('experiment', 1, 'share', 'share', NULL, 1, 500000, NULL, true, 'is not a share from above 0% to 50%', 'write a share such as 20% or 0.5%'),
    ('experiment', 2, 'wait', 'duration', NULL, 60, 604800, NULL, false, 'is not a duration from 1m to 7d', 'write a whole number with m, h or d, such as 2h'),
    ('experiment', 3, 'by', 'word', NULL, NULL, NULL, '{opened,converted}', false, 'is not one of its values', 'known are opened, converted'),
    ('experiment', 4, 'unclear', 'word', NULL, NULL, NULL, '{hold,best}', false, 'is not one of its values', 'known are hold, best'),
    ('policy', 1, 'time_zone', 'time_zone', NULL, NULL, NULL, NULL, false, 'is not a string', 'use a name such as Europe/Madrid; without one, it is UTC'),
    ('policy', 2, 'quiet_hours', 'object', 'quiet_hours', NULL, NULL, NULL, false, 'is not an object', 'write {"from": "22:00", "until": "08:00", "mode": "hold"}'),
    ('policy', 3, 'caps', 'named', 'cap', 0, 16, NULL, false, 'is not an object', 'write {"daily": {"max": 3, "per": "1d"}}'),
    ('policy', 4, 'rate', 'speed', NULL, NULL, NULL, NULL, false, 'is not a rate', 'write how many pushes a second, as in 500/s'),
    ('policy', 5, 'providers', 'providers', 'provider_policy', NULL, NULL, NULL, false, 'is not an object', 'write {"fcm": {"rate": "500/s"}}'),
    ('policy', 6, 'report', 'boolean', NULL, NULL, NULL, NULL, false, 'is neither true nor false', 'write true or false'),
    ('policy', 7, 'report_devices', 'boolean', NULL, NULL, NULL, NULL, false, 'is neither true nor false', 'write true or false'),
    ('cap', 1, 'max', 'whole', NULL, 1, 100, NULL, true, 'is not a whole number from 1 to 100', 'write how many a user gets at most, such as 3; a user who wants none opts out'),
    ('cap', 2, 'per', 'duration', NULL, 60, 2678400, NULL, true, 'is not a duration from 1m to 31d', 'write a whole number with s, m, h or d, such as 1d'),
    ('provider_policy', 1, 'rate', 'speed', NULL, NULL, NULL, NULL, true, 'is not a rate', 'write how many pushes a second, as in 500/s'),
    ('send', 1, 'app', 'app_name', NULL, NULL, NULL, NULL, true, 'cannot be a name', 'use 1 to 64 letters, digits, "_" and "-", beginning with a letter or digit'),
    ('send', 2, 'to', 'object', 'send_audience', NULL, NULL, NULL, true, 'is not an object', 'say whom the message reaches, as in {"users": "ada"}'),
    ('send', 3, 'message', 'object', NULL, NULL, NULL, NULL, true, 'is not an object', 'say what to send, as in {"notification": {"title": "Hello"}}'),
    ('send', 4, 'at', 'string', NULL, NULL, NULL, NULL, false, 'is not a string', 'a string is needed'),
    ('send', 5, 'key', 'text', NULL, NULL, NULL, NULL, false, 'is empty', 'leave the key out of a message that may be sent again'),
    ('send', 6, 'ttl', 'duration', NULL, 1, 315360000, NULL, false, 'is not a duration', 'write a whole number with s, m, h or d, such as 90s, 15m, 4h or 7d'),
    ('send', 7, 'category', 'label', NULL, NULL, NULL, NULL, false, 'cannot be a category', 'use 1 to 64 letters, digits, "_", "." and "-", beginning with a letter or digit'),
    ('send', 8, 'lane', 'word', NULL, NULL, NULL, '{transactional,normal,bulk}', false, 'is not one of its values', 'known are transactional, normal, bulk'),
    ('send', 9, 'collapse', 'text', NULL, NULL, NULL, NULL, false, 'is empty', 'say which messages replace each other, as in "order-7"'),
    ('send', 10, 'report', 'boolean', NULL, NULL, NULL, NULL, false, 'is neither true nor false', 'write true or false'),
    ('send_audience', 1, 'users', 'ids', NULL, NULL, NULL, NULL, false, 'is neither a user nor a list of users', 'write the ids that devices are registered with, as in "ada" or ["ada", "bob"]'),
    ('send_audience', 2, 'tokens', 'ids', NULL, NULL, NULL, NULL, false, 'is neither a token nor a list of tokens', 'write a token of the provider, or a list of them'),
    ('send_audience', 3, 'topic', 'string', NULL, NULL, NULL, NULL, false, 'is not a string', 'a string is needed'),
    ('send_audience', 4, 'condition', 'string', NULL, NULL, NULL, NULL, false, 'is not a string', 'a string is needed'),
    ('send_audience', 5, 'everyone', 'yes', NULL, NULL, NULL, NULL, false, 'is not true', 'write "everyone": true'),
    ('send_audience', 6, 'fcm_topic', 'string', NULL, NULL, NULL, NULL, false, 'is not a string', 'a string is needed'),
    ('send_audience', 7, 'fcm_condition', 'string', NULL, NULL, NULL, NULL, false, 'is not a string', 'a string is needed'),
    ('send_audience', 8, 'channel', 'string', NULL, NULL, NULL, NULL, false, 'is not a string', 'a string is needed'),
    ('send_audience', 9, 'devices', 'predicate', NULL, NULL, NULL, NULL, false, 'is not a string', 'a string is needed'),
    ('send_audience', 10, 'provider', 'string', NULL, NULL, NULL, NULL, false, 'is not a string', 'a string is needed'),
    ('send_audience', 11, 'kind', 'word', NULL, NULL, NULL, '{device,voip,live_activity,live_activity_start,complication,file_provider,location,push_to_talk,widget,control,mdm}', false, 'is not one of its values', 'known are device, voip, live_activity, live_activity_start, complication, file_provider, location, push_to_talk, widget, control, mdm'),
    ('send_audience', 12, 'permission', 'words', NULL, NULL, NULL, '{authorized,provisional,denied,unknown}', false, 'is neither one of its values nor a list of them', 'known are authorized, provisional, denied, unknown'),
    ('send_audience', 13, 'presents', 'words', NULL, NULL, NULL, '{alert,badge,sound}', false, 'is neither one of its values nor a list of them', 'known are alert, badge, sound')
ON CONFLICT (object, key) DO UPDATE
    SET (position, form, members, low, high, words, required, reason, hint) = (excluded.position, excluded.form, excluded.members, excluded.low,
        excluded.high, excluded.words, excluded.required, excluded.reason, excluded.hint)
    WHERE d.* IS DISTINCT FROM excluded.*;

CREATE TABLE IF NOT EXISTS fanfare.rules (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    app_id smallint NOT NULL REFERENCES fanfare.apps,
    name text NOT NULL,
    -- Whether the rule came from a YAML file. `rules apply --prune` disables only such rules.
    from_file boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    dropped_at timestamptz,
    -- Taken from the event sequence: events with a higher number were emitted later, even if a clock was set back.
    event_number bigint NOT NULL DEFAULT nextval('fanfare.event_sequence')
);
SELECT fanfare.create_index('rules_name', $$
    CREATE UNIQUE INDEX rules_name ON fanfare.rules (app_id, name) WHERE dropped_at IS NULL$$);
GRANT SELECT ON fanfare.rules TO fanfare_author, fanfare_reader;

-- The key of an equation between a path and a JSON value. Two values have the same key if jsonpath's == finds them equal.
CREATE OR REPLACE FUNCTION fanfare.equality_key(path text, value jsonb) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN path || ' == ' || CASE jsonb_typeof(value) WHEN 'number' THEN trim_scale(value::numeric)::text ELSE value::text END;

-- An equation that must hold for a rule's `when` to be true: the path of a value of the payload, such as $."new"."status",
-- and the key of the equation with its literal. Both are NULL if there is none, or none that is found.
--
-- It searches the text as PostgreSQL prints a jsonpath: names and strings are quoted, as in JSON. In a text without OR,
-- negation, IS UNKNOWN, filter and strict mode, each equation between two && must hold.
CREATE OR REPLACE FUNCTION fanfare.equality_of(predicate jsonpath, OUT path text, OUT key text)
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    string CONSTANT text := replace('"(?:[^"/]|/.)*"', '/', repeat(chr(92), 2));
    printed CONSTANT text := predicate::text;
    equation text[];
BEGIN
    IF regexp_replace(printed, string, '', 'g') ~ '[|]|!(?!=)|is unknown|[?]|exists|strict' THEN
        RETURN;
    END IF;
    equation := regexp_match(printed, '(?:^|&& )[(]*([$](?:[.]' || string || ')+) == (' || string
        || '|-?[0-9]+(?:[.][0-9]+)?|true|false|null)(?= &&|[)])');
    -- What an index can hold.
    IF octet_length(equation[1]) <= 500 AND octet_length(equation[2]) <= 500 THEN
        path := equation[1];
        key := fanfare.equality_key(path, equation[2]::jsonb);
    END IF;
END
$$;
GRANT EXECUTE ON FUNCTION fanfare.equality_key, fanfare.equality_of TO fanfare_author;

-- The paths of equations in rules for an event type. A path stays when its last rule is gone.
CREATE TABLE IF NOT EXISTS fanfare.equality_paths (
    event_type text NOT NULL,
    path text NOT NULL,
    PRIMARY KEY (event_type, path)
);

CREATE TABLE IF NOT EXISTS fanfare.rule_versions (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    rule_id int NOT NULL REFERENCES fanfare.rules,
    version int NOT NULL,
    -- json, not jsonb, so that number literals keep their spelling.
    definition json NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    state text NOT NULL DEFAULT 'unchecked'
        CONSTRAINT rule_versions_state CHECK (state IN ('unchecked', 'active', 'refused')),
    reason text CONSTRAINT rule_versions_reason_length CHECK (octet_length(reason) <= 8192),
    checked_at timestamptz,
    retired_at timestamptz,
    -- What planning needs of the definition. The daemon that checks a version fills it in, except for the event type
    -- and the rule's creation time and number, which are set when the version is stored.
    app_id smallint,
    event_type text,
    rule_created_at timestamptz,
    rule_event_number bigint,
    when_path jsonpath,
    -- The key of an equation that must hold for when_path to be true; empty if there is none.
    when_key text NOT NULL GENERATED ALWAYS AS (coalesce((fanfare.equality_of(when_path)).key, '')) STORED,
    audience text,
    audience_path jsonpath,
    devices_path jsonpath,
    kind text,
    provider text,
    lane smallint,
    ttl interval,
    supersede boolean NOT NULL DEFAULT false,
    enabled boolean NOT NULL DEFAULT true,
    -- The target for a rule whose audience the provider keeps; NULL if each device has its own target.
    native_target_id smallint,
    -- The gate of its batches; 0 for none.
    gate_id int NOT NULL DEFAULT 0,
    -- The internal version whose silent pushes take back what this one sent; NULL until there is one (retraction_rule).
    retract_version int,
    -- For `retract_on`: the event type, the paths of the value and of the user in payloads, and the window.
    retract_event text,
    retract_by text[],
    retract_user text[],
    retract_within interval,
    -- The filters of `to`: NULL for none. `unknown` is among permissions if devices that have said none are meant too.
    permissions text[],
    presents text[],
    -- For `conversion`: the event type, the paths of the user and of the value in its payloads, and the window. For
    -- `conversion_sql`, the type is `sql:` with the rule's id, and the path of the user is empty.
    conversion_event text,
    conversion_user text[],
    conversion_value text[],
    conversion_within interval,
    -- The version that an experiment ran with, if this one sends its winner to the others (winner_version). Never in force.
    winner_of int,
    UNIQUE (rule_id, version),
    CONSTRAINT rule_versions_reason CHECK ((state = 'refused') = (reason IS NOT NULL)),
    CONSTRAINT rule_versions_checked CHECK (state <> 'active' OR (app_id IS NOT NULL AND event_type IS NOT NULL
        AND rule_created_at IS NOT NULL AND audience IS NOT NULL AND kind IS NOT NULL AND lane IS NOT NULL))
);
SELECT fanfare.create_index('rule_versions_in_force', $$
    CREATE INDEX rule_versions_in_force ON fanfare.rule_versions (event_type, when_key)
    WHERE state = 'active' AND retired_at IS NULL AND enabled$$);
-- The rules that events of a type take something back from.
SELECT fanfare.create_index('rule_versions_retract', $$
    CREATE INDEX rule_versions_retract ON fanfare.rule_versions (retract_event)
    WHERE state = 'active' AND retired_at IS NULL AND enabled AND retract_event IS NOT NULL$$);
SELECT fanfare.create_index('rule_versions_unchecked', $$
    CREATE INDEX rule_versions_unchecked ON fanfare.rule_versions (id) WHERE state = 'unchecked'$$);
GRANT SELECT ON fanfare.rule_versions TO fanfare_author, fanfare_reader;

-- Planning computes the keys of a payload for these paths only.
CREATE OR REPLACE FUNCTION fanfare.note_equality_path() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO fanfare.equality_paths (event_type, path)
    SELECT NEW.event_type, e.path FROM fanfare.equality_of(NEW.when_path) AS e
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$;
SELECT fanfare.create_trigger('fanfare.rule_versions', 'equality_path', $$
    CREATE TRIGGER equality_path AFTER INSERT OR UPDATE OF when_path, event_type ON fanfare.rule_versions
        FOR EACH ROW WHEN (NEW.when_key <> '' AND NEW.event_type IS NOT NULL) EXECUTE FUNCTION fanfare.note_equality_path()$$);

-- What messages that are sent without a rule have in common: all except their texts, recipients and times. Each shape has
-- a rule, `send/<shape>`, which takes the events of type `send.<app>` that name the shape. Two transactions that store the
-- same shape at the same time store it twice, so that neither waits for the other; an event names one of the two.
CREATE TABLE IF NOT EXISTS fanfare.shapes (
    name text PRIMARY KEY,
    -- SHA-256 of the rule without its name.
    hash bytea NOT NULL,
    app_id smallint NOT NULL REFERENCES fanfare.apps,
    rule_id int NOT NULL UNIQUE REFERENCES fanfare.rules,
    -- When it was stored, or last found in use.
    seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- From then on, messages of this shape store it again. The rule stays for events that are not planned yet.
    retired_at timestamptz
);
SELECT fanfare.create_index('shapes_hash', $$
    CREATE INDEX shapes_hash ON fanfare.shapes (hash) WHERE retired_at IS NULL$$);
SELECT fanfare.create_index('shapes_app', $$
    CREATE INDEX shapes_app ON fanfare.shapes (app_id) WHERE retired_at IS NULL$$);
GRANT SELECT ON fanfare.shapes TO fanfare_author, fanfare_reader;
-- The values of payloads by which rules find events: planning stores those of these types and paths, and nothing for
-- other types. A path that no active rule names any more is deleted an hour later, with its values.
CREATE TABLE IF NOT EXISTS fanfare.value_paths (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    event_type text NOT NULL,
    path text[] NOT NULL,
    -- Whether a rule's `conversion` names it: then the value is a user.
    converts boolean NOT NULL DEFAULT false,
    -- For a conversion_sql: when it last succeeded, and when it was last executed.
    read_at timestamptz,
    tried_at timestamptz,
    -- Whether no rule names it any more: then its values are deleted, and no more are stored.
    is_ended boolean NOT NULL DEFAULT false,
    named_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    UNIQUE (event_type, path)
);
SELECT fanfare.add_column('fanfare.value_paths', 'converts', 'boolean NOT NULL DEFAULT false');
SELECT fanfare.add_column('fanfare.value_paths', 'read_at', 'timestamptz');
SELECT fanfare.add_column('fanfare.value_paths', 'tried_at', 'timestamptz');
SELECT fanfare.add_column('fanfare.value_paths', 'is_ended', 'boolean NOT NULL DEFAULT false');

CREATE OR REPLACE FUNCTION fanfare.texts(list jsonb) RETURNS text[] LANGUAGE sql IMMUTABLE
RETURN CASE WHEN list IS NOT NULL THEN ARRAY(SELECT jsonb_array_elements_text(list)) END;
COMMENT ON FUNCTION fanfare.texts IS 'The elements of a list as text; null without a list.';

CREATE OR REPLACE FUNCTION fanfare.note_value_path() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    -- The update keeps a concurrent deletion from removing the path.
    INSERT INTO fanfare.value_paths AS p (event_type, path, converts)
    SELECT n.event_type, n.path, bool_or(n.converts)
    FROM (VALUES (NEW.event_type, NEW.retract_by, false), (NEW.conversion_event, NEW.conversion_user, true)) AS n (event_type, path, converts)
    WHERE n.path IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 2
    ON CONFLICT (event_type, path) DO UPDATE SET named_at = excluded.named_at, converts = p.converts OR excluded.converts, is_ended = false;
    RETURN NULL;
END
$$;
-- It named fewer columns in an earlier version.
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_trigger AS t WHERE t.tgrelid = 'fanfare.rule_versions'::regclass AND t.tgname = 'value_path') THEN
        DROP TRIGGER value_path ON fanfare.rule_versions;
    END IF;
END
$$;
SELECT fanfare.create_trigger('fanfare.rule_versions', 'value_paths', $$
    CREATE TRIGGER value_paths AFTER INSERT OR UPDATE OF retract_event, conversion_event, state ON fanfare.rule_versions
        FOR EACH ROW WHEN ((NEW.retract_event IS NOT NULL OR NEW.conversion_event IS NOT NULL) AND NEW.state = 'active')
        EXECUTE FUNCTION fanfare.note_value_path()$$);

-- A campaign is a schedule with its own rule, `campaign/<name>`, for events of type `campaign.<app>.<name>`.
CREATE TABLE IF NOT EXISTS fanfare.campaigns (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    app_id smallint NOT NULL REFERENCES fanfare.apps,
    name text NOT NULL,
    -- The version of the latest put_campaign.
    version int NOT NULL,
    -- The latest put_campaign until a daemon accepts it; kept with the reason if it was rejected. json, not jsonb, so
    -- that number literals keep their spelling.
    draft json,
    -- The definition in force and its rule; NULL until a daemon has accepted the first one.
    definition json,
    rule_id int REFERENCES fanfare.rules,
    state text NOT NULL DEFAULT 'unchecked'
        CONSTRAINT campaigns_state CHECK (state IN ('unchecked', 'active', 'paused', 'refused', 'ended')),
    -- Why the newest version is not in force.
    reason text CONSTRAINT campaigns_reason_length CHECK (octet_length(reason) <= 8192),
    -- The schedule in force: the lists of a cron expression, or one wall time, in a time zone. All NULL if the campaign
    -- is started manually only. The zone `recipient` means each device's own. default_time_zone is for devices without
    -- one; NULL means the app's (policies).
    cron_fields jsonb,
    run_at timestamp,
    time_zone text,
    default_time_zone text,
    catch_up text NOT NULL DEFAULT 'latest' CONSTRAINT campaigns_catch_up CHECK (catch_up IN ('all', 'latest', 'none')),
    -- NULL if no run is scheduled.
    next_at timestamptz,
    -- Whether the campaign came from a YAML file. `campaigns apply --prune` drops only such campaigns.
    from_file boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    dropped_at timestamptz,
    CONSTRAINT campaigns_taken CHECK (state IN ('unchecked', 'refused') OR definition IS NOT NULL AND rule_id IS NOT NULL)
);
SELECT fanfare.create_index('campaigns_name', $$
    CREATE UNIQUE INDEX campaigns_name ON fanfare.campaigns (app_id, name) WHERE dropped_at IS NULL$$);
SELECT fanfare.create_index('campaigns_due', $$
    CREATE INDEX campaigns_due ON fanfare.campaigns (next_at) WHERE state = 'active' AND dropped_at IS NULL$$);
SELECT fanfare.create_index('campaigns_drafts', $$
    CREATE INDEX campaigns_drafts ON fanfare.campaigns (id) WHERE draft IS NOT NULL AND reason IS NULL AND dropped_at IS NULL$$);
GRANT SELECT ON fanfare.campaigns TO fanfare_author, fanfare_reader;

-- One time that a campaign was due or was started. The run and its event are inserted in one transaction, so each
-- scheduled time fires once even if a daemon crashes.
CREATE TABLE IF NOT EXISTS fanfare.runs (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    campaign_id int NOT NULL REFERENCES fanfare.campaigns,
    -- In recipients' time: 15 hours before UTC clocks show the wall time, which is one hour before the first zone
    -- reaches it.
    scheduled_at timestamptz NOT NULL,
    wall timestamp,
    event_id bigint,
    -- The gate of all its deliveries, or of the canary's; NULL if the run has no event, or many. With a canary, all
    -- other deliveries are behind held_gate_id, which is held until the verdict.
    gate_id int,
    held_gate_id int,
    -- The canary: a share of the audience, or approximately this many devices. canary_wait after its first responses
    -- the canary is judged; canary_max_failed is the share of failures allowed.
    canary_share real,
    canary_devices int,
    canary_wait interval,
    canary_max_failed real,
    verdict text CONSTRAINT runs_verdict CHECK (verdict IN ('passed', 'failed')),
    -- The number of deliveries made by its plans that have ended.
    planned bigint NOT NULL DEFAULT 0,
    -- skipped: the last of one or more times that were missed. querying: the campaign has a query, which a daemon is
    -- running or will run.
    state text NOT NULL CONSTRAINT runs_state CHECK (state IN ('skipped', 'querying', 'running', 'aborting', 'done', 'aborted', 'failed')),
    detail text CONSTRAINT runs_detail_length CHECK (octet_length(detail) <= 8192),
    fired_at timestamptz,
    ended_at timestamptz,
    -- The payload that the run was started with, until its event exists.
    payload jsonb,
    -- The daemon that runs the query, and when the next attempt is due. An owner that is not among instances no longer
    -- runs it.
    owner int,
    read_at timestamptz,
    -- The transaction that emitted the events of a payload_sql.
    emitted_xid xid8,
    -- The only recipients of a test run. The event id of a test run is set from the beginning.
    test_users text[],
    -- An experiment, whose sample is the canary: {"by": "opened", "unclear": "hold"}. It is evaluated from when the canary
    -- passed; the next time is look_at. Once decided, figures have the verdict, and winner the variant of the others.
    experiment jsonb,
    looks smallint NOT NULL DEFAULT 0,
    look_at timestamptz,
    winner text,
    figures jsonb,
    UNIQUE (campaign_id, scheduled_at),
    CONSTRAINT runs_canary CHECK ((held_gate_id IS NULL) = (canary_share IS NULL AND canary_devices IS NULL)),
    CONSTRAINT runs_fired CHECK (CASE WHEN state IN ('running', 'aborting', 'done') THEN num_nonnulls(event_id, emitted_xid) = 1
        ELSE state IN ('aborted', 'failed') OR event_id IS NULL OR test_users IS NOT NULL END)
);
SELECT fanfare.create_index('runs_event', $$
    CREATE INDEX runs_event ON fanfare.runs (event_id)$$);
SELECT fanfare.create_index('runs_running', $$
    CREATE INDEX runs_running ON fanfare.runs (id) WHERE state IN ('running', 'aborting')$$);
SELECT fanfare.create_index('runs_querying', $$
    CREATE INDEX runs_querying ON fanfare.runs (fired_at) WHERE state = 'querying'$$);
GRANT SELECT ON fanfare.runs TO fanfare_author, fanfare_reader;

-- The users that a campaign's audience_sql returned for an event, with their variables. Planned in key order; deleted
-- when the run is over.
CREATE TABLE IF NOT EXISTS fanfare.audiences (
    event_id bigint NOT NULL,
    -- bucket(audience_seed(event_id), user_id): an order that is independent of the user ids.
    bucket bigint NOT NULL,
    user_id text NOT NULL,
    variables jsonb,
    PRIMARY KEY (event_id, bucket, user_id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 50000, autovacuum_vacuum_insert_threshold = -1,
        autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 1000000);

-- ---------------------------------------------------------------------------------------------------------------
-- 12. Events: the queue and its log
-- ---------------------------------------------------------------------------------------------------------------

-- Returns NULL, never an error, for input that W3C Trace Context does not allow: an event must not be lost because of a
-- header that the application received. Written in PL/pgSQL because an SQL expression would be inlined into the column
-- default, and its setup would cost each event 4 µs. Separate tests are faster than a single pattern.
CREATE OR REPLACE FUNCTION fanfare.trace_context(traceparent text) RETURNS bytea
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    digits text := replace(substr(traceparent, 1, 55), '-', '');
BEGIN
    IF traceparent LIKE '__-________________________________-________________-__%' AND traceparent NOT LIKE 'ff%'
        -- Only future versions have trailing fields.
        AND (length(traceparent) = 55 OR substr(traceparent, 56, 1) = '-' AND traceparent NOT LIKE '00%')
        AND length(digits) = 52 AND digits ~ '^[0-9a-f]*$'
        AND substr(digits, 3, 32) <> '00000000000000000000000000000000' AND substr(digits, 35, 16) <> '0000000000000000'
    THEN
        RETURN decode(substr(digits, 3), 'hex');
    END IF;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION fanfare.trace_context IS
    'A W3C traceparent as stored: 16 bytes of trace id, 8 of parent id, one of flags; NULL if the text is not a valid traceparent.';
GRANT EXECUTE ON FUNCTION fanfare.trace_context TO fanfare_emitter;

-- NOTIFY takes a database-wide lock at commit, so it is sent only if no daemon drains the outbox and one sleeps. Each
-- advisory lock is released in the expression that tried it: between two statements, a cancelled query would leave a
-- session lock behind in the client's pool. Every doubt ends in a notification; a lost one costs latency, never an
-- event.
--
-- These are SQL functions, so that they are inlined into the caller's expression, and BEGIN ATOMIC, so that no
-- search_path matters. There are two, because a transaction initializes every part of an expression, and while a daemon
-- drains, the first one is enough.
CREATE OR REPLACE FUNCTION fanfare.nobody_drains() RETURNS boolean LANGUAGE sql VOLATILE
BEGIN ATOMIC
    SELECT CASE
        WHEN pg_try_advisory_lock_shared(1178685254, 1) THEN pg_advisory_unlock_shared(1178685254, 1)
        ELSE false
    END;
END;
COMMENT ON FUNCTION fanfare.nobody_drains IS 'Whether no daemon is draining the outbox.';
GRANT EXECUTE ON FUNCTION fanfare.nobody_drains TO fanfare_emitter;

CREATE OR REPLACE FUNCTION fanfare.sleeper_to_wake() RETURNS boolean LANGUAGE sql VOLATILE
BEGIN ATOMIC
    SELECT CASE
        WHEN pg_try_advisory_lock(1178685254, 2) THEN NOT pg_advisory_unlock(1178685254, 2)
        -- NOTIFY makes PREPARE TRANSACTION fail. SET fanfare.wake = off avoids it.
        ELSE coalesce(current_setting('fanfare.wake', true), '') <> 'off'
    END;
END;
COMMENT ON FUNCTION fanfare.sleeper_to_wake IS 'Whether a daemon sleeps and this session should wake it.';
GRANT EXECUTE ON FUNCTION fanfare.sleeper_to_wake TO fanfare_emitter;

CREATE OR REPLACE FUNCTION fanfare.wake() RETURNS boolean LANGUAGE sql VOLATILE
BEGIN ATOMIC
    SELECT CASE WHEN fanfare.nobody_drains() THEN CASE WHEN fanfare.sleeper_to_wake() THEN pg_notify('fanfare_wake', '') IS NULL END END;
END;
COMMENT ON FUNCTION fanfare.wake IS 'Notifies a sleeping daemon that the outbox has rows; a row of the outbox calls it.';
GRANT EXECUTE ON FUNCTION fanfare.wake TO fanfare_emitter;

-- emit inserts rows and the planner deletes them; rows are never updated. An update between a planning round's snapshot
-- and its lock would hide the row from the round's floor.
CREATE TABLE IF NOT EXISTS fanfare.outbox (
    xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
    id bigint NOT NULL DEFAULT fanfare.new_event_id(),
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    type text NOT NULL,
    key text,
    ttl interval,
    payload jsonb NOT NULL,
    -- For a replay: the original event and the restriction to rules of one app or devices of one user. NULL for an
    -- emitted event or for no restriction.
    replay_of bigint,
    only_app smallint,
    only_user text,
    -- The trace that the event belongs to; usually NULL. Read from a setting, because triggers take no parameters.
    -- After a transaction that set it, the setting is '' in the session.
    trace bytea DEFAULT fanfare.trace_context(nullif(current_setting('fanfare.traceparent', true), '')),
    -- Whether Fanfare emitted the event itself, which lets it use the reserved types (fanfare.is_reserved). Emitters
    -- cannot set it.
    own boolean NOT NULL DEFAULT pg_has_role('fanfare_daemon', 'MEMBER'),
    -- Its default wakes a daemon; the value means nothing. Columns are evaluated in order: when this one is, the transaction
    -- has its id, so a daemon that falls asleep meanwhile sees the transaction among those in progress and looks again.
    wakes boolean DEFAULT fanfare.wake(),
    -- For recipients' own time: what a device's clock shows when its push is due; usually NULL.
    wall timestamp,
    PRIMARY KEY (xid, id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_insert_threshold = -1,
        autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 1000000,
        toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 5000);
-- emit and the trigger functions need of their callers and owners: to INSERT the columns that are theirs to set, never
-- xid, id and time, and to read the id. No other column can be read. Defaults are evaluated with the rights of the role
-- that inserts.
GRANT INSERT (type, payload, key, ttl), SELECT (id) ON fanfare.outbox TO fanfare_emitter;

CREATE OR REPLACE FUNCTION fanfare.refuse_update() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE EXCEPTION 'rows of fanfare.% are never updated', TG_TABLE_NAME
        USING ERRCODE = '42501', HINT = 'Cancel the event with fanfare.cancel and emit another.';
END
$$;
SELECT fanfare.create_trigger('fanfare.outbox', 'outbox_is_never_updated', $$
    CREATE TRIGGER outbox_is_never_updated BEFORE UPDATE ON fanfare.outbox
        FOR EACH STATEMENT EXECUTE FUNCTION fanfare.refuse_update()$$);

-- Events that make a set fail, or may: events whose planning took too long, and payloads that stand out beside them.
-- One session plans them one at a time, so that a bad event delays no other. Daemons of any version plan the rows in
-- this table.
CREATE TABLE IF NOT EXISTS fanfare.quarantine (
    xid xid8 NOT NULL,
    id bigint NOT NULL,
    created_at timestamptz NOT NULL,
    type text NOT NULL,
    key text,
    ttl interval,
    payload jsonb NOT NULL,
    replay_of bigint,
    only_app smallint,
    only_user text,
    trace bytea,
    own boolean NOT NULL DEFAULT true,
    wall timestamp,
    PRIMARY KEY (xid, id)
);

CREATE OR REPLACE FUNCTION fanfare.key_hash(type text, key text) RETURNS uuid LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    SELECT md5(type || E'\n' || key)::uuid;
END;
COMMENT ON FUNCTION fanfare.key_hash IS 'A hash of an event''s type and key, of 16 bytes: half of what an index of both texts takes.';
GRANT EXECUTE ON FUNCTION fanfare.key_hash TO fanfare_emitter, fanfare_reader;

-- Events for later. The scheduler moves due rows to the outbox, in the transaction that deletes them. The ids are below
-- 2^43 and those of events above, since no installation has events of days before 2025-08-09.
CREATE SEQUENCE IF NOT EXISTS fanfare.scheduled_sequence MAXVALUE 8796093022207;
GRANT USAGE ON SEQUENCE fanfare.scheduled_sequence TO fanfare_emitter;
CREATE TABLE IF NOT EXISTS fanfare.scheduled (
    id bigint PRIMARY KEY DEFAULT nextval('fanfare.scheduled_sequence'),
    at timestamptz NOT NULL CONSTRAINT scheduled_at CHECK (isfinite(at)),
    -- The app whose `send` or token made the row; NULL for any other. Emitters cannot set it.
    app_id smallint,
    type text NOT NULL,
    key text,
    ttl interval,
    payload jsonb NOT NULL,
    -- For recipients' own time: what a device's clock shows when its push is due. `at` is then an hour before the first
    -- zone's.
    wall timestamp,
    trace bytea DEFAULT fanfare.trace_context(nullif(current_setting('fanfare.traceparent', true), ''))
) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 1000000);
SELECT fanfare.create_index('scheduled_due', $$CREATE INDEX scheduled_due ON fanfare.scheduled (at)$$);
SELECT fanfare.create_index('scheduled_key', $$
    CREATE UNIQUE INDEX scheduled_key ON fanfare.scheduled (fanfare.key_hash(type, key)) WHERE key IS NOT NULL$$);
SELECT fanfare.create_index('scheduled_app', $$
    CREATE INDEX scheduled_app ON fanfare.scheduled (app_id, at) WHERE app_id IS NOT NULL$$);
-- What a delayed watch needs, as for the outbox.
GRANT INSERT (type, at, payload), SELECT (id) ON fanfare.scheduled TO fanfare_emitter;

-- The event that each row of `scheduled` became. Kept as long as the log.
CREATE TABLE IF NOT EXISTS fanfare.scheduled_events (
    scheduled_id bigint PRIMARY KEY,
    event_id bigint NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 1000000);
-- Event ids carry their day.
SELECT fanfare.create_index('scheduled_events_event', $$
    CREATE INDEX scheduled_events_event ON fanfare.scheduled_events (event_id)$$);
GRANT SELECT ON fanfare.scheduled_events TO fanfare_reader;

CREATE TABLE IF NOT EXISTS fanfare.event_keys (
    type text NOT NULL,
    key text NOT NULL,
    event_id bigint NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (type, key)
);
SELECT fanfare.create_index('event_keys_created', $$
    CREATE INDEX event_keys_created ON fanfare.event_keys (created_at)$$);

CREATE TABLE IF NOT EXISTS fanfare.event_log (
    day smallint NOT NULL,
    fate smallint NOT NULL,
    id bigint NOT NULL,
    created_at timestamptz NOT NULL,
    planned_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    type text NOT NULL,
    key text,
    ttl interval,
    detail text CONSTRAINT event_log_detail_length CHECK (octet_length(detail) <= 8192),
    payload jsonb,
    replay_of bigint,
    only_app smallint,
    only_user text,
    trace bytea,
    wall timestamp,
    PRIMARY KEY (day, id),
    CONSTRAINT event_log_day CHECK (day = ((id >> 32) % 32))
) PARTITION BY LIST (day);
-- For clients that follow the log. Ids cannot serve as their cursor, because an event may wait for days before it is
-- planned; nor can row positions, because a row goes to any page that has room.
SELECT fanfare.create_index('event_log_planned', $$CREATE INDEX event_log_planned ON fanfare.event_log (planned_at)$$);

-- The progress of expanding a large audience: one row per (event, rule version) that did not fit into its first slice.
CREATE TABLE IF NOT EXISTS fanfare.plans (
    event_id bigint NOT NULL,
    rule_version int NOT NULL,
    app_id smallint NOT NULL,
    lane smallint NOT NULL,
    -- The condition's clauses, with topics by id: [{"all": [1, 2], "none": [3]}, …]; one empty clause means everyone.
    clauses jsonb NOT NULL,
    -- Devices up to this id are planned. The plan ends at the device that was newest when the plan began, so that a
    -- token registered again meanwhile is not pushed twice.
    cursor bigint NOT NULL DEFAULT 0,
    last_device bigint NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- The gate of its batches; 0 for none.
    gate_id int NOT NULL DEFAULT 0,
    -- The wall time at which a push is due in each device's zone, and the zone of devices without one; NULL: all at
    -- once.
    wall timestamp,
    time_zone text,
    -- The number of deliveries so far, if the plan has a gate.
    planned bigint NOT NULL DEFAULT 0,
    -- With a canary: the gate for every bucket (part 23) that is not below `canary`, where 2^32 means everyone.
    held_gate_id int NOT NULL DEFAULT 0,
    canary bigint NOT NULL DEFAULT 0,
    -- If the canary is a number of devices, the plan walks its audience twice and counts first. NULL after the count.
    canary_devices int,
    counted bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (event_id, rule_version)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
-- The order in which the plans of a lane take turns. None of its columns change, so an advance writes to no index.
SELECT fanfare.create_index('plans_turn', $$CREATE INDEX plans_turn ON fanfare.plans (lane, event_id, rule_version)$$);

-- Events whose rule's users_sql has not been run yet: one row per (event, rule version), deleted in the transaction
-- that queues the deliveries.
CREATE TABLE IF NOT EXISTS fanfare.audience_queries (
    event_id bigint NOT NULL,
    rule_version int NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    not_before timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- How often the query failed for this event.
    tries smallint NOT NULL DEFAULT 0,
    PRIMARY KEY (event_id, rule_version)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
-- Rules take turns, and so do the events of one rule: failed events come after untried ones.
SELECT fanfare.create_index('audience_queries_turn', $$
    CREATE INDEX audience_queries_turn ON fanfare.audience_queries (rule_version, not_before, event_id)$$);

-- A cancellation is a row that planners and owners of batches read; it updates no queue row.
CREATE TABLE IF NOT EXISTS fanfare.cancels (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
    event_id bigint,
    type text,
    key text,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- For a key: whether an event with the key was known and unfinished, in which case a later event may use the key
    -- again.
    stopped boolean NOT NULL DEFAULT false,
    -- From the event sequence: events emitted earlier have lower numbers.
    event_number bigint NOT NULL DEFAULT nextval('fanfare.event_sequence'),
    -- Whether fanfare.retract stored it; the outcome of what it stops is then `retracted`.
    taken_back boolean NOT NULL DEFAULT false,
    CONSTRAINT cancels_what CHECK (num_nonnulls(event_id, type) = 1 AND (type IS NULL) = (key IS NULL))
);
SELECT fanfare.create_index('cancels_event', $$
    CREATE INDEX cancels_event ON fanfare.cancels (event_id) WHERE event_id IS NOT NULL$$);
SELECT fanfare.create_index('cancels_key', $$
    CREATE INDEX cancels_key ON fanfare.cancels (type, key) WHERE type IS NOT NULL$$);
SELECT fanfare.create_index('cancels_xid', $$CREATE INDEX cancels_xid ON fanfare.cancels (xid)$$);
SELECT fanfare.create_index('cancels_created', $$CREATE INDEX cancels_created ON fanfare.cancels (created_at)$$);

-- The newest event of each (rule, rendered audience, rendered collapse id), for rules that supersede.
CREATE TABLE IF NOT EXISTS fanfare.collapse_latest (
    key bigint PRIMARY KEY,
    event_id bigint NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
SELECT fanfare.create_index('collapse_latest_created', $$
    CREATE INDEX collapse_latest_created ON fanfare.collapse_latest (created_at)$$);

-- Events gathered by rules with `digest` or `debounce`: one row per (rule, rendered `by`), sent as one event when due.
-- The rule is the internal `gather/<name>` that exists beside the author's rule. No foreign key, for the same reason as
-- in rates.
CREATE TABLE IF NOT EXISTS fanfare.open_digests (
    rule_id int NOT NULL,
    key text NOT NULL,
    began_at timestamptz NOT NULL,
    due_at timestamptz NOT NULL,
    -- The latest due time that further events can postpone to; NULL if events do not postpone it.
    last_at timestamptz,
    -- The count includes all events; event_ids has the newest, newest first.
    count bigint NOT NULL,
    event_ids bigint[] NOT NULL CONSTRAINT open_digests_named CHECK (cardinality(event_ids) BETWEEN 1 AND 100),
    PRIMARY KEY (rule_id, key)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
SELECT fanfare.create_index('open_digests_due', $$CREATE INDEX open_digests_due ON fanfare.open_digests (due_at)$$);

-- Events that were taken back, kept for as long as the logs: a delivery that is still to be sent ends as `retracted`, and
-- a daemon finds the devices that accepted the event.
CREATE TABLE IF NOT EXISTS fanfare.retractions (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    event_id bigint NOT NULL,
    -- The user for whom it is taken back; NULL for all.
    user_id text,
    -- The rule whose pushes are taken back (retract_on); NULL for all rules.
    rule_id int,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- When a daemon continues; NULL if all devices are found.
    due_at timestamptz DEFAULT clock_timestamp(),
    -- The event's batches up to this id are done.
    cursor bigint NOT NULL DEFAULT 0,
    -- How many deliveries were accepted and can be taken back.
    devices bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000);
SELECT fanfare.create_index('retractions_event', $$CREATE INDEX retractions_event ON fanfare.retractions (event_id, user_id)$$);
SELECT fanfare.create_index('retractions_due', $$
    CREATE INDEX retractions_due ON fanfare.retractions (due_at) WHERE due_at IS NOT NULL$$);
SELECT fanfare.create_index('retractions_created', $$CREATE INDEX retractions_created ON fanfare.retractions (created_at)$$);

-- What was taken back from a device: the newest 50 collapse ids as its provider knows them, newest first, and when each
-- was taken back, in seconds since 1970. The first `pending` of them are sent in one silent push when it is due.
CREATE TABLE IF NOT EXISTS fanfare.retracted_devices (
    device_id bigint PRIMARY KEY,
    ids text[] NOT NULL,
    times bigint[] NOT NULL,
    pending smallint NOT NULL,
    -- The version of the silent push (retraction_rule).
    rule_version int NOT NULL,
    -- When the last silent push was queued; the next one follows five minutes later at the earliest.
    sent_at timestamptz,
    due_at timestamptz,
    changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT retracted_devices_lengths CHECK (cardinality(ids) BETWEEN 1 AND 50 AND cardinality(times) = cardinality(ids)
        AND pending BETWEEN 0 AND cardinality(ids))
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 5000);
SELECT fanfare.create_index('retracted_devices_due', $$
    CREATE INDEX retracted_devices_due ON fanfare.retracted_devices (due_at) WHERE due_at IS NOT NULL$$);
SELECT fanfare.create_index('retracted_devices_changed', $$
    CREATE INDEX retracted_devices_changed ON fanfare.retracted_devices (changed_at)$$);

-- Events by a value of their payload, for the paths in value_paths. The value is hashed (hashtextextended). Kept for the
-- longest window of a rule; for paths of conversions, as long as the logs.
CREATE TABLE IF NOT EXISTS fanfare.event_values (
    path_id int NOT NULL,
    value bigint NOT NULL,
    event_id bigint NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (path_id, value, event_id)
);
SELECT fanfare.create_index('event_values_path', $$CREATE INDEX event_values_path ON fanfare.event_values (path_id, created_at)$$);

-- Events of a rule's `conversion` type, until they are credited to a push: a minute after they are planned, so that a
-- report of the opened push can arrive.
CREATE TABLE IF NOT EXISTS fanfare.conversions_pending (
    path_id int NOT NULL,
    -- The hash of the user, as in event_values.
    person bigint NOT NULL,
    event_id bigint NOT NULL,
    created_at timestamptz NOT NULL,
    due_at timestamptz NOT NULL DEFAULT clock_timestamp() + interval '1 minute',
    -- The value, if a conversion_sql returned it.
    amount numeric,
    PRIMARY KEY (path_id, person, event_id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000);
SELECT fanfare.create_index('conversions_pending_due', $$
    CREATE INDEX conversions_pending_due ON fanfare.conversions_pending (due_at)$$);

-- The pushes that people opened, of rules with a `conversion`, until its window is over.
CREATE TABLE IF NOT EXISTS fanfare.touches (
    app_id smallint NOT NULL,
    path_id int NOT NULL,
    -- The hash of the user, as in event_values.
    person bigint NOT NULL,
    event_id bigint NOT NULL,
    rule_version int NOT NULL,
    variant smallint NOT NULL,
    -- When the push was planned; events before it are no conversions.
    planned_at timestamptz NOT NULL,
    -- When the person opened it, by when its report came, and when its window is over.
    opened_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    until timestamptz NOT NULL,
    -- Whether an event was credited to it.
    has_converted boolean NOT NULL DEFAULT false,
    PRIMARY KEY (path_id, person, event_id, rule_version)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 5000);
SELECT fanfare.create_index('touches_until', $$CREATE INDEX touches_until ON fanfare.touches (until)$$);

-- Events of a rule's `retract_on` type, until the events are found that they take back.
CREATE TABLE IF NOT EXISTS fanfare.value_retractions (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    rule_id int NOT NULL,
    path_id int NOT NULL,
    value bigint NOT NULL,
    user_id text,
    -- Events emitted before this one, and since a time, are taken back.
    event_id bigint NOT NULL,
    since timestamptz NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    due_at timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
SELECT fanfare.create_index('value_retractions_due', $$
    CREATE INDEX value_retractions_due ON fanfare.value_retractions (due_at)$$);

-- ---------------------------------------------------------------------------------------------------------------
-- 13. Batches: the queue and its log
-- ---------------------------------------------------------------------------------------------------------------

-- Up to 1000 deliveries of one rule version and one target. A broadcast's batch stores its event once; a batch of small
-- events planned together stores an event per delivery. If the provider manages the audience, an event has a single
-- delivery, with device 0.
CREATE TABLE IF NOT EXISTS fanfare.batches (
    id bigint PRIMARY KEY DEFAULT fanfare.new_batch_id(),
    parent_id bigint,
    event_id bigint,
    not_before timestamptz NOT NULL DEFAULT clock_timestamp(),
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    lease_token bigint,
    owner int,
    rule_version int NOT NULL,
    target_id smallint NOT NULL,
    lane smallint NOT NULL,
    attempt smallint NOT NULL DEFAULT 1,
    -- The earlier attempts of these deliveries, packed (RetryHistory); some responses mean something else the second
    -- time.
    history int NOT NULL DEFAULT 0,
    device_ids bigint[] NOT NULL,
    event_ids bigint[],
    -- One byte per delivery, in the same order; empty until the first checkpoint. Only the owner writes it.
    outcomes bytea NOT NULL DEFAULT '',
    -- Whether the batch uses the retry budget. Retries are a separate queue in each lane, so that they do not wait
    -- behind all first attempts planned earlier, nor first attempts behind them.
    is_retry boolean NOT NULL DEFAULT false,
    -- The gate of the batch; 0 for none. No foreign key: inserting a batch would lock a row that operators update.
    gate_id int NOT NULL DEFAULT 0,
    -- The start of its deliveries' ttl; NULL for their events' created_at.
    due_at timestamptz,
    CONSTRAINT batches_owned CHECK ((owner IS NULL) = (lease_token IS NULL)),
    CONSTRAINT batches_events CHECK ((event_id IS NULL) <> (event_ids IS NULL)),
    -- unnest pads unequal arrays with NULLs, so one short array would make the closing of a whole set of batches fail.
    CONSTRAINT batches_lengths CHECK (cardinality(device_ids) > 0
        AND octet_length(outcomes) IN (0, cardinality(device_ids))
        AND (event_ids IS NULL OR cardinality(event_ids) = cardinality(device_ids)))
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500,
        autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 1000000,
        toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 2000);
-- The gate is the first column: claims skip closed gates, so batches behind them cost nothing.
SELECT fanfare.create_index('batches_gate', $$
    CREATE INDEX batches_gate ON fanfare.batches (gate_id, target_id, lane, is_retry, not_before, id)
    WHERE lease_token IS NULL$$);
SELECT fanfare.create_index('batches_owner', $$
    CREATE INDEX batches_owner ON fanfare.batches (owner) WHERE owner IS NOT NULL$$);
-- For the audit; only retry batches have a parent.
SELECT fanfare.create_index('batches_parent', $$
    CREATE INDEX batches_parent ON fanfare.batches (parent_id) WHERE parent_id IS NOT NULL$$);
-- Broadcasts only, because one may have thousands of batches in the queue.
SELECT fanfare.create_index('batches_event', $$
    CREATE INDEX batches_event ON fanfare.batches (event_id) WHERE event_id IS NOT NULL$$);
SELECT fanfare.create_index('batches_devices', $$
    CREATE INDEX batches_devices ON fanfare.batches
    USING gist (int8range(device_ids[1], device_ids[cardinality(device_ids)], '[]')) WHERE event_id IS NOT NULL$$);

-- What holds batches back. Batches of a gate are claimed while it is open and not paused.
--
--   open      its batches are claimed
--   held      no batches are claimed until the gate is opened
--   aborting  no batches are claimed: daemons return what they have not sent, and one daemon ends the rest as cancelled
--   done      no batch can be behind the gate any more
--
-- Being paused is not a state, because a paused gate may also be held.
CREATE TABLE IF NOT EXISTS fanfare.gates (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- No foreign key: creating one locks rules, and an upgrade would wait for transactions that write rules.
    rule_id int NOT NULL,
    -- The run of a campaign whose deliveries wait behind the gate. NULL: all deliveries of the rule, for as long as the
    -- rule exists.
    run_id bigint,
    -- Whether it is the gate of a canary.
    is_canary boolean NOT NULL DEFAULT false,
    state text NOT NULL DEFAULT 'open'
        CONSTRAINT gates_state CHECK (state IN ('open', 'held', 'aborting', 'done')),
    is_paused boolean NOT NULL DEFAULT false,
    -- Why it is paused or held, for operators.
    reason text,
    -- The rate at which its batches are claimed while it is open; NULL for no limit.
    rate_id int,
    -- The lane of all its batches, which overrides the rule version's. NULL: the lane of the rule version, which may
    -- differ between versions.
    lane smallint CONSTRAINT gates_lane CHECK (lane BETWEEN 0 AND 2),
    began_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    ended_at timestamptz,
    CONSTRAINT gates_ended CHECK ((state = 'done') = (ended_at IS NOT NULL))
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);
-- The gates that are read constantly. Gates that are done are kept for later queries about their runs.
SELECT fanfare.create_index('gates_live', $$CREATE INDEX gates_live ON fanfare.gates (id) WHERE state <> 'done'$$);
SELECT fanfare.create_index('gates_rule', $$CREATE INDEX gates_rule ON fanfare.gates (rule_id)$$);
SELECT fanfare.create_index('gates_run', $$
    CREATE INDEX gates_run ON fanfare.gates (run_id) WHERE run_id IS NOT NULL$$);
SELECT fanfare.create_index('gates_of_rule', $$
    CREATE UNIQUE INDEX gates_of_rule ON fanfare.gates (rule_id) WHERE run_id IS NULL$$);
GRANT SELECT ON fanfare.gates TO fanfare_reader;

-- How many deliveries per second all daemons together claim of what the rate applies to. Each claim locks the row,
-- takes at most the capacity that has become free, and stores until when that capacity is used up. The limit is
-- therefore exact for any number of claiming daemons, without a leader.
CREATE TABLE IF NOT EXISTS fanfare.rates (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- Applies to one of these: all pushes of an app, the pushes of one of its providers, or the deliveries of a rule.
    -- No foreign keys: creating one locks the other table, and an upgrade would wait for transactions that write to it.
    app_id smallint,
    provider text,
    rule_id int,
    per_second real NOT NULL CONSTRAINT rates_per_second CHECK (per_second BETWEEN 1 AND 1000000),
    -- For a ramp: the starting rate, the duration and the start (rate_at). ramp_began_at is NULL until the ramp has
    -- begun.
    ramp_from real,
    ramp_seconds int,
    ramp_began_at timestamptz,
    -- The claims so far use up the capacity until this time. If it is in the past, the capacity since then is free, but
    -- at most a fifth of a second of it counts.
    next_free timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT rates_whose CHECK ((rule_id IS NULL) = (app_id IS NOT NULL) AND (provider IS NULL OR app_id IS NOT NULL)),
    CONSTRAINT rates_ramp CHECK ((ramp_from IS NULL) = (ramp_seconds IS NULL) AND (ramp_began_at IS NULL OR ramp_from IS NOT NULL)
        AND ramp_from >= 1 AND ramp_from < per_second AND ramp_seconds >= 1)
) WITH (fillfactor = 10, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);
SELECT fanfare.create_index('rates_of_rule', $$
    CREATE UNIQUE INDEX rates_of_rule ON fanfare.rates (rule_id) WHERE rule_id IS NOT NULL$$);
-- Read by all planning and claiming; empty if no app has a rate.
SELECT fanfare.create_index('rates_of_app', $$
    CREATE UNIQUE INDEX rates_of_app ON fanfare.rates (app_id, provider) NULLS NOT DISTINCT WHERE app_id IS NOT NULL$$);

-- The policy for all of an app's pushes, as written. A table of its own, because adding a column to apps would wait for
-- transactions that register devices. No foreign key, for the same reason as in rates, which holds the policy's rates.
CREATE TABLE IF NOT EXISTS fanfare.policies (
    app_id smallint PRIMARY KEY,
    definition json NOT NULL,
    -- For devices that have none; NULL if the policy does not set it.
    time_zone text,
    -- When devices are not disturbed, by their own clocks, and what happens to pushes then (hold or drop). NULL for no
    -- quiet hours.
    quiet_from time,
    quiet_until time,
    quiet_mode text
);
GRANT SELECT ON fanfare.policies TO fanfare_author, fanfare_reader;

-- How many events a user of an app gets at most in any window of the given length, from rules that name the cap. Grants
-- store the cap's bit. A name therefore keeps its bit while unused bits remain, and grants made before `since` belong
-- to another name. No foreign key, for the same reason as in rates.
CREATE TABLE IF NOT EXISTS fanfare.caps (
    app_id smallint NOT NULL,
    bit smallint NOT NULL CONSTRAINT caps_bit CHECK (bit BETWEEN 0 AND 15),
    name text NOT NULL,
    max_count int NOT NULL CONSTRAINT caps_max_count CHECK (max_count BETWEEN 1 AND 100),
    period interval NOT NULL CONSTRAINT caps_period CHECK (period BETWEEN interval '1 minute' AND interval '31 days'),
    since timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- When the policy dropped the cap; NULL while it has it.
    retired_at timestamptz,
    PRIMARY KEY (app_id, bit),
    UNIQUE (app_id, name)
);
GRANT SELECT ON fanfare.caps TO fanfare_author, fanfare_reader;

-- The events granted to a user: event, stamp, event, stamp …, oldest first. A stamp is the time in milliseconds since
-- 1970, shifted left by 16, plus the bits of the caps that the event counts for. One row for all caps, so that several
-- caps are checked under one lock. Has rows for users who were granted something in the last month.
CREATE TABLE IF NOT EXISTS fanfare.cap_grants (
    app_id smallint NOT NULL,
    user_id text NOT NULL,
    grants bigint[] NOT NULL,
    PRIMARY KEY (app_id, user_id)
) WITH (fillfactor = 80);
GRANT SELECT ON fanfare.cap_grants TO fanfare_reader;

CREATE TABLE IF NOT EXISTS fanfare.batch_log (
    day smallint NOT NULL,
    lane smallint NOT NULL,
    target_id smallint NOT NULL,
    attempt smallint NOT NULL,
    id bigint NOT NULL,
    parent_id bigint,
    event_id bigint,
    created_at timestamptz NOT NULL,
    closed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- device_ids is sorted, so a device can only be in a batch whose range includes it.
    first_device bigint NOT NULL,
    last_device bigint NOT NULL,
    rule_version int NOT NULL,
    device_ids bigint[] NOT NULL,
    event_ids bigint[],
    outcomes bytea NOT NULL,
    -- How a batch of many events is found: by the range of its events, and by the devices that it may hold (may_hold).
    first_event bigint,
    last_event bigint,
    device_marks bytea,
    -- Why deliveries were refused, by event: {"10862": "…"}.
    details jsonb,
    PRIMARY KEY (day, id),
    CONSTRAINT batch_log_day CHECK (day = ((id >> 32) % 32))
) PARTITION BY LIST (day);

SELECT fanfare.create_index('batch_log_event', $$
    CREATE INDEX batch_log_event ON fanfare.batch_log (event_id) WHERE event_id IS NOT NULL$$);
-- Finds the recipients of a broadcast, or of a batch's only event, by the range of device ids: one entry per batch.
SELECT fanfare.create_index('batch_log_devices', $$
    CREATE INDEX batch_log_devices ON fanfare.batch_log
    USING gist (int8range(first_device, last_device, '[]')) WHERE event_id IS NOT NULL$$);
-- Events that are planned together have ids close to each other, so a batch of many events is found by the range of
-- their ids: one entry per batch. A GIN entry per event took 55 bytes, and its pending list was flushed in bursts of
-- megabytes. An entry per device cost 5 µs and 110 bytes of WAL.
SELECT fanfare.create_index('batch_log_spans', $$
    CREATE INDEX batch_log_spans ON fanfare.batch_log
    USING gist (int8range(first_event, last_event, '[]'), int8range(first_device, last_device, '[]'))
    WHERE event_id IS NULL$$);
SELECT fanfare.create_index('batch_log_closed', $$CREATE INDEX batch_log_closed ON fanfare.batch_log (closed_at)$$);
SELECT fanfare.create_index('batch_log_parent', $$
    CREATE INDEX batch_log_parent ON fanfare.batch_log (parent_id) WHERE parent_id IS NOT NULL$$);

-- What devices reported: a row for each batch with reports, with one bit for each delivery of the batch, in the order of
-- its device_ids. A kind is NULL until its first report. The day is the batch's, since without the batch's row in
-- batch_log the bits mean nothing.
CREATE TABLE IF NOT EXISTS fanfare.report_log (
    day smallint NOT NULL,
    batch_id bigint NOT NULL,
    -- NULL for a batch of many events.
    event_id bigint,
    -- How many deliveries were accepted, so that a sum over an event reads few outcomes. NULL for a batch of many events,
    -- and for one that was in flight.
    accepted smallint,
    received bytea,
    shown bytea,
    opened bytea,
    acted bytea,
    dismissed bytea,
    PRIMARY KEY (day, batch_id),
    CONSTRAINT report_log_day CHECK (day = ((batch_id >> 32) % 32))
) PARTITION BY LIST (day);

-- The actions that users chose on a push, and the texts that they typed. The day is the event's.
CREATE TABLE IF NOT EXISTS fanfare.report_actions (
    day smallint NOT NULL,
    event_id bigint NOT NULL,
    device_id bigint NOT NULL,
    action text NOT NULL CONSTRAINT report_actions_action CHECK (octet_length(action) BETWEEN 1 AND 64),
    rule_version int NOT NULL,
    variant smallint NOT NULL,
    -- The device's time, between the event's and the server's.
    at timestamptz NOT NULL,
    text text CONSTRAINT report_actions_text CHECK (octet_length(text) <= 1024),
    -- The event that as_event emitted.
    emitted_id bigint,
    PRIMARY KEY (day, event_id, device_id, action),
    CONSTRAINT report_actions_day CHECK (day = ((event_id >> 32) % 32))
) PARTITION BY LIST (day);
SELECT fanfare.create_index('report_actions_device', 'CREATE INDEX report_actions_device ON fanfare.report_actions (device_id)');

-- The ring of partitions, created after the indexes so that each partition gets them.
DO $$
DECLARE
    log text;
BEGIN
    FOREACH log IN ARRAY '{event_log,batch_log,report_log,report_actions}'::text[] LOOP
        FOR day IN 0..31 LOOP
            EXECUTE format('CREATE TABLE IF NOT EXISTS fanfare.%1$s_%2$s PARTITION OF fanfare.%1$s FOR VALUES IN (%3$s)%4$s',
                log, to_char(day, 'FM00'), day, CASE WHEN log = 'report_log' THEN ' WITH (fillfactor = 70)' ELSE '' END);
        END LOOP;
    END LOOP;
END
$$;

-- outcomes is stored in the row, compressed, because every checkpoint writes it. device_marks is stored in the row
-- uncompressed, because a lookup reads those of all batches. (Before PostgreSQL 16 CREATE TABLE has no clause for this.
-- Set only if it differs, because ALTER TABLE would wait for every open reader.)
DO $$
DECLARE
    place record;
BEGIN
    FOR place IN
        SELECT a.attrelid::regclass AS relation, a.attname, s.storage
        FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid
        JOIN (VALUES ('outcomes', 'm'::"char", 'MAIN'), ('device_marks', 'p', 'PLAIN'))
            AS s (attname, attstorage, storage) ON s.attname = a.attname
        WHERE c.relnamespace = 'fanfare'::regnamespace AND c.relkind IN ('r', 'p') AND c.relname ~ '^batch(es|_log)'
            AND a.attstorage <> s.attstorage
    LOOP
        EXECUTE format('ALTER TABLE ONLY %s ALTER COLUMN %I SET STORAGE %s',
            place.relation, place.attname, place.storage);
    END LOOP;
END
$$;

-- Without this, ANALYZE would read every element of the arrays: two seconds of CPU for 3,000,000 recipients, repeatedly
-- while a day's log grows, for statistics that no plan uses.
DO $$
DECLARE
    place record;
BEGIN
    FOR place IN
        SELECT c.oid::regclass AS relation, c.relkind, a.attname, a.attnum
        FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid LEFT JOIN pg_index AS i ON i.indexrelid = c.oid
        WHERE c.relnamespace = 'fanfare'::regnamespace AND coalesce(a.attstattarget, -1) <> 0
            AND (c.relkind IN ('r', 'p') AND c.relname ~ '^batch(es|_log)'
                    AND a.attname IN ('device_ids', 'event_ids', 'outcomes', 'device_marks', 'details')
                OR i.indrelid::regclass::text ~ '^fanfare\.batch(es|_log)' AND i.indexprs IS NOT NULL)
    LOOP
        IF place.relkind IN ('i', 'I') THEN
            EXECUTE format('ALTER INDEX %s ALTER COLUMN %s SET STATISTICS 0', place.relation, place.attnum);
        ELSE
            EXECUTE format('ALTER TABLE ONLY %s ALTER COLUMN %I SET STATISTICS 0', place.relation, place.attname);
        END IF;
    END LOOP;
END
$$;

-- Retention truncates the partitions of the ring. The rights come after all that may lock a partition.
DO $$
BEGIN
    FOR day IN 0..31 LOOP
        EXECUTE format('GRANT TRUNCATE ON fanfare.event_log_%1$s, fanfare.batch_log_%1$s, fanfare.report_log_%1$s, fanfare.report_actions_%1$s
            TO fanfare_daemon', to_char(day, 'FM00'));
    END LOOP;
END
$$;

-- ---------------------------------------------------------------------------------------------------------------
-- 14. Counters, daemons, alarms, fuses, lock keys
-- ---------------------------------------------------------------------------------------------------------------

-- One row per close and outcome, added up into stats later: an updated counter would bloat under an old snapshot.
CREATE TABLE IF NOT EXISTS fanfare.stats_pending (
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    rule_version int NOT NULL,
    target_id smallint NOT NULL,
    outcome smallint NOT NULL,
    deliveries bigint NOT NULL,
    -- The gate of the batches; 0 for none.
    gate_id int NOT NULL DEFAULT 0
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000);
SELECT fanfare.identify_by_row('fanfare.stats_pending');
SELECT fanfare.create_index('stats_pending_at', $$CREATE INDEX stats_pending_at ON fanfare.stats_pending (at)$$);
SELECT fanfare.create_index('stats_pending_gate', $$
    CREATE INDEX stats_pending_gate ON fanfare.stats_pending (gate_id) WHERE gate_id <> 0$$);
GRANT SELECT ON fanfare.stats_pending TO fanfare_reader;

-- Kept forever.
CREATE TABLE IF NOT EXISTS fanfare.stats (
    day date NOT NULL,
    rule_version int NOT NULL,
    target_id smallint NOT NULL,
    outcome smallint NOT NULL,
    deliveries bigint NOT NULL,
    PRIMARY KEY (day, rule_version, target_id, outcome)
);
GRANT SELECT ON fanfare.stats TO fanfare_reader;

-- The same by gate, for as long as the gate exists.
CREATE TABLE IF NOT EXISTS fanfare.gate_stats (
    gate_id int NOT NULL,
    outcome smallint NOT NULL,
    deliveries bigint NOT NULL,
    PRIMARY KEY (gate_id, outcome)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);
GRANT SELECT ON fanfare.gate_stats TO fanfare_reader;

-- The counters above over time, and values that only daemons know: outcomes of deliveries, fates of events, latencies
-- (code is the number of the step). `since` is the start of a minute, after six hours of ten minutes, after two days of
-- an hour. Kept as long as the logs.
CREATE TABLE IF NOT EXISTS fanfare.traffic (
    what text NOT NULL CONSTRAINT traffic_what CHECK (what IN ('outcome', 'fate', 'latency')),
    since timestamptz NOT NULL,
    -- 0 if the row belongs to no target.
    target_id smallint NOT NULL,
    -- For an outcome, the lane of the rule version; 0 if the row belongs to no lane.
    lane smallint NOT NULL,
    code smallint NOT NULL,
    count bigint NOT NULL,
    PRIMARY KEY (what, since, target_id, lane, code)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
GRANT SELECT ON fanfare.traffic TO fanfare_reader;

-- The keys that sign the handles in pushes and make the report keys of devices. The newest signs; a retired one verifies
-- until it is deleted. The pads are those of HMAC-SHA-256 (RFC 2104), made once.
CREATE TABLE IF NOT EXISTS fanfare.report_keys (
    id smallint PRIMARY KEY CONSTRAINT report_keys_id CHECK (id BETWEEN 1 AND 255),
    secret bytea NOT NULL CONSTRAINT report_keys_secret CHECK (octet_length(secret) = 32),
    inner_pad bytea NOT NULL,
    outer_pad bytea NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    retired_at timestamptz
);

-- Reports as they came. fold_reports moves many at once into report_log, so that the row of a batch is written once for
-- all of them.
CREATE TABLE IF NOT EXISTS fanfare.reports_pending (
    event_id bigint NOT NULL,
    device_id bigint NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    rule_version int NOT NULL,
    -- The index of the message's variant; 0 without variants.
    variant smallint NOT NULL,
    kind smallint NOT NULL CONSTRAINT reports_pending_kind CHECK (kind BETWEEN 0 AND 4)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000);
SELECT fanfare.identify_by_row('fanfare.reports_pending');

-- How many devices reported each kind, by event: events whose batches have no other event. Kept as long as the counts
-- of gates. Kind 5 is people who converted, for all events, with the sum of their values.
CREATE TABLE IF NOT EXISTS fanfare.report_counts (
    event_id bigint NOT NULL,
    rule_version int NOT NULL,
    variant smallint NOT NULL,
    kind smallint NOT NULL,
    devices bigint NOT NULL,
    value numeric NOT NULL DEFAULT 0,
    PRIMARY KEY (event_id, rule_version, variant, kind)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);
SELECT fanfare.add_column('fanfare.report_counts', 'value', 'numeric NOT NULL DEFAULT 0');
GRANT SELECT ON fanfare.report_counts TO fanfare_reader;

-- The same by day of the report and rule version. Kept forever.
CREATE TABLE IF NOT EXISTS fanfare.report_stats (
    day date NOT NULL,
    rule_version int NOT NULL,
    variant smallint NOT NULL,
    kind smallint NOT NULL,
    devices bigint NOT NULL,
    value numeric NOT NULL DEFAULT 0,
    PRIMARY KEY (day, rule_version, variant, kind)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);
SELECT fanfare.add_column('fanfare.report_stats', 'value', 'numeric NOT NULL DEFAULT 0');
GRANT SELECT ON fanfare.report_stats TO fanfare_reader;

-- The devices that have ever reported a receipt. Others may have no code for it, so rates of what devices report leave them
-- out.
CREATE TABLE IF NOT EXISTS fanfare.reporting_devices (
    device_id bigint PRIMARY KEY,
    since timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- How many events as_event emitted for a user in the current minute. A device without a user counts as a person of its
-- own.
CREATE TABLE IF NOT EXISTS fanfare.report_rates (
    app_id smallint NOT NULL,
    user_id text NOT NULL,
    since timestamptz NOT NULL,
    events smallint NOT NULL,
    PRIMARY KEY (app_id, user_id)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);

-- Users of whom no reports are stored (set_tracking).
CREATE TABLE IF NOT EXISTS fanfare.untracked_users (
    app_id smallint NOT NULL,
    user_id text NOT NULL,
    since timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (app_id, user_id)
);
GRANT SELECT ON fanfare.untracked_users TO fanfare_reader;

-- Each control connection of a daemon inserts a row, and so gets a new owner number.
CREATE TABLE IF NOT EXISTS fanfare.instances (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL,
    host text NOT NULL,
    pid int NOT NULL,
    version text NOT NULL,
    started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    heartbeat_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    lease_until timestamptz NOT NULL,
    -- The roles that it leads (maintenance, foreign channels, …), and the data that `fanfare status` shows.
    leads text[] NOT NULL DEFAULT '{}',
    report jsonb NOT NULL DEFAULT '{}',
    -- The newest schema version that it works with.
    schema_version int NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);
GRANT SELECT ON fanfare.instances TO fanfare_reader;

-- A daemon of this version or newer is never refused and waits for no lock. For an older daemon the version's row is
-- updated, not only locked. It then conflicts with require_daemon: whichever transaction is second waits for the first
-- and sees its result, or fails to serialize.
CREATE OR REPLACE FUNCTION fanfare.refuse_old_daemon() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    needed int;
BEGIN
    IF new.schema_version >= (SELECT v.version FROM fanfare.schema_version AS v) THEN
        RETURN new;
    END IF;
    UPDATE fanfare.schema_version AS v SET oldest_daemon = v.oldest_daemon RETURNING v.oldest_daemon INTO needed;
    IF new.schema_version < needed THEN
        RAISE EXCEPTION 'this database needs a daemon of schema version % or newer, this one has %', needed, new.schema_version
            USING ERRCODE = '55000', HINT = 'Upgrade Fanfare.';
    END IF;
    RETURN new;
END
$$;

SELECT fanfare.create_trigger('fanfare.instances', 'refuse_old_daemon', $$
    CREATE TRIGGER refuse_old_daemon BEFORE INSERT ON fanfare.instances
        FOR EACH ROW EXECUTE FUNCTION fanfare.refuse_old_daemon()$$);

-- Conditions that an operator should look at. A row exists while its condition holds.
CREATE TABLE IF NOT EXISTS fanfare.alarms (
    name text PRIMARY KEY,
    detail text NOT NULL,
    since timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- When a role that only one daemon performs last had a leader.
CREATE TABLE IF NOT EXISTS fanfare.leaders (
    role text PRIMARY KEY,
    led_at timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);

-- Rule versions whose badge_sql failed in its last run; the row is deleted when it succeeds again.
CREATE TABLE IF NOT EXISTS fanfare.badge_failures (
    rule_version int PRIMARY KEY,
    error text NOT NULL CONSTRAINT badge_failures_error_length CHECK (octet_length(error) <= 8192),
    since timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Rule versions whose users_sql failed in its last run; the row is deleted when it succeeds again.
CREATE TABLE IF NOT EXISTS fanfare.audience_failures (
    rule_version int PRIMARY KEY,
    error text NOT NULL CONSTRAINT audience_failures_error_length CHECK (octet_length(error) <= 8192),
    since timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- The findings of the leading daemon's audit, by check: the number of violations, 0 if there are none.
CREATE TABLE IF NOT EXISTS fanfare.audits (
    name text PRIMARY KEY,
    found bigint NOT NULL,
    detail text NOT NULL,
    -- When the result last changed between good and bad.
    since timestamptz NOT NULL DEFAULT clock_timestamp(),
    checked_at timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);

-- The prune fuse of an app and environment, shared by all daemons. While it is blown, no device is disabled there. When
-- an operator closes it, responses before that time no longer count.
CREATE TABLE IF NOT EXISTS fanfare.prune_fuses (
    -- No foreign key: creating one locks apps, and an upgrade would wait for transactions that register a new app's
    -- device.
    app_id smallint NOT NULL,
    environment text NOT NULL CONSTRAINT prune_fuses_environment CHECK (environment IN ('production', 'sandbox')),
    blown_at timestamptz,
    evidence text CONSTRAINT prune_fuses_evidence CHECK (evidence IN ('weak', 'strong')),
    closed_at timestamptz,
    PRIMARY KEY (app_id, environment),
    CONSTRAINT prune_fuses_blown CHECK ((blown_at IS NULL) = (evidence IS NULL))
);
GRANT SELECT ON fanfare.prune_fuses TO fanfare_reader;

-- The input of the fuses: the responses of providers to all daemons, and the evidence against tokens among them, in
-- intervals of ten seconds. An interval is cut where a fuse is closed. Has the last minutes only.
CREATE TABLE IF NOT EXISTS fanfare.prune_counts (
    app_id smallint NOT NULL,
    environment text NOT NULL CONSTRAINT prune_counts_environment CHECK (environment IN ('production', 'sandbox')),
    provider text NOT NULL,
    since timestamptz NOT NULL,
    answers bigint NOT NULL,
    weak bigint NOT NULL,
    strong bigint NOT NULL,
    PRIMARY KEY (app_id, environment, provider, since)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
GRANT SELECT ON fanfare.prune_counts TO fanfare_reader;

-- HTTP API tokens. Only the SHA-256 of a secret is stored: secrets are 32 random bytes, so a slow hash is not needed.
CREATE TABLE IF NOT EXISTS fanfare.api_tokens (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL CONSTRAINT api_tokens_name CHECK (octet_length(name) BETWEEN 1 AND 200),
    secret_hash bytea NOT NULL CONSTRAINT api_tokens_secret_hash CHECK (octet_length(secret_hash) = 32),
    -- The daemon's TokenScope: roles without the prefix `fanfare_`, and sender, which posts messages as fanfare_author.
    scopes text[] NOT NULL CONSTRAINT api_tokens_scopes CHECK (cardinality(scopes) > 0),
    -- The only app that the token may access; NULL for all. Stored by name, because an app's row is created at its
    -- first use.
    app text,
    -- Requests per second; NULL for the configured default.
    rate int CONSTRAINT api_tokens_rate CHECK (rate > 0),
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at timestamptz,
    revoked_at timestamptz,
    -- Updated at most once a minute.
    used_at timestamptz
);

-- The key that signs list cursors, shared by all daemons.
CREATE TABLE IF NOT EXISTS fanfare.api_secret (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    secret bytea NOT NULL
);
INSERT INTO fanfare.api_secret (secret)
VALUES (sha256(convert_to(gen_random_uuid()::text || gen_random_uuid()::text, 'UTF8'))) ON CONFLICT DO NOTHING;

-- Requests with an idempotency key, with the events that the first one emitted or the run that it started. Inserted in
-- the request's transaction, so that both exist or neither. Kept as long as event keys (retention.keys).
CREATE TABLE IF NOT EXISTS fanfare.api_requests (
    token_id int NOT NULL,
    key text NOT NULL CONSTRAINT api_requests_key CHECK (octet_length(key) BETWEEN 1 AND 255),
    -- Hashes route and body.
    body_hash bytea NOT NULL,
    event_ids bigint[] NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (token_id, key)
);
SELECT fanfare.create_index('api_requests_created', 'CREATE INDEX api_requests_created ON fanfare.api_requests (created_at)');

-- Console sessions that were logged out, until they would have expired; all daemons check this table.
CREATE TABLE IF NOT EXISTS fanfare.ended_sessions (
    id bigint PRIMARY KEY,
    ends_at timestamptz NOT NULL
);
SELECT fanfare.create_index('ended_sessions_ends', 'CREATE INDEX ended_sessions_ends ON fanfare.ended_sessions (ends_at)');

-- Changes made through the HTTP API, inserted in the transaction of the change. Kept as long as the log
-- (retention.log).
CREATE TABLE IF NOT EXISTS fanfare.actions (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- The token's name, and its id.
    actor text NOT NULL,
    token_id int,
    -- For example `device.register`, and the object that was changed.
    action text NOT NULL,
    target text,
    -- How many objects, if there were several.
    count bigint,
    request_id text,
    -- The reason that the actor gave.
    reason text
);
SELECT fanfare.create_index('actions_at', 'CREATE INDEX actions_at ON fanfare.actions USING brin (at)');
-- For the console's campaign page, which lists the actions on the campaign.
SELECT fanfare.create_index('actions_campaign',
    'CREATE INDEX actions_campaign ON fanfare.actions (target COLLATE "C") WHERE action LIKE ''campaign.%''');
GRANT SELECT ON fanfare.actions TO fanfare_reader;

-- The configured feedback hooks, by name, and the outcomes that each one wants. Read whenever a batch is closed, and
-- written only if the configuration changes, so that the table stays one page even under an old snapshot.
CREATE TABLE IF NOT EXISTS fanfare.feedback_hooks (
    name text PRIMARY KEY,
    -- Outcome codes; for a kind of reports, 1000 more than its number.
    codes smallint[] NOT NULL,
    -- Only pushes of this app; NULL for all apps.
    app text
);

-- The progress of each hook. A hook that no daemon has configured any more is deleted after the log's retention.
CREATE TABLE IF NOT EXISTS fanfare.feedback_cursors (
    name text PRIMARY KEY,
    -- The position delivered so far: all batches before this number, and this many deliveries of that batch.
    number bigint NOT NULL,
    position smallint NOT NULL DEFAULT 0,
    -- The end of the delivery in progress; NULL if there is none. Stored before the delivery is sent, so that a
    -- repeated delivery has the same content and the same id, whichever daemon sends it.
    until_number bigint,
    until_position smallint,
    -- Together these form the id of a delivery; an accepted delivery is never sent again.
    key uuid NOT NULL DEFAULT gen_random_uuid(),
    delivery bigint NOT NULL DEFAULT 1,
    -- The daemon that delivers to the hook; valid while that daemon is alive.
    owner int,
    failures int NOT NULL DEFAULT 0,
    failing_since timestamptz,
    error text CONSTRAINT feedback_cursors_error_length CHECK (octet_length(error) <= 8192),
    retry_at timestamptz NOT NULL DEFAULT '-infinity',
    -- When the hook answered 410 and stopped; NULL if it has not.
    ended_at timestamptz,
    told_at timestamptz,
    -- Batches that were deleted before they were delivered.
    lost bigint NOT NULL DEFAULT 0,
    -- When a daemon last had the hook in its configuration.
    seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT feedback_cursors_until CHECK ((until_number IS NULL) = (until_position IS NULL))
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);

-- Logged batches with outcomes that some hook wants, inserted when they are closed, and reports that some hook wants. Empty
-- if there are no hooks.
--
-- Numbers are assigned later, by one transaction at a time. A concurrent open transaction assigns no numbers, so a
-- reader that sees a number sees all lower numbers, regardless of the order in which the batches were closed. Kept as
-- long as the log.
CREATE SEQUENCE IF NOT EXISTS fanfare.feedback_sequence;
CREATE TABLE IF NOT EXISTS fanfare.feedback (
    -- 0 for a report.
    batch_id bigint NOT NULL,
    closed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- NULL until assigned.
    number bigint,
    -- For a report: the push, and the kind as in reports_pending (2 opened, 3 action).
    event_id bigint,
    device_id bigint,
    rule_version int,
    kind smallint,
    action text
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000);
SELECT fanfare.identify_by_row('fanfare.feedback');
SELECT fanfare.create_index('feedback_number', 'CREATE UNIQUE INDEX feedback_number ON fanfare.feedback (number)');
SELECT fanfare.create_index('feedback_closed', 'CREATE INDEX feedback_closed ON fanfare.feedback USING brin (closed_at)');

-- Advisory lock keys, class 1178685254 ("FANF"):
--   0  loading this file
--   1  held exclusively by a daemon that drains the outbox ("K")
--   2  held shared by every sleeping daemon ("S")
--   3  the leader for foreign channels
--   4  the leader for maintenance (retention, rule checks, statistics)
--   5  the session that plans the quarantine
--   6  held by a transaction that puts checked rules into force
--   7  held by a transaction that numbers feedback
-- Class 1178685255: the key is an instance id, held exclusively by that daemon while it is alive.
-- A single bigint key, a hash of a token's id and an idempotency key: held while the first request with that key runs.

-- ---------------------------------------------------------------------------------------------------------------
-- 15. Functions: installation and timelines
-- ---------------------------------------------------------------------------------------------------------------

-- Called by every session of a daemon. It runs as its owner, so that one GRANT is enough if the right to
-- pg_control_system() was revoked from PUBLIC, and every role gets the same result.
CREATE OR REPLACE FUNCTION fanfare.server_identifier() RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (SELECT control.system_identifier FROM pg_control_system() AS control);
EXCEPTION WHEN insufficient_privilege THEN
    RETURN 0;
END
$$;
COMMENT ON FUNCTION fanfare.server_identifier IS 'The system identifier of the cluster; 0 if pg_control_system() may not be called.';
GRANT EXECUTE ON FUNCTION fanfare.server_identifier TO fanfare_reader;

CREATE OR REPLACE FUNCTION fanfare.adopt(name text DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    -- The original signs with its key, and both may give the same id to different events.
    IF EXISTS (SELECT FROM fanfare.installation) THEN
        PERFORM fanfare.rotate_report_keys();
    END IF;
    INSERT INTO fanfare.installation (name, system_identifier, database_oid)
    SELECT adopt.name, fanfare.server_identifier(), here.oid
    FROM pg_database AS here
    WHERE here.datname = current_database()
    ON CONFLICT (one) DO UPDATE
        SET name = excluded.name, system_identifier = excluded.system_identifier,
            database_oid = excluded.database_oid, adopted_at = clock_timestamp();
END
$$;
COMMENT ON FUNCTION fanfare.adopt IS 'Makes this database the one from which the installation of that name may send.';

-- Guards features that daemons of the previous version would handle wrongly. Until the first such feature is used, both
-- versions run side by side.
CREATE OR REPLACE FUNCTION fanfare.require_daemon(needed int) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    older text;
BEGIN
    IF needed <= (SELECT v.oldest_daemon FROM fanfare.schema_version AS v) THEN
        RETURN;
    END IF;
    UPDATE fanfare.schema_version AS v SET oldest_daemon = needed WHERE v.oldest_daemon < needed;
    -- A daemon that lost its database less than a minute ago may come back.
    SELECT string_agg(format('%s (Fanfare %s, process %s on %s)', i.name, i.version, i.pid, i.host), ', ' ORDER BY i.id)
    INTO older FROM fanfare.instances AS i
    WHERE i.schema_version < needed AND i.lease_until > clock_timestamp() - interval '1 minute';
    IF older IS NOT NULL THEN
        RAISE EXCEPTION 'a daemon that is too old for this is running: %', older
            USING ERRCODE = '55000', HINT = 'Upgrade and restart it, then try again.';
    END IF;
END
$$;
COMMENT ON FUNCTION fanfare.require_daemon IS
    'Locks out daemons of older schema versions from now on; raises an error while one of them is running.';

CREATE OR REPLACE FUNCTION fanfare.timeline() RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    -- pg_control_checkpoint() has the timeline of the last checkpoint, which may be minutes old.
    RETURN CASE WHEN NOT pg_is_in_recovery() THEN ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint END;
EXCEPTION WHEN feature_not_supported OR object_not_in_prerequisite_state OR insufficient_privilege THEN
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION fanfare.timeline IS 'The timeline that the server writes to; NULL on a standby, and if the server does not report it.';

CREATE OR REPLACE FUNCTION fanfare.enter_timeline() RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    here bigint := fanfare.timeline();
    server bigint := fanfare.server_identifier();
    is_first boolean := NOT EXISTS (SELECT FROM fanfare.timelines);
BEGIN
    IF here IS NULL OR EXISTS (SELECT FROM fanfare.timelines WHERE (system_identifier, timeline) = (server, here)) THEN
        RETURN false;
    END IF;
    -- A concurrent caller waits here until the first one has committed, and with it the skipped ids.
    INSERT INTO fanfare.timelines (system_identifier, timeline) VALUES (server, here) ON CONFLICT DO NOTHING;
    IF is_first OR NOT FOUND THEN
        RETURN false;
    END IF;
    -- Far more ids than were assigned since a standby last heard from its primary.
    PERFORM setval(s.name, (nextval(s.name) + 10000000) % 4294967296)
    FROM unnest('{fanfare.event_sequence,fanfare.batch_sequence}'::regclass[]) AS s (name);
    PERFORM setval('fanfare.scheduled_sequence', nextval('fanfare.scheduled_sequence') + 10000000);
    RETURN true;
END
$$;
COMMENT ON FUNCTION fanfare.enter_timeline IS 'Makes ids skip ahead if the server is on a new timeline; returns whether it did.';

DO $$ BEGIN PERFORM fanfare.enter_timeline(); END $$;

CREATE OR REPLACE FUNCTION fanfare.replay_feedback(name text, since timestamptz) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    first bigint := (SELECT min(f.number) FROM fanfare.feedback AS f WHERE f.closed_at >= since AND f.number IS NOT NULL);
    again bigint;
BEGIN
    -- The delivery in progress is withdrawn; it will be sent under another id.
    UPDATE fanfare.feedback_cursors AS h
    SET number = coalesce(first, h.number), position = CASE WHEN first IS NULL THEN h.position ELSE 0 END,
        until_number = NULL, until_position = NULL, delivery = h.delivery + 1, retry_at = '-infinity', lost = 0
    WHERE h.name = replay_feedback.name;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no feedback hook %', quote_literal(name)
            USING ERRCODE = '02000', HINT = 'fanfare feedback list shows those there are.';
    END IF;
    SELECT count(*) INTO again FROM fanfare.feedback AS f WHERE f.number >= first;
    RETURN again;
END
$$;
COMMENT ON FUNCTION fanfare.replay_feedback IS
    'Makes a feedback hook deliver everything since that time again; returns how many batches that includes.';
GRANT EXECUTE ON FUNCTION fanfare.replay_feedback TO fanfare_operator;

CREATE OR REPLACE FUNCTION fanfare.resume_feedback(name text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE fanfare.feedback_cursors AS h SET ended_at = NULL, retry_at = '-infinity', lost = 0
    WHERE h.name = resume_feedback.name;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no feedback hook %', quote_literal(name)
            USING ERRCODE = '02000', HINT = 'fanfare feedback list shows those there are.';
    END IF;
END
$$;
COMMENT ON FUNCTION fanfare.resume_feedback IS 'Retries at once a feedback hook that answered 410, or that is waiting after failures.';
GRANT EXECUTE ON FUNCTION fanfare.resume_feedback TO fanfare_operator;

CREATE OR REPLACE FUNCTION fanfare.forget_feedback(name text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    DELETE FROM fanfare.feedback_hooks AS h WHERE h.name = forget_feedback.name;
    DELETE FROM fanfare.feedback_cursors AS h WHERE h.name = forget_feedback.name;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no feedback hook %', quote_literal(name)
            USING ERRCODE = '02000', HINT = 'fanfare feedback list shows those there are.';
    END IF;
END
$$;
COMMENT ON FUNCTION fanfare.forget_feedback IS
    'Deletes the progress of a feedback hook; if a daemon still has the hook configured, it starts over with new outcomes.';
GRANT EXECUTE ON FUNCTION fanfare.forget_feedback TO fanfare_operator;

-- ---------------------------------------------------------------------------------------------------------------
-- 16. Functions: emit and cancel
-- ---------------------------------------------------------------------------------------------------------------

-- The types that only Fanfare emits: they start campaigns, send digests and messages without a rule, and take back what was sent.
CREATE OR REPLACE FUNCTION fanfare.is_reserved(type text) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT type LIKE ANY ('{campaign.%,campaign-test.%,digest.%,send.%,retract.%}'::text[]);
END;
COMMENT ON FUNCTION fanfare.is_reserved IS 'Whether events of this type are emitted by Fanfare only: campaign.*, campaign-test.*, digest.*, send.*, retract.*.';
GRANT EXECUTE ON FUNCTION fanfare.is_reserved TO fanfare_emitter, fanfare_author;

-- Texts that programs write for a missing value: blank, or a language's word for it, spelled as the language spells it.
-- Other spellings are valid: a person may be called nan, and a key may be none.
CREATE OR REPLACE FUNCTION fanfare.is_nothing(value text) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT btrim(value, E' \t\r\n') COLLATE "C"
        = ANY (ARRAY['', 'null', 'NULL', 'Null', '(null)', '(NULL)', '<null>', 'None', 'undefined', 'nil', '<nil>', 'NaN', E'\\N', '[object Object]']);
END;
COMMENT ON FUNCTION fanfare.is_nothing IS 'Whether a text is blank, or a word that programs write for no value, such as null, None, undefined or \N.';
GRANT EXECUTE ON FUNCTION fanfare.is_nothing TO fanfare_emitter;

CREATE OR REPLACE FUNCTION fanfare.given(value text, what text, remedy text) RETURNS text
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NOT fanfare.is_nothing(value) THEN
        RETURN value;
    ELSIF btrim(value, E' \t\r\n') = '' THEN
        RETURN NULL;
    END IF;
    RAISE EXCEPTION '% cannot be %', what, quote_literal(value) USING ERRCODE = '22023',
        HINT = 'Programs write that where they have no value. ' || remedy;
END
$$;
COMMENT ON FUNCTION fanfare.given IS 'The value; null if it is blank. Words that programs write for a missing value are refused.';
GRANT EXECUTE ON FUNCTION fanfare.given TO fanfare_emitter;

-- Optimized for clients that emit one event per transaction, where every expression is initialized anew and 32 sessions
-- share the processor's caches:
-- * It runs with its caller's rights: SECURITY DEFINER needs a SET search_path, which cost 20 to 25 µs of the 200 that
--   a committed event took (PostgreSQL 15 walks over every setting). So every name in it is qualified, or resolved when
--   this file is loaded, and fanfare_emitter has the rights it needs (see outbox). The price: a session that changes
--   its search_path between two events has emit's statements planned again, about 75 µs, as its own prepared statements
--   are.
-- * The id comes from RETURNING: to insert a precomputed id, callers would need the right to choose it.
CREATE OR REPLACE FUNCTION fanfare.emit(type text, payload jsonb DEFAULT '{}', key text DEFAULT NULL, ttl interval DEFAULT NULL)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    new_id bigint;
BEGIN
    IF fanfare.is_reserved(emit.type) THEN
        RAISE EXCEPTION 'events of type % are emitted by Fanfare only', pg_catalog.quote_literal(pg_catalog."left"(emit.type, 80))
            USING ERRCODE = '22023', HINT = 'Choose a type that does not begin with campaign., campaign-test. or digest.; fanfare.start_campaign starts a campaign.';
    END IF;
    IF emit.key IS NOT NULL AND fanfare.is_nothing(emit.key) THEN
        key := fanfare.given(emit.key, 'an event''s key', 'Leave the key out of an event that may be sent again.');
    END IF;
    INSERT INTO fanfare.outbox (type, payload, key, ttl) VALUES (emit.type, emit.payload, emit.key, emit.ttl) RETURNING id INTO new_id;
    RETURN new_id;
END
$$;
COMMENT ON FUNCTION fanfare.emit IS 'Emits one domain event in the caller''s transaction and returns its id.';
GRANT EXECUTE ON FUNCTION fanfare.emit TO fanfare_emitter;

-- Cancels events emitted before the call, not later ones with the same key.
CREATE OR REPLACE FUNCTION fanfare.cancel(event_id bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF fanfare.is_scheduled_id(cancel.event_id) THEN
        -- Waits for a scheduler that has locked the row; then the next statement sees the event that it became.
        DELETE FROM fanfare.scheduled AS s WHERE s.id = cancel.event_id;
        IF FOUND THEN
            RETURN true;
        END IF;
        event_id := fanfare.event_of(cancel.event_id);
    END IF;
    INSERT INTO fanfare.cancels (event_id) VALUES (cancel.event_id);
    RETURN EXISTS (SELECT FROM fanfare.outbox WHERE id = cancel.event_id)
        OR EXISTS (SELECT FROM fanfare.quarantine WHERE id = cancel.event_id)
        OR EXISTS (SELECT FROM fanfare.plans AS p WHERE p.event_id = cancel.event_id)
        OR EXISTS (SELECT FROM fanfare.audience_queries AS q WHERE q.event_id = cancel.event_id)
        OR EXISTS (SELECT FROM fanfare.batches AS b WHERE b.event_id = cancel.event_id OR cancel.event_id = ANY (b.event_ids))
        -- This scans all open digests, so it runs only if some rule gathered the event.
        OR EXISTS (
            SELECT FROM fanfare.event_log AS l JOIN fanfare.rule_versions AS v ON v.event_type = l.type AND v.audience = 'gather'
            WHERE l.day = fanfare.ring_day(cancel.event_id) AND l.id = cancel.event_id
        ) AND EXISTS (SELECT FROM fanfare.open_digests AS g WHERE cancel.event_id = ANY (g.event_ids));
END
$$;
COMMENT ON FUNCTION fanfare.cancel(bigint) IS
    'Stops an event, by its own id or by that of its scheduled row; true if it is known and not finished. No push of it '
    'starts later than 1 s after the commit.';
GRANT EXECUTE ON FUNCTION fanfare.cancel(bigint) TO fanfare_emitter;

-- Checking for each event whether something of it waits takes time proportional to the queue; `unsent` checks all
-- events at once.
CREATE OR REPLACE FUNCTION fanfare.cancel_events(event_ids bigint[]) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    removed bigint[];
    told bigint;
BEGIN
    WITH gone AS (
        DELETE FROM fanfare.scheduled AS s
        WHERE s.id = ANY (ARRAY(SELECT x.id FROM fanfare.scheduled AS x WHERE x.id = ANY ($1) ORDER BY x.id FOR UPDATE))
        RETURNING s.id
    )
    SELECT coalesce(array_agg(g.id), '{}') INTO removed FROM gone AS g;
    INSERT INTO fanfare.cancels (event_id)
    SELECT fanfare.event_of(g.id) FROM (SELECT unnest($1) EXCEPT SELECT unnest(removed)) AS g (id) WHERE g.id IS NOT NULL ORDER BY 1;
    GET DIAGNOSTICS told = ROW_COUNT;
    RETURN told + cardinality(removed);
END
$$;
COMMENT ON FUNCTION fanfare.cancel_events IS
    'Stops events; returns how many distinct ids it was given. `unsent` reports for which of them deliveries are waiting.';
GRANT EXECUTE ON FUNCTION fanfare.cancel_events TO fanfare_emitter;

CREATE OR REPLACE FUNCTION fanfare.cancel(type text, key text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    removed boolean;
    stopped boolean;
BEGIN
    IF fanfare.given(cancel.key, 'an event''s key', 'Pass the key that the events have.') IS NULL THEN
        RAISE EXCEPTION 'the key is empty' USING ERRCODE = '22023', HINT = 'Pass the key that the events have, or an event''s id.';
    END IF;
    -- Waits for a scheduler that has locked the row; then the next statement sees the event that it became.
    DELETE FROM fanfare.scheduled AS s WHERE s.key IS NOT NULL AND fanfare.key_hash(s.type, s.key) = fanfare.key_hash(cancel.type, cancel.key);
    removed := FOUND;
    -- One statement, so that its snapshot sees an event that is being planned either in the outbox or in a batch.
    stopped := EXISTS (SELECT FROM fanfare.outbox AS o WHERE o.type = cancel.type AND o.key = cancel.key)
        OR EXISTS (SELECT FROM fanfare.quarantine AS o WHERE o.type = cancel.type AND o.key = cancel.key)
        OR EXISTS (
            SELECT FROM fanfare.event_keys AS k
            WHERE k.type = cancel.type AND k.key = cancel.key AND (
                EXISTS (SELECT FROM fanfare.plans AS p WHERE p.event_id = k.event_id)
                OR EXISTS (SELECT FROM fanfare.audience_queries AS q WHERE q.event_id = k.event_id)
                OR EXISTS (SELECT FROM fanfare.batches AS b WHERE b.event_id = k.event_id OR k.event_id = ANY (b.event_ids))
                OR EXISTS (SELECT FROM fanfare.rule_versions AS v WHERE v.event_type = cancel.type AND v.audience = 'gather')
                    AND EXISTS (SELECT FROM fanfare.open_digests AS g WHERE k.event_id = ANY (g.event_ids))));
    INSERT INTO fanfare.cancels (type, key, stopped) VALUES (cancel.type, cancel.key, stopped);
    IF stopped THEN
        -- Also cancelled by id: the key may soon belong to another event, and the deliveries of this one must still be
        -- found.
        INSERT INTO fanfare.cancels (event_id) SELECT k.event_id FROM fanfare.event_keys AS k WHERE k.type = cancel.type AND k.key = cancel.key;
    END IF;
    RETURN removed OR stopped;
END
$$;
COMMENT ON FUNCTION fanfare.cancel(text, text) IS 'Stops the events emitted or scheduled so far under this type and key; true if any was known and not finished.';
GRANT EXECUTE ON FUNCTION fanfare.cancel(text, text) TO fanfare_emitter;

CREATE OR REPLACE FUNCTION fanfare.is_scheduled_id(id bigint) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT id < 1::bigint << 43;
END;
COMMENT ON FUNCTION fanfare.is_scheduled_id IS 'Whether an id is in the range of scheduled rows, and not of events.';
GRANT EXECUTE ON FUNCTION fanfare.is_scheduled_id TO fanfare_reader;

CREATE OR REPLACE FUNCTION fanfare.event_of(id bigint) RETURNS bigint LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT coalesce((SELECT e.event_id FROM fanfare.scheduled_events AS e WHERE e.scheduled_id = event_of.id), event_of.id);
END;
COMMENT ON FUNCTION fanfare.event_of IS 'The event that a scheduled row became; the id itself if it is not that of such a row.';
GRANT EXECUTE ON FUNCTION fanfare.event_of TO fanfare_reader;

-- Checks what planning would refuse: planning would find it days later.
CREATE OR REPLACE FUNCTION fanfare.check_scheduled(type text, at timestamptz, payload jsonb, key text, ttl interval) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    wrong text;
    advice text;
BEGIN
    IF fanfare.is_event_type(check_scheduled.type) IS NOT TRUE THEN
        wrong := format('type: %s is not an event type', coalesce(quote_literal(left(check_scheduled.type, 80)), 'NULL'));
        advice := 'An event type has 1 to 255 bytes on one line, for example order.shipped.';
    ELSIF check_scheduled.at IS NULL OR NOT isfinite(check_scheduled.at) THEN
        wrong := format('at: %s is not a time', coalesce(check_scheduled.at::text, 'NULL'));
        advice := 'Pass when the event is due, for example now() + interval ''2 hours''.';
    ELSIF check_scheduled.at > now() + interval '10 years' THEN
        wrong := 'at: is more than 10 years ahead';
        advice := 'Is it in milliseconds, or of another century?';
    ELSIF check_scheduled.payload IS NULL OR jsonb_typeof(check_scheduled.payload) <> 'object' THEN
        wrong := 'payload: is not a JSON object';
        advice := 'Pass an object, for example {"order": 7}.';
    ELSIF octet_length(check_scheduled.payload::text) > 65536 THEN
        wrong := 'payload: has more than 65536 bytes';
        advice := 'Store large data, and send a reference to it.';
    ELSIF jsonb_path_exists(check_scheduled.payload, '$.**{33}') THEN
        wrong := 'payload: is nested more than 32 levels deep';
        advice := 'Send what the message needs, not all that is known.';
    ELSIF octet_length(check_scheduled.key) > 2048 THEN
        wrong := 'key: has more than 2048 bytes';
        advice := 'Use an id, or a hash.';
    ELSIF check_scheduled.ttl <= interval '0' THEN
        wrong := 'ttl: is not positive';
        advice := 'It is counted from the time when the event is due.';
    END IF;
    IF wrong IS NOT NULL THEN
        RAISE EXCEPTION '%', wrong USING ERRCODE = '22023', HINT = advice;
    END IF;
END
$$;

-- Inserts one row of `scheduled`, whose type may be reserved: the callers check it.
CREATE OR REPLACE FUNCTION fanfare.schedule(type text, at timestamptz, payload jsonb, key text, ttl interval, replace boolean, wall timestamp, app_id smallint)
RETURNS bigint LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    waiting fanfare.scheduled;
    new_id bigint;
    the_key CONSTANT text := CASE WHEN schedule.key IS NOT NULL
        THEN fanfare.given(schedule.key, 'an event''s key', 'Leave the key out of an event that may be sent again.') END;
BEGIN
    PERFORM fanfare.check_scheduled(schedule.type, schedule.at, schedule.payload, the_key, schedule.ttl);
    INSERT INTO fanfare.scheduled AS s (at, app_id, type, key, ttl, payload, wall)
    VALUES (schedule.at, schedule.app_id, schedule.type, the_key, schedule.ttl, schedule.payload, schedule.wall)
    ON CONFLICT (fanfare.key_hash(type, key)) WHERE key IS NOT NULL DO UPDATE
        SET at = excluded.at, ttl = excluded.ttl, payload = excluded.payload, wall = excluded.wall, trace = excluded.trace
        WHERE schedule.replace AND s.app_id IS NOT DISTINCT FROM excluded.app_id
    RETURNING s.id INTO new_id;
    IF new_id IS NULL THEN
        SELECT * INTO waiting FROM fanfare.scheduled AS s
        WHERE s.key IS NOT NULL AND fanfare.key_hash(s.type, s.key) = fanfare.key_hash(schedule.type, the_key);
        RAISE EXCEPTION 'an event of type % with this key waits already', quote_literal(left(schedule.type, 80))
            USING ERRCODE = '23505', DETAIL = format('It is scheduled as %s, for %s.', waiting.id, waiting.at),
                HINT = 'Pass replace => true to replace it, or move it with fanfare.reschedule.';
    END IF;
    IF the_key IS NOT NULL AND EXISTS (SELECT FROM fanfare.event_keys AS k WHERE k.type = schedule.type AND k.key = the_key) THEN
        RAISE WARNING 'an event of type % with this key was emitted before', quote_literal(left(schedule.type, 80))
            USING HINT = 'This one will be a duplicate, and not be sent, if the key is not forgotten by then (retention.keys). Use a key for each time, for example appointment-7-2026-12-01.';
    END IF;
    RETURN new_id;
END
$$;

CREATE OR REPLACE FUNCTION fanfare.emit_at(type text, at timestamptz, payload jsonb DEFAULT '{}', key text DEFAULT NULL, ttl interval DEFAULT NULL,
    replace boolean DEFAULT false)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM fanfare.check_type(emit_at.type);
    RETURN fanfare.schedule(emit_at.type, emit_at.at, emit_at.payload, emit_at.key, emit_at.ttl, emit_at.replace, NULL, NULL);
END
$$;
COMMENT ON FUNCTION fanfare.emit_at IS
    'Schedules one domain event in the caller''s transaction and returns the id of the scheduled row. The event is emitted when '
    'it is due, and its ttl begins then. A key is unique among the events of a type that wait; `replace` replaces the one that has it.';
GRANT EXECUTE ON FUNCTION fanfare.emit_at TO fanfare_emitter;

CREATE OR REPLACE FUNCTION fanfare.emit_local(type text, at timestamp, zone text, payload jsonb DEFAULT '{}', key text DEFAULT NULL,
    ttl interval DEFAULT NULL, replace boolean DEFAULT false)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    is_own CONSTANT boolean := emit_local.zone = 'recipient';
BEGIN
    PERFORM fanfare.check_type(emit_local.type);
    IF is_own THEN
        -- Older daemons would send it to all at once.
        PERFORM fanfare.require_daemon(2);
    ELSIF emit_local.zone IS NULL OR NOT fanfare.is_time_zone(emit_local.zone) THEN
        RAISE EXCEPTION 'zone: %', coalesce(fanfare.time_zone_error(emit_local.zone), 'NULL is not a time zone')
            USING ERRCODE = '22023', HINT = 'Use a name such as Europe/Madrid, or recipient for each device''s own.';
    END IF;
    RETURN fanfare.schedule(emit_local.type, fanfare.next_due(NULL, emit_local.at, emit_local.zone, '-infinity'), emit_local.payload, emit_local.key,
        emit_local.ttl, emit_local.replace, CASE WHEN is_own THEN emit_local.at END, NULL);
END
$$;
COMMENT ON FUNCTION fanfare.emit_local IS
    'Schedules one domain event for what clocks show in a time zone, or in each recipient''s own (`recipient`); otherwise as '
    'emit_at. A time that clocks skip moves later by the length of the gap; of a time that is shown twice, the first is meant.';
GRANT EXECUTE ON FUNCTION fanfare.emit_local TO fanfare_emitter;

CREATE OR REPLACE FUNCTION fanfare.check_type(type text) RETURNS void LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF fanfare.is_reserved(check_type.type) THEN
        RAISE EXCEPTION 'events of type % are emitted by Fanfare only', quote_literal(left(check_type.type, 80))
            USING ERRCODE = '22023', HINT = 'Choose a type that does not begin with campaign., campaign-test., digest. or send.; fanfare.start_campaign starts a campaign, fanfare.send sends a message.';
    END IF;
END
$$;

-- For an event by recipients' own time, `at` is the new time of the first of them, and clocks show the same time as before on
-- another day; emit_local with `replace` sets another one.
CREATE OR REPLACE FUNCTION fanfare.reschedule(scheduled_id bigint, at timestamptz, payload jsonb DEFAULT NULL) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    s fanfare.scheduled;
BEGIN
    -- Waits for a scheduler that has locked the row.
    SELECT * INTO s FROM fanfare.scheduled AS x WHERE x.id = reschedule.scheduled_id FOR UPDATE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM fanfare.check_scheduled(s.type, reschedule.at, coalesce(reschedule.payload, s.payload), s.key, s.ttl);
    UPDATE fanfare.scheduled AS x
    SET at = reschedule.at, payload = coalesce(reschedule.payload, s.payload), wall = s.wall + (reschedule.at - s.at)
    WHERE x.id = s.id;
    RETURN true;
END
$$;
COMMENT ON FUNCTION fanfare.reschedule(bigint, timestamptz, jsonb) IS
    'Moves an event that waits to another time, with another payload or the same; false if it does not wait any more.';
GRANT EXECUTE ON FUNCTION fanfare.reschedule(bigint, timestamptz, jsonb) TO fanfare_emitter;

CREATE OR REPLACE FUNCTION fanfare.reschedule(type text, key text, at timestamptz, payload jsonb DEFAULT NULL) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN coalesce((
        SELECT fanfare.reschedule(s.id, reschedule.at, reschedule.payload) FROM fanfare.scheduled AS s
        WHERE s.key IS NOT NULL AND fanfare.key_hash(s.type, s.key) = fanfare.key_hash(reschedule.type, reschedule.key)), false);
END
$$;
COMMENT ON FUNCTION fanfare.reschedule(text, text, timestamptz, jsonb) IS
    'Moves the event that waits under this type and key to another time, with another payload or the same; false if none waits.';
GRANT EXECUTE ON FUNCTION fanfare.reschedule(text, text, timestamptz, jsonb) TO fanfare_emitter;

-- Emits the same event again under a new id, with the same type, key, payload and ttl; the ttl starts again. The key
-- does not make it a duplicate, since a replay is intended. The rules in force now apply.
CREATE OR REPLACE FUNCTION fanfare.replay(event_id bigint, user_id text DEFAULT NULL, app text DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    e fanfare.event_log;
    the_app smallint;
    rule record;
    new_id bigint;
BEGIN
    event_id := fanfare.event_of(replay.event_id);
    SELECT l.* INTO e FROM fanfare.event_log AS l WHERE l.day = fanfare.ring_day(replay.event_id) AND l.id = replay.event_id;
    IF e.id IS NULL THEN
        IF EXISTS (SELECT FROM fanfare.outbox AS o WHERE o.id = replay.event_id) OR EXISTS (SELECT FROM fanfare.quarantine AS o WHERE o.id = replay.event_id) THEN
            RAISE EXCEPTION 'event % is not planned yet', replay.event_id
                USING ERRCODE = '55000', HINT = 'It is sent without that; `fanfare status` shows what daemons do.';
        END IF;
        RAISE EXCEPTION 'there is no event % in the log%', replay.event_id,
                CASE WHEN replay.event_id >= 1::bigint << 32 THEN format(': its number is of %s', DATE '2020-01-01' + (replay.event_id >> 32)::int) ELSE '' END
            USING ERRCODE = '22023', HINT = 'The log keeps 30 days at most, or less where retention.log says so; emit older events again.';
    ELSIF replay.user_id = '' THEN
        RAISE EXCEPTION 'user_id: names nobody' USING ERRCODE = '22023', HINT = 'Pass the id that the user''s devices are registered with, or null for all whom the event is for.';
    END IF;
    IF replay.app IS NOT NULL THEN
        SELECT a.id INTO the_app FROM fanfare.apps AS a WHERE a.name = replay.app;
        IF the_app IS NULL THEN
            RAISE EXCEPTION 'there is no app %', replay.app USING ERRCODE = '22023', HINT = 'fanfare.apps lists them.';
        END IF;
    END IF;
    FOR rule IN
        SELECT a.name AS app, r.name, c.name AS campaign, v.audience, c.definition::jsonb AS definition
        FROM fanfare.rule_versions AS v
        JOIN fanfare.rules AS r ON r.id = v.rule_id
        JOIN fanfare.apps AS a ON a.id = r.app_id
        LEFT JOIN fanfare.campaigns AS c ON c.rule_id = r.id
        WHERE v.event_type = e.type AND v.state = 'active' AND v.retired_at IS NULL AND v.enabled AND coalesce(r.app_id = the_app, true)
        ORDER BY a.name, r.name
    LOOP
        IF rule.campaign IS NOT NULL AND rule.audience NOT IN ('users', 'users_sql', 'tokens') AND replay.user_id IS NULL THEN
            RAISE EXCEPTION 'event % is of campaign %, which goes to its whole audience', e.id, rule.campaign
                USING ERRCODE = '55000', HINT = format('Call fanfare.start_campaign(%L, %L) to send it to all again, or name the one user who is to get it.', rule.app, rule.campaign);
        ELSIF rule.audience = 'staged' THEN
            RAISE EXCEPTION 'event % is of campaign %, whose audience_sql was asked when it fired', e.id, rule.campaign
                USING ERRCODE = '55000', HINT = format('Call fanfare.test_campaign(%L, %L, ARRAY[%L]): it asks again, and sends to that user only.', rule.app, rule.campaign, replay.user_id);
        ELSIF rule.audience IN ('fcm_topic', 'fcm_condition', 'channel') AND replay.user_id IS NOT NULL THEN
            RAISE EXCEPTION 'rule %/% sends to an audience that the provider manages (%), of which no single user can be picked', rule.app, rule.name, rule.audience
                USING ERRCODE = '55000', HINT = 'Leave the user out to send it to all of them again, or use topic: or condition: in the rule.';
        ELSIF rule.audience = 'gather' AND replay.user_id IS NOT NULL THEN
            RAISE EXCEPTION 'rule %/% gathers event %, which others may be told of in the same push', rule.app, substr(rule.name, length('gather/') + 1), e.id
                USING ERRCODE = '55000', HINT = format('Leave the user out, or replay the event of type %L that it was made part of.', 'digest.' || rule.app || '.' || substr(rule.name, length('gather/') + 1));
        END IF;
    END LOOP;
    INSERT INTO fanfare.outbox (type, key, ttl, payload, replay_of, only_app, only_user, own)
    VALUES (e.type, e.key, e.ttl, e.payload, e.id, the_app, replay.user_id, true) RETURNING id INTO new_id;
    RETURN new_id;
END
$$;
COMMENT ON FUNCTION fanfare.replay IS
    'Re-emits a logged event under the rules in force now: for all its recipients, for one of them, or under the '
    'rules of one app; returns the new event''s id.';
GRANT EXECUTE ON FUNCTION fanfare.replay TO fanfare_operator;

-- ---------------------------------------------------------------------------------------------------------------
-- 17. Functions: names
-- ---------------------------------------------------------------------------------------------------------------
-- Which names are allowed, here and in the daemon (RuleNames).

CREATE OR REPLACE FUNCTION fanfare.is_app_name(name text) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT name ~ '^[a-zA-Z0-9][a-zA-Z0-9_-]{0,63}$';
END;
COMMENT ON FUNCTION fanfare.is_app_name IS 'Whether the name is valid for an app.';
GRANT EXECUTE ON FUNCTION fanfare.is_app_name TO fanfare_author;

CREATE OR REPLACE FUNCTION fanfare.is_rule_name(name text) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT name ~ '^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,99}$';
END;
COMMENT ON FUNCTION fanfare.is_rule_name IS 'Whether the name is valid for a rule.';
GRANT EXECUTE ON FUNCTION fanfare.is_rule_name TO fanfare_author;

CREATE OR REPLACE FUNCTION fanfare.is_label(name text) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT name ~ '^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,63}$';
END;
COMMENT ON FUNCTION fanfare.is_label IS 'Whether the name is valid for a category.';
GRANT EXECUTE ON FUNCTION fanfare.is_label TO fanfare_author;

CREATE OR REPLACE FUNCTION fanfare.is_topic(name text) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT name ~ '^[a-zA-Z0-9_.~%-]+$' AND length(name) <= 900;
END;
COMMENT ON FUNCTION fanfare.is_topic IS 'Whether the name is valid for a topic.';

CREATE OR REPLACE FUNCTION fanfare.is_event_type(type text) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    -- No control characters, including C1 (U+0080 to U+009F), and none that change the direction of text: types are
    -- printed on terminals.
    SELECT octet_length(type) BETWEEN 1 AND 255 AND type !~ '[\x01-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]';
END;
COMMENT ON FUNCTION fanfare.is_event_type IS 'Whether a rule can name events of this type: 1 to 255 bytes on one line, without control and bidirectional characters.';
GRANT EXECUTE ON FUNCTION fanfare.is_event_type TO fanfare_emitter, fanfare_author;

CREATE OR REPLACE FUNCTION fanfare.is_among(type text, patterns text[]) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT EXISTS (SELECT FROM unnest(patterns) AS p (name) WHERE p.name = type OR right(p.name, 1) = '*' AND starts_with(type, left(p.name, -1)));
END;
COMMENT ON FUNCTION fanfare.is_among IS 'Whether one of the names equals this type, or ends in * and the type begins with the rest.';
GRANT EXECUTE ON FUNCTION fanfare.is_among TO fanfare_author, fanfare_reader;

-- An app may always take its own campaigns, digests and messages.
CREATE OR REPLACE FUNCTION fanfare.may_take(app text, type text) RETURNS boolean LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT NOT EXISTS (
        SELECT FROM fanfare.apps AS a
        WHERE a.name = may_take.app AND a.events IS NOT NULL AND NOT fanfare.is_among(may_take.type,
            a.events || ARRAY['campaign.' || a.name || '.*', 'campaign-test.' || a.name || '.*', 'digest.' || a.name || '.*', 'send.' || a.name, 'retract.' || a.name]));
END;
COMMENT ON FUNCTION fanfare.may_take IS
    'Whether rules of an app may take events of this type: those that the configuration lists (apps.<name>.events), or any.';
GRANT EXECUTE ON FUNCTION fanfare.may_take TO fanfare_author, fanfare_reader;

CREATE OR REPLACE FUNCTION fanfare.limit_events(app text, events text[]) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    -- The limit also applies to an app that has no devices yet.
    IF fanfare.is_app_name(limit_events.app) AND NOT EXISTS (SELECT FROM fanfare.apps AS a WHERE a.name = limit_events.app) THEN
        INSERT INTO fanfare.apps (name) VALUES (limit_events.app) ON CONFLICT (name) DO NOTHING;
    END IF;
    UPDATE fanfare.apps AS a SET events = limit_events.events WHERE a.name = limit_events.app AND a.events IS DISTINCT FROM limit_events.events;
    RETURN FOUND;
END
$$;
COMMENT ON FUNCTION fanfare.limit_events IS
    'Sets which types of events rules of an app may take; returns whether that is a change. Daemons call it.';

-- ---------------------------------------------------------------------------------------------------------------
-- 18. Functions: devices and subscriptions
-- ---------------------------------------------------------------------------------------------------------------

CREATE OR REPLACE FUNCTION fanfare.app_id_for(app text) RETURNS smallint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    the_app smallint;
BEGIN
    SELECT id INTO the_app FROM fanfare.apps WHERE name = app_id_for.app;
    IF the_app IS NULL THEN
        IF fanfare.is_app_name(app_id_for.app) IS NOT TRUE THEN
            RAISE EXCEPTION 'no app can be called %', quote_nullable(app_id_for.app)
                USING ERRCODE = '22023', HINT = 'Use 1 to 64 letters, digits, "_" and "-", beginning with a letter or digit.';
        END IF;
        INSERT INTO fanfare.apps (name) VALUES (app_id_for.app) ON CONFLICT (name) DO NOTHING;
        IF FOUND THEN
            RAISE NOTICE 'the app "%" is new', app_id_for.app
                USING HINT = 'Nothing is sent for it before a daemon has credentials for it; is it spelt as in the configuration?';
        END IF;
        SELECT id INTO STRICT the_app FROM fanfare.apps WHERE name = app_id_for.app;
    END IF;
    RETURN the_app;
END
$$;

CREATE OR REPLACE FUNCTION fanfare.target_id_for(app_id smallint, provider text, environment text) RETURNS smallint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    found smallint;
BEGIN
    SELECT t.id INTO found FROM fanfare.targets AS t
    WHERE t.app_id = target_id_for.app_id AND t.provider = target_id_for.provider AND t.environment = target_id_for.environment
        AND t.native_key IS NULL;
    IF found IS NULL THEN
        IF NOT EXISTS (SELECT FROM fanfare.providers AS p WHERE p.name = target_id_for.provider) THEN
            RAISE EXCEPTION 'unknown provider %', quote_nullable(target_id_for.provider) USING ERRCODE = '22023',
                HINT = 'Use one of ' || (SELECT string_agg(p.name, ', ' ORDER BY p.name) FROM fanfare.providers AS p) || '.';
        END IF;
        IF target_id_for.environment IS NULL OR target_id_for.environment NOT IN ('production', 'sandbox') THEN
            RAISE EXCEPTION 'unknown environment %', quote_nullable(target_id_for.environment)
                USING ERRCODE = '22023', HINT = 'Use production or sandbox.';
        END IF;
        -- Both environments at once, because a token may turn out to belong to the other one.
        PERFORM fanfare.require_daemon(p.oldest_daemon) FROM fanfare.providers AS p WHERE p.name = target_id_for.provider;
        INSERT INTO fanfare.targets (app_id, provider, environment)
        SELECT target_id_for.app_id, p.name, e
        FROM fanfare.providers AS p
        CROSS JOIN unnest('{production,sandbox}'::text[]) AS e
        WHERE p.name = target_id_for.provider AND (p.both_environments OR e = target_id_for.environment)
        ON CONFLICT DO NOTHING;
        SELECT t.id INTO STRICT found FROM fanfare.targets AS t
        WHERE t.app_id = target_id_for.app_id AND t.provider = target_id_for.provider AND t.environment = target_id_for.environment
            AND t.native_key IS NULL;
    END IF;
    RETURN found;
END
$$;

-- Selects before it inserts, as target_id_for does: an INSERT uses up an id even if it conflicts, and there are only
-- 32,767.
CREATE OR REPLACE FUNCTION fanfare.native_target_id_for(app_id smallint, provider text, native_key text) RETURNS smallint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    found smallint;
BEGIN
    SELECT t.id INTO found FROM fanfare.targets AS t
    WHERE t.app_id = native_target_id_for.app_id AND t.provider = native_target_id_for.provider AND t.environment = 'production'
        AND t.native_key = native_target_id_for.native_key;
    IF found IS NULL THEN
        INSERT INTO fanfare.targets (app_id, provider, environment, native_key)
        VALUES (native_target_id_for.app_id, native_target_id_for.provider, 'production', native_target_id_for.native_key)
        ON CONFLICT DO NOTHING;
        SELECT t.id INTO STRICT found FROM fanfare.targets AS t
        WHERE t.app_id = native_target_id_for.app_id AND t.provider = native_target_id_for.provider AND t.environment = 'production'
            AND t.native_key = native_target_id_for.native_key;
    END IF;
    RETURN found;
END
$$;

CREATE OR REPLACE FUNCTION fanfare.is_token(provider text, token text) RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT octet_length(token) BETWEEN 1 AND 4096
        AND token ~ (SELECT p.token_shape FROM fanfare.providers AS p WHERE p.name = provider);
END;
COMMENT ON FUNCTION fanfare.is_token IS 'Whether a provider can have issued this token; null for an unknown provider.';

-- The keys that the daemon can encrypt for. 65 bytes that begin with 4 are, in base64, "B", "A" to "P" and 85 more
-- characters.
CREATE OR REPLACE FUNCTION fanfare.is_public_key(p256dh text) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT p256dh ~ '^B[A-P][A-Za-z0-9+/_-]{85}=?$';
END;
COMMENT ON FUNCTION fanfare.is_public_key IS 'Whether a text has the form of a Web Push subscription''s p256dh.';

-- Tokens and keys that no provider can have issued are refused at registration, where the app's author sees the error,
-- and not at send.
CREATE OR REPLACE FUNCTION fanfare.device_error(
    provider text, token text, p256dh text, auth text, OUT reason text, OUT hint text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    shape fanfare.providers;
BEGIN
    SELECT * INTO STRICT shape FROM fanfare.providers AS p WHERE p.name = provider;
    IF coalesce(token, '') = '' THEN
        reason := 'the token is empty';
        hint := 'Pass the token that the app got from its provider.';
    ELSIF fanfare.is_nothing(token) OR lower(token) = 'blacklisted' THEN
        reason := format('the token is %s, which programs write where they have none', quote_literal(token));
        hint := 'Pass the token that the app got from its provider, or do not register the device.';
    ELSIF token ~ E'^[\\s\\u00a0\\u200b\\ufeff]|[\\s\\u00a0\\u200b\\ufeff]$' THEN
        reason := 'the token has blanks around it';
        hint := 'Pass the token without them.';
    ELSIF octet_length(token) > 4096 THEN
        reason := format('the token is %s bytes long', octet_length(token));
        hint := 'No provider issues tokens over 4096 bytes.';
    ELSIF token !~ shape.token_shape THEN
        reason := shape.token_error;
        hint := shape.token_hint;
    ELSIF auth IS NOT NULL AND shape.auth_shape IS NULL THEN
        reason := format('%s has no auth', shape.label);
        hint := 'Leave it out, or look whether the provider is the right one.';
    ELSIF p256dh IS NOT NULL AND NOT shape.has_p256dh THEN
        reason := format('%s has no p256dh', shape.label);
        hint := 'Leave it out, or look whether the provider is the right one.';
    ELSIF shape.auth_shape IS NOT NULL AND (auth IS NULL OR shape.has_p256dh AND p256dh IS NULL) THEN
        reason := format('%s needs %sauth', shape.label, CASE WHEN shape.has_p256dh THEN 'p256dh and ' END);
        hint := shape.token_hint;
    ELSIF p256dh IS NOT NULL AND NOT fanfare.is_public_key(p256dh) THEN
        reason := 'p256dh is not a public key: it must be 65 bytes in base64url, of which the first is 4';
        hint := 'Pass keys.p256dh exactly as subscription.toJSON() gives it.';
    ELSIF auth !~ shape.auth_shape THEN
        reason := shape.auth_error;
        hint := shape.auth_hint;
    END IF;
END
$$;
COMMENT ON FUNCTION fanfare.device_error IS
    'Why no device of this provider can have this token and these keys, and how to fix it; null if there is no error.';

CREATE OR REPLACE FUNCTION fanfare.check_device(provider text, token text, p256dh text, auth text) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    problem record;
BEGIN
    SELECT * INTO problem FROM fanfare.device_error(provider, token, p256dh, auth);
    IF problem.reason IS NOT NULL THEN
        RAISE EXCEPTION '%', problem.reason USING ERRCODE = '22023', HINT = problem.hint;
    END IF;
END
$$;
COMMENT ON FUNCTION fanfare.check_device IS 'Raises the error that device_error finds.';

-- Accepts only names of the IANA database: PostgreSQL also accepts abbreviations, and any word followed by a number as
-- an offset.
CREATE OR REPLACE FUNCTION fanfare.is_time_zone(name text) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    -- Excludes CET, EET, MET and WET, which PostgreSQL reads as abbreviations without daylight saving time.
    IF name ~ '^([A-Z][A-Za-z_]*(/[A-Za-z_-]+){1,2}|UTC|GMT|Etc/GMT[+-]?[0-9]{1,2}|GMT[+-]?0|EST|MST|HST|(EST5E|CST6C|MST7M|PST8P)DT|Cuba|Egypt|Eire|GB|GB-Eire|Greenwich|Hongkong|Iceland|Iran|Israel|Jamaica|Japan|Kwajalein|Libya|NZ|NZ-CHAT|Navajo|PRC|Poland|Portugal|ROC|ROK|Singapore|Turkey|UCT|Universal|W-SU|Zulu)$' THEN
        PERFORM timestamptz 'epoch' AT TIME ZONE name;
        RETURN true;
    END IF;
    RETURN false;
EXCEPTION WHEN invalid_parameter_value THEN
    RETURN false;
END
$$;
COMMENT ON FUNCTION fanfare.is_time_zone IS 'Whether this server knows a time zone of that name.';
GRANT EXECUTE ON FUNCTION fanfare.is_time_zone TO fanfare_author, fanfare_reader;

-- Names that the IANA database has replaced (its file `backward`, except names that a country still has), with their
-- present names. Phones and browsers still send them, and some servers no longer know them.
CREATE OR REPLACE FUNCTION fanfare.old_time_zones() RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT '{
        "Africa/Asmera": "Africa/Nairobi", "Africa/Timbuktu": "Africa/Abidjan",
        "America/Argentina/ComodRivadavia": "America/Argentina/Catamarca", "America/Atka": "America/Adak",
        "America/Buenos_Aires": "America/Argentina/Buenos_Aires", "America/Catamarca": "America/Argentina/Catamarca",
        "America/Coral_Harbour": "America/Panama", "America/Cordoba": "America/Argentina/Cordoba", "America/Ensenada": "America/Tijuana",
        "America/Fort_Wayne": "America/Indiana/Indianapolis", "America/Godthab": "America/Nuuk",
        "America/Indianapolis": "America/Indiana/Indianapolis", "America/Jujuy": "America/Argentina/Jujuy",
        "America/Knox_IN": "America/Indiana/Knox", "America/Louisville": "America/Kentucky/Louisville",
        "America/Mendoza": "America/Argentina/Mendoza", "America/Montreal": "America/Toronto", "America/Nipigon": "America/Toronto",
        "America/Pangnirtung": "America/Iqaluit", "America/Porto_Acre": "America/Rio_Branco", "America/Rainy_River": "America/Winnipeg",
        "America/Rosario": "America/Argentina/Cordoba", "America/Santa_Isabel": "America/Tijuana", "America/Shiprock": "America/Denver",
        "America/Thunder_Bay": "America/Toronto", "America/Virgin": "America/Puerto_Rico", "America/Yellowknife": "America/Edmonton",
        "Antarctica/South_Pole": "Pacific/Auckland", "Asia/Ashkhabad": "Asia/Ashgabat", "Asia/Calcutta": "Asia/Kolkata",
        "Asia/Choibalsan": "Asia/Ulaanbaatar", "Asia/Chongqing": "Asia/Shanghai", "Asia/Chungking": "Asia/Shanghai",
        "Asia/Dacca": "Asia/Dhaka", "Asia/Harbin": "Asia/Shanghai", "Asia/Istanbul": "Europe/Istanbul", "Asia/Kashgar": "Asia/Urumqi",
        "Asia/Katmandu": "Asia/Kathmandu", "Asia/Macao": "Asia/Macau", "Asia/Rangoon": "Asia/Yangon", "Asia/Saigon": "Asia/Ho_Chi_Minh",
        "Asia/Tel_Aviv": "Asia/Jerusalem", "Asia/Thimbu": "Asia/Thimphu", "Asia/Ujung_Pandang": "Asia/Makassar",
        "Asia/Ulan_Bator": "Asia/Ulaanbaatar", "Atlantic/Faeroe": "Atlantic/Faroe", "Atlantic/Jan_Mayen": "Europe/Berlin",
        "Australia/ACT": "Australia/Sydney", "Australia/Canberra": "Australia/Sydney", "Australia/Currie": "Australia/Hobart",
        "Australia/LHI": "Australia/Lord_Howe", "Australia/NSW": "Australia/Sydney", "Australia/North": "Australia/Darwin",
        "Australia/Queensland": "Australia/Brisbane", "Australia/South": "Australia/Adelaide", "Australia/Tasmania": "Australia/Hobart",
        "Australia/Victoria": "Australia/Melbourne", "Australia/West": "Australia/Perth", "Australia/Yancowinna": "Australia/Broken_Hill",
        "Brazil/Acre": "America/Rio_Branco", "Brazil/DeNoronha": "America/Noronha", "Brazil/East": "America/Sao_Paulo",
        "Brazil/West": "America/Manaus", "CET": "Europe/Brussels", "CST6CDT": "America/Chicago", "Canada/Atlantic": "America/Halifax",
        "Canada/Central": "America/Winnipeg", "Canada/Eastern": "America/Toronto", "Canada/Mountain": "America/Edmonton",
        "Canada/Newfoundland": "America/St_Johns", "Canada/Pacific": "America/Vancouver", "Canada/Saskatchewan": "America/Regina",
        "Canada/Yukon": "America/Whitehorse", "Chile/Continental": "America/Santiago", "Chile/EasterIsland": "Pacific/Easter",
        "Cuba": "America/Havana", "EET": "Europe/Athens", "EST": "America/Panama", "EST5EDT": "America/New_York", "Egypt": "Africa/Cairo",
        "Eire": "Europe/Dublin", "Etc/GMT": "UTC", "Etc/GMT+0": "UTC", "Etc/GMT-0": "UTC", "Etc/GMT0": "UTC", "Etc/Greenwich": "UTC",
        "Etc/UCT": "UTC", "Etc/UTC": "UTC", "Etc/Universal": "UTC", "Etc/Zulu": "UTC", "Europe/Belfast": "Europe/London",
        "Europe/Kiev": "Europe/Kyiv", "Europe/Nicosia": "Asia/Nicosia", "Europe/Tiraspol": "Europe/Chisinau",
        "Europe/Uzhgorod": "Europe/Kyiv", "Europe/Zaporozhye": "Europe/Kyiv", "GB": "Europe/London", "GB-Eire": "Europe/London",
        "GMT+0": "UTC", "GMT-0": "UTC", "GMT0": "UTC", "Greenwich": "UTC", "HST": "Pacific/Honolulu", "Hongkong": "Asia/Hong_Kong",
        "Iceland": "Africa/Abidjan", "Iran": "Asia/Tehran", "Israel": "Asia/Jerusalem", "Jamaica": "America/Jamaica", "Japan": "Asia/Tokyo",
        "Kwajalein": "Pacific/Kwajalein", "Libya": "Africa/Tripoli", "MET": "Europe/Brussels", "MST": "America/Phoenix",
        "MST7MDT": "America/Denver", "Mexico/BajaNorte": "America/Tijuana", "Mexico/BajaSur": "America/Mazatlan",
        "Mexico/General": "America/Mexico_City", "NZ": "Pacific/Auckland", "NZ-CHAT": "Pacific/Chatham", "Navajo": "America/Denver",
        "PRC": "Asia/Shanghai", "PST8PDT": "America/Los_Angeles", "Pacific/Enderbury": "Pacific/Kanton",
        "Pacific/Johnston": "Pacific/Honolulu", "Pacific/Ponape": "Pacific/Guadalcanal", "Pacific/Samoa": "Pacific/Pago_Pago",
        "Pacific/Truk": "Pacific/Port_Moresby", "Pacific/Yap": "Pacific/Port_Moresby", "Poland": "Europe/Warsaw", "Portugal": "Europe/Lisbon",
        "ROC": "Asia/Taipei", "ROK": "Asia/Seoul", "Singapore": "Asia/Singapore", "Turkey": "Europe/Istanbul", "UCT": "UTC",
        "US/Alaska": "America/Anchorage", "US/Aleutian": "America/Adak", "US/Arizona": "America/Phoenix", "US/Central": "America/Chicago",
        "US/East-Indiana": "America/Indiana/Indianapolis", "US/Eastern": "America/New_York", "US/Hawaii": "Pacific/Honolulu",
        "US/Indiana-Starke": "America/Indiana/Knox", "US/Michigan": "America/Detroit", "US/Mountain": "America/Denver",
        "US/Pacific": "America/Los_Angeles", "US/Samoa": "Pacific/Pago_Pago", "Universal": "UTC", "W-SU": "Europe/Moscow",
        "WET": "Europe/Lisbon", "Z": "UTC", "Zulu": "UTC"
    }'::jsonb;
END;
COMMENT ON FUNCTION fanfare.old_time_zones IS 'Former names of time zones, with their present names.';
GRANT EXECUTE ON FUNCTION fanfare.old_time_zones TO fanfare_author, fanfare_reader;

CREATE OR REPLACE FUNCTION fanfare.time_zone(name text) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    found text := fanfare.old_time_zones() ->> name;
    parts text[];
    minutes int;
BEGIN
    IF found IS NOT NULL AND fanfare.is_time_zone(found) THEN
        RETURN found;
    ELSIF fanfare.is_time_zone(name) THEN
        RETURN name;
    END IF;
    -- The server's zone data may be older than the phone's, and know only the former name.
    SELECT o.key INTO found FROM jsonb_each_text(fanfare.old_time_zones()) AS o
    WHERE o.value = time_zone.name AND fanfare.is_time_zone(o.key) ORDER BY o.key LIMIT 1;
    IF FOUND THEN
        RETURN found;
    END IF;
    -- Offsets that phones send for a zone without a name, positive to the east: GMT+0530, GMT+05:30, UTC-3.
    parts := regexp_match(name, '^(?:GMT|UTC)([+-])([0-9]{1,2})(?::?([0-9]{2}))?$');
    minutes := parts[2]::int * 60 + coalesce(parts[3], '0')::int;
    RETURN CASE
        WHEN minutes = 0 THEN 'UTC'
        WHEN minutes % 60 = 0 AND minutes <= CASE parts[1] WHEN '+' THEN 840 ELSE 720 END
            THEN format('Etc/GMT%s%s', translate(parts[1], '+-', '-+'), minutes / 60)
        -- Zones with such an offset and no daylight saving time.
        ELSE '{"+210": "Asia/Tehran", "+270": "Asia/Kabul", "+330": "Asia/Kolkata", "+345": "Asia/Kathmandu", "+390": "Asia/Yangon",
            "+525": "Australia/Eucla", "+570": "Australia/Darwin", "-570": "Pacific/Marquesas"}'::jsonb ->> (parts[1] || minutes) END;
END
$$;
COMMENT ON FUNCTION fanfare.time_zone IS
    'The name under which this server knows a time zone; the zone may be given by a former name, or as an offset such '
    'as GMT+0530. Null if it is unknown.';
GRANT EXECUTE ON FUNCTION fanfare.time_zone TO fanfare_author, fanfare_reader;

CREATE OR REPLACE FUNCTION fanfare.time_zone_error(name text) RETURNS text LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT format('%L is not a time zone that this server knows', left(name, 80)) || coalesce('; write ' || fanfare.time_zone(name), '');
END;
COMMENT ON FUNCTION fanfare.time_zone_error IS 'Why rules, campaigns and policies cannot use a zone that is_time_zone rejects.';
GRANT EXECUTE ON FUNCTION fanfare.time_zone_error TO fanfare_author, fanfare_reader;

-- In the spellings of providers: es, es-MX, zh_Hans_CN, en_US.UTF-8, de_DE@collation=phonebook, and Java's zh_TW_#Hant.
CREATE OR REPLACE FUNCTION fanfare.is_locale(locale text) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT octet_length(locale) <= 255 AND locale ~ '^[A-Za-z]{2,8}([_-]{1,2}#?[A-Za-z0-9]{1,8})*([.@][!-~]+)?$';
END;
COMMENT ON FUNCTION fanfare.is_locale IS 'Whether a text has the form of a locale that begins with a language.';

-- The kinds of tokens, as in a rule's `to.kind`.
CREATE OR REPLACE FUNCTION fanfare.token_kinds() RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT '{device,voip,live_activity,live_activity_start,complication,file_provider,location,push_to_talk,widget,control,mdm}'::text[];
END;
COMMENT ON FUNCTION fanfare.token_kinds IS 'The kinds of tokens.';

CREATE OR REPLACE FUNCTION fanfare.token_kinds_hint() RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT 'Use ' || regexp_replace(array_to_string(fanfare.token_kinds(), ', '), ', ([^,]*)$', ' or \1.');
END;

-- Apps register at FCM with a registration token or with their Firebase installation id (FID), and only the last of the
-- two works. The token begins with the FID and a colon. Google does not promise this, so it only finds the device whose
-- address changed, and which otherwise `replaces` would have to name. A FID is no secret as a token is: it never takes a
-- device of another user. Called for each new token, so its callers' settings apply, which saves 20 µs.
CREATE OR REPLACE FUNCTION fanfare.device_of_installation(app_id smallint, token text, address text, user_id text) RETURNS bigint
LANGUAGE plpgsql STABLE AS $$
DECLARE
    id_hash bytea;
BEGIN
    -- Plans made for an empty table are kept while thousands of devices are registered. So only the right index may fit:
    -- adding 0 keeps the planner from those that begin with the app, and a hash in a variable costs nothing to compare.
    IF address = 'fid' THEN
        -- Several tokens are left of an installation if FCM renewed them. The enabled and newest one is in use.
        RETURN (
            SELECT t.id FROM (
                SELECT d.id, d.disabled_at, d.user_id, d.registered_at FROM fanfare.devices AS d
                WHERE d.app_id + 0 = device_of_installation.app_id AND d.provider = 'fcm' AND d.address IS NULL AND strpos(d.token, ':') > 0
                    AND d.disabled_reason IS DISTINCT FROM 'reassigned'
                    AND left(split_part(d.token, ':', 1), 64) = left(device_of_installation.token, 64)
                    AND split_part(d.token, ':', 1) = device_of_installation.token
                LIMIT 100) AS t
            WHERE (t.user_id <> device_of_installation.user_id) IS NOT TRUE
            ORDER BY t.disabled_at IS NOT NULL, t.registered_at DESC, t.id DESC
            LIMIT 1);
    ELSIF strpos(token, ':') > 1 THEN
        id_hash := sha256(convert_to(split_part(device_of_installation.token, ':', 1), 'UTF8'));
        RETURN (
            SELECT d.id FROM fanfare.devices AS d
            WHERE d.app_id = device_of_installation.app_id AND d.provider = 'fcm' AND d.address = 'fid'
                AND d.token_hash = id_hash AND d.disabled_reason IS DISTINCT FROM 'reassigned' AND (d.user_id <> device_of_installation.user_id) IS NOT TRUE);
    END IF;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION fanfare.device_of_installation IS
    'The id of the device that FCM reaches by the other address of the same installation, or null.';

-- Another transaction may have registered the device for another user meanwhile, replaced its token, or registered the new
-- address: then nothing changes, and the caller looks again.
CREATE OR REPLACE FUNCTION fanfare.readdress(device_id bigint, app_id smallint, token text, hash bytea, address text, user_id text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
BEGIN
    PERFORM FROM fanfare.devices AS d WHERE d.id = readdress.device_id FOR NO KEY UPDATE;
    IF fanfare.device_of_installation(readdress.app_id, readdress.token, readdress.address, readdress.user_id) = readdress.device_id THEN
        UPDATE fanfare.devices AS d
        SET token = readdress.token, token_hash = readdress.hash, address = nullif(readdress.address, 'token')
        WHERE d.id = readdress.device_id;
    END IF;
EXCEPTION WHEN unique_violation THEN
    NULL;
END
$$;
COMMENT ON FUNCTION fanfare.readdress IS 'Gives a device the other address of its installation, if it is still the one to have it.';

-- Why a device cannot have this address, or, if is_note, why it is stored as a token. Some versions of Firebase's SDK
-- for Apple give an old registration token as the FID; FCM accepts it as a token only.
CREATE OR REPLACE FUNCTION fanfare.address_error(
    label text, fid_shape text, address text, token text, OUT reason text, OUT hint text, OUT is_note boolean)
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT e.words[1], e.words[2], e.words[3] IS NOT NULL
    FROM (SELECT CASE
        WHEN address IS NULL OR address = 'token' THEN NULL
        WHEN address <> 'fid' THEN ARRAY[format('unknown kind of address %L', left(address, 40)), 'Use token or fid.', NULL]
        WHEN fid_shape IS NULL THEN ARRAY[format('%s has no FIDs', label), 'Leave address out: only FCM has Firebase installation ids.', NULL]
        WHEN strpos(token, ':') > 0 THEN ARRAY['the FID has a colon and is a registration token, stored as such',
            'Use version 12.19 or newer of Firebase''s SDK for Apple, or call it a token.', 'note']
        WHEN token !~ fid_shape THEN ARRAY['this is not a Firebase installation id: it has other characters than a-z A-Z 0-9 - _',
            'Pass the FID exactly as onRegistered gives it.', NULL]
        END AS words) AS e;
END;
COMMENT ON FUNCTION fanfare.address_error IS 'Why no device can have this kind of address; null if there is no error.';

-- Why a device cannot have this permission or these presentations.
CREATE OR REPLACE FUNCTION fanfare.permission_error(permission text, presents text[], OUT field text, OUT reason text, OUT hint text)
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT e.words[1], e.words[2], e.words[3]
    FROM (SELECT CASE
        WHEN permission <> ALL ('{authorized,provisional,denied}') THEN ARRAY['permission',
            format('unknown permission %L', left(permission, 40)), 'Use authorized, provisional or denied, or none before the user was asked.']
        WHEN NOT presents <@ '{alert,badge,sound}' THEN ARRAY['presents',
            format('unknown presentation %s', (
                SELECT quote_nullable(left(p.name, 40)) FROM unnest(presents) AS p (name)
                WHERE coalesce(p.name NOT IN ('alert', 'badge', 'sound'), true) LIMIT 1)),
            'Use alert, badge and sound, or an empty list for none of them.']
        END AS words) AS e;
END;
COMMENT ON FUNCTION fanfare.permission_error IS 'Why no device can have this permission or these presentations; null if there is no error.';

-- Each presentation once, in one order, so that equal lists are stored equal.
CREATE OR REPLACE FUNCTION fanfare.presentations(presents text[]) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT CASE WHEN presents IS NOT NULL THEN ARRAY(SELECT DISTINCT p.name FROM unnest(presents) AS p (name) ORDER BY p.name) END;
END;

-- A filter of `to`: one word or a list of words; null for none.
CREATE OR REPLACE FUNCTION fanfare.filter_words(filter jsonb) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT CASE jsonb_typeof(filter) WHEN 'array' THEN ARRAY(SELECT jsonb_array_elements_text(filter)) WHEN 'string' THEN ARRAY[filter #>> '{}'] END;
END;

-- Planning compares the columns of a rule version instead.
CREATE OR REPLACE FUNCTION fanfare.is_permitted(permission text, presents text[], audience jsonb) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT coalesce(coalesce(permission, 'unknown') = ANY (fanfare.filter_words(audience -> 'permission')), true)
        AND coalesce(coalesce(presents, '{}') @> fanfare.filter_words(audience -> 'presents'), true);
END;
GRANT EXECUTE ON FUNCTION fanfare.filter_words TO fanfare_author;
COMMENT ON FUNCTION fanfare.is_permitted IS 'Whether a device passes the filters of an audience on permission and presentations.';

CREATE OR REPLACE FUNCTION fanfare.register_device(
    app text, provider text, token text, user_id text DEFAULT NULL, kind text DEFAULT 'device',
    environment text DEFAULT 'production', locale text DEFAULT NULL, time_zone text DEFAULT NULL, attributes jsonb DEFAULT NULL,
    p256dh text DEFAULT NULL, auth text DEFAULT NULL, replaces text DEFAULT NULL, address text DEFAULT NULL,
    permission text DEFAULT NULL, presents text[] DEFAULT NULL)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    label text;
    folds_case boolean;
    token_shape text;
    fid_shape text;
    has_p256dh boolean;
    auth_shape text;
    the_app smallint;
    the_target smallint;
    canonical text;
    canonical_old text;
    canonical_zone text;
    hash bytea;
    old_hash bytea;
    lacks_keys boolean;
    there record;
    problem record;
    device bigint;
    installation bigint;
    -- In REPEATABLE READ, the device that another transaction registered is never seen; the INSERT then says so.
    looks int := 0;
BEGIN
    SELECT p.label, p.folds_case, p.token_shape, p.fid_shape, p.has_p256dh, p.auth_shape, t.app_id, t.id
    INTO label, folds_case, token_shape, fid_shape, has_p256dh, auth_shape, the_app, the_target
    FROM fanfare.providers AS p
    LEFT JOIN fanfare.targets AS t
        ON t.app_id = (SELECT a.id FROM fanfare.apps AS a WHERE a.name = register_device.app)
        AND t.provider = p.name AND t.environment = register_device.environment AND t.native_key IS NULL
    WHERE p.name = register_device.provider;
    IF the_target IS NULL THEN
        the_app := fanfare.app_id_for(register_device.app);
        the_target := fanfare.target_id_for(the_app, register_device.provider, register_device.environment);
    END IF;
    canonical := CASE WHEN folds_case THEN lower(register_device.token) ELSE register_device.token END;
    hash := sha256(convert_to(canonical, 'UTF8'));
    -- A client that registers all providers by one statement may pass an empty text where a provider has no keys.
    IF '' IN (register_device.p256dh, register_device.auth) THEN
        p256dh := nullif(register_device.p256dh, '');
        auth := nullif(register_device.auth, '');
    END IF;
    IF fanfare.is_nothing(register_device.locale) THEN
        locale := NULL;
    END IF;
    IF fanfare.is_nothing(register_device.time_zone) THEN
        time_zone := NULL;
    END IF;
    IF fanfare.is_nothing(register_device.user_id) THEN
        user_id := fanfare.given(register_device.user_id, 'a user''s id', 'Pass none for a device that nobody has signed in on.');
    END IF;
    -- A renewal may omit the keys, since they are stored.
    lacks_keys := auth_shape IS NOT NULL AND register_device.p256dh IS NULL AND register_device.auth IS NULL;
    IF (octet_length(canonical) BETWEEN 1 AND 4096 AND canonical ~ token_shape AND NOT fanfare.is_nothing(canonical)
        AND lower(canonical) <> 'blacklisted' AND (lacks_keys
        OR CASE WHEN auth_shape IS NULL THEN register_device.auth IS NULL ELSE register_device.auth ~ auth_shape END
            AND CASE WHEN has_p256dh THEN fanfare.is_public_key(register_device.p256dh)
                ELSE register_device.p256dh IS NULL END)) IS NOT TRUE
    THEN
        PERFORM fanfare.check_device(register_device.provider, canonical, register_device.p256dh, register_device.auth);
    END IF;
    IF register_device.address IS NOT NULL THEN
        SELECT * INTO problem FROM fanfare.address_error(label, fid_shape, register_device.address, canonical);
        IF problem.is_note THEN
            RAISE NOTICE '%', problem.reason USING HINT = problem.hint;
            address := 'token';
        ELSIF problem.reason IS NOT NULL THEN
            RAISE EXCEPTION '%', problem.reason USING ERRCODE = '22023', HINT = problem.hint;
        END IF;
    END IF;
    IF num_nonnulls(register_device.permission, register_device.presents) > 0 THEN
        SELECT * INTO problem FROM fanfare.permission_error(register_device.permission, register_device.presents);
        IF problem.reason IS NOT NULL THEN
            RAISE EXCEPTION '%', problem.reason USING ERRCODE = '22023', HINT = problem.hint;
        END IF;
        presents := fanfare.presentations(register_device.presents);
    END IF;
    IF register_device.kind <> ALL (fanfare.token_kinds()) THEN
        RAISE EXCEPTION 'unknown kind of token %', quote_literal(left(register_device.kind, 40)) USING ERRCODE = '22023',
            HINT = fanfare.token_kinds_hint();
    END IF;
    IF jsonb_typeof(register_device.attributes) <> 'object' THEN
        RAISE EXCEPTION 'attributes must be a JSON object' USING ERRCODE = '22023', HINT = 'For example {"tier": "gold"}.';
    ELSIF octet_length(register_device.attributes::text) > 16384 THEN
        RAISE EXCEPTION 'the attributes have more than 16384 bytes' USING ERRCODE = '22023', HINT = 'Keep what rules and messages name.';
    END IF;
    -- A phone may know newer locales and zones than this server. The device is registered all the same.
    IF NOT fanfare.is_locale(register_device.locale) THEN
        RAISE NOTICE 'unknown locale %, registered without', quote_literal(left(register_device.locale, 40)) USING HINT = 'Pass es, es-MX or zh-Hans.';
        locale := NULL;
    END IF;
    IF register_device.time_zone IS NOT NULL THEN
        canonical_zone := fanfare.time_zone(register_device.time_zone);
        IF canonical_zone IS NULL THEN
            RAISE NOTICE 'unknown time zone %, registered without', quote_literal(left(register_device.time_zone, 40)) USING HINT = 'Pass a name such as Europe/Madrid.';
        END IF;
        time_zone := canonical_zone;
    END IF;

    -- A rotated token keeps its id, and with it its subscriptions.
    canonical_old := CASE WHEN folds_case THEN lower(register_device.replaces) ELSE register_device.replaces END;
    IF canonical_old <> canonical THEN
        old_hash := sha256(convert_to(canonical_old, 'UTF8'));
        UPDATE fanfare.devices AS d
        SET disabled_at = coalesce(d.disabled_at, clock_timestamp()), disabled_reason = 'reassigned'
        WHERE d.app_id = the_app AND d.provider = register_device.provider AND d.token_hash = hash
            AND d.disabled_reason IS DISTINCT FROM 'reassigned'
            AND EXISTS (SELECT FROM fanfare.devices AS o WHERE o.app_id = the_app AND o.provider = register_device.provider
                AND o.token_hash = old_hash AND o.disabled_reason IS DISTINCT FROM 'reassigned');
        UPDATE fanfare.devices AS d SET token = canonical, token_hash = hash,
            address = CASE WHEN register_device.address IS NOT NULL THEN nullif(register_device.address, 'token')
                WHEN canonical ~ fid_shape THEN d.address END
        WHERE d.app_id = the_app AND d.provider = register_device.provider
            AND d.token_hash = old_hash AND d.disabled_reason IS DISTINCT FROM 'reassigned';
        IF NOT FOUND AND NOT EXISTS (
            SELECT FROM fanfare.devices AS d WHERE d.app_id = the_app AND d.provider = register_device.provider AND d.token_hash = hash
                AND d.disabled_reason IS DISTINCT FROM 'reassigned')
        THEN
            RAISE NOTICE 'replaces: no device has this token, so a new device is registered'
                USING HINT = 'A device that has unregistered, or another app or provider, has it no more. Subscribe the new device to its topics.';
        ELSIF FOUND AND lacks_keys THEN
            -- The stored keys belong to the old endpoint.
            PERFORM fanfare.check_device(register_device.provider, canonical, NULL, NULL);
        END IF;
    END IF;

    LOOP
        SELECT d.id, d.user_id, d.p256dh, d.auth INTO there FROM fanfare.devices AS d
        WHERE d.app_id = the_app AND d.provider = register_device.provider AND d.token_hash = hash
            AND d.disabled_reason IS DISTINCT FROM 'reassigned'
        FOR NO KEY UPDATE;

        IF FOUND AND there.user_id <> register_device.user_id THEN
            -- Another user signed in on this device, and must not inherit the previous user's topics.
            UPDATE fanfare.devices AS d SET disabled_at = coalesce(d.disabled_at, clock_timestamp()), disabled_reason = 'reassigned'
            WHERE d.id = there.id;
            DELETE FROM fanfare.subscriptions AS s WHERE s.device_id = there.id;
        ELSIF FOUND THEN
            IF lacks_keys THEN
                PERFORM fanfare.check_device(register_device.provider, canonical, there.p256dh, there.auth);
            END IF;
            UPDATE fanfare.devices AS d
            SET target_id = the_target, kind = coalesce(register_device.kind, d.kind),
                user_id = coalesce(register_device.user_id, d.user_id), locale = coalesce(register_device.locale, d.locale),
                time_zone = coalesce(register_device.time_zone, d.time_zone), attributes = coalesce(register_device.attributes, d.attributes),
                p256dh = coalesce(register_device.p256dh, d.p256dh), auth = coalesce(register_device.auth, d.auth),
                address = CASE WHEN register_device.address IS NULL THEN d.address ELSE nullif(register_device.address, 'token') END,
                permission = coalesce(register_device.permission, d.permission), presents = coalesce(register_device.presents, d.presents),
                registered_at = clock_timestamp(), disabled_at = NULL, disabled_reason = NULL, doubted_by = NULL,
                reachable_since = CASE
                    WHEN d.disabled_at IS NULL AND d.user_id IS NOT DISTINCT FROM coalesce(register_device.user_id, d.user_id)
                        THEN coalesce(d.reachable_since, d.registered_at)
                    ELSE clock_timestamp() END
            WHERE d.id = there.id;
            RETURN there.id;
        ELSIF fid_shape IS NOT NULL AND looks < 3 THEN
            -- The app changed from tokens to FIDs, or back: the device keeps its id, and with it its subscriptions.
            installation := fanfare.device_of_installation(the_app, canonical, register_device.address, register_device.user_id);
            IF installation IS NOT NULL THEN
                looks := looks + 1;
                PERFORM fanfare.readdress(installation, the_app, canonical, hash, register_device.address, register_device.user_id);
                CONTINUE;
            END IF;
        END IF;

        IF lacks_keys THEN
            PERFORM fanfare.check_device(register_device.provider, canonical, NULL, NULL);
        END IF;
        INSERT INTO fanfare.devices (app_id, target_id, provider, kind, token, token_hash, user_id, locale, time_zone, attributes, p256dh, auth,
            address, permission, presents)
        VALUES (the_app, the_target, register_device.provider, coalesce(register_device.kind, 'device'), canonical, hash, register_device.user_id,
            register_device.locale, register_device.time_zone, register_device.attributes, register_device.p256dh, register_device.auth,
            nullif(register_device.address, 'token'), register_device.permission, register_device.presents)
        ON CONFLICT DO NOTHING
        RETURNING id INTO device;
        IF device IS NOT NULL THEN
            RETURN device;
        END IF;
        -- Another transaction registered the same token between the SELECT and the INSERT: retry.
    END LOOP;
END
$$;
COMMENT ON FUNCTION fanfare.register_device IS 'Registers a token or FID, or renews its registration, and returns the device''s id.';
GRANT EXECUTE ON FUNCTION fanfare.register_device TO fanfare_registrar;

-- The rows of an import, in the form in which register_device would store them, with what it would say. Only errors
-- refuse a row: one with an unknown locale or zone is registered without it. Its text has no quoted body and it has no
-- settings, so that its query becomes part of its caller's plan.
CREATE OR REPLACE FUNCTION fanfare.import_rows(app_id smallint, devices jsonb)
RETURNS TABLE (number bigint, provider text, token text, hash bytea, user_id text, kind text, environment text, locale text, time_zone text,
    attributes jsonb, p256dh text, auth text, topics jsonb, registered_at timestamptz, disabled_at timestamptz, disabled_reason text,
    address text, permission text, presents text[], has_p256dh boolean, has_fids boolean, lacks_keys boolean, target_id smallint, is_refused boolean, field text, reason text, hint text)
LANGUAGE sql STABLE
BEGIN ATOMIC
    WITH input AS MATERIALIZED (
        SELECT x.*
        FROM ROWS FROM (jsonb_to_recordset(devices) AS (provider text, token text, user_id text, kind text,
            environment text, locale text, time_zone text, attributes jsonb, p256dh text, auth text, topics jsonb,
            registered_at timestamptz, disabled_at timestamptz, disabled_reason text, address text, permission text, presents jsonb))
            WITH ORDINALITY
            AS x (provider, token, user_id, kind, environment, locale, time_zone, attributes, p256dh, auth, topics,
                registered_at, disabled_at, disabled_reason, address, permission, presents, number)
    ), zones AS MATERIALIZED (
        SELECT z.name, fanfare.time_zone(z.name) AS known FROM (SELECT DISTINCT i.time_zone AS name FROM input AS i) AS z
    ), rows AS (
        SELECT i.number, i.provider, c.token, CASE WHEN btrim(i.user_id, E' \t\r\n') <> '' THEN i.user_id END AS user_id,
            i.kind, i.environment, CASE WHEN NOT fanfare.is_nothing(i.locale) THEN i.locale END AS locale,
            CASE WHEN NOT fanfare.is_nothing(i.time_zone) THEN i.time_zone END AS time_zone, z.known AS known_zone, i.attributes,
            nullif(i.p256dh, '') AS p256dh, nullif(i.auth, '') AS auth, i.topics, i.registered_at, i.disabled_at, i.disabled_reason,
            i.address, i.permission, i.presents, p.label, p.token_shape, p.fid_shape, p.has_p256dh, p.auth_shape,
            p.auth_shape IS NOT NULL AND nullif(i.p256dh, '') IS NULL AND nullif(i.auth, '') IS NULL AS lacks_keys, t.id AS target_id
        FROM input AS i
        LEFT JOIN fanfare.providers AS p ON p.name = i.provider
        LEFT JOIN fanfare.targets AS t ON t.app_id = import_rows.app_id AND t.provider = i.provider
            AND t.environment = coalesce(i.environment, 'production') AND t.native_key IS NULL
        LEFT JOIN zones AS z ON z.name = i.time_zone
        CROSS JOIN LATERAL (SELECT CASE WHEN p.folds_case THEN lower(i.token) ELSE i.token END) AS c (token)
    )
    SELECT r.number, r.provider, r.token, sha256(convert_to(r.token, 'UTF8')), r.user_id, r.kind, r.environment,
        CASE WHEN fanfare.is_locale(r.locale) THEN r.locale END, CASE WHEN r.time_zone IS NOT NULL THEN r.known_zone END, r.attributes,
        r.p256dh, r.auth, r.topics, r.registered_at, r.disabled_at, r.disabled_reason, CASE WHEN NOT a.is_note THEN r.address ELSE 'token' END,
        r.permission, fanfare.presentations(n.presents), r.has_p256dh, r.fid_shape IS NOT NULL, r.lacks_keys, r.target_id,
        s.is_error, s.words[1], s.words[2], s.words[3]
    FROM rows AS r
    CROSS JOIN LATERAL fanfare.address_error(r.label, r.fid_shape, r.address, r.token) AS a
    CROSS JOIN LATERAL (SELECT CASE WHEN jsonb_typeof(r.presents) = 'array' THEN fanfare.filter_words(r.presents) END AS presents) AS n
    CROSS JOIN LATERAL fanfare.permission_error(r.permission, n.presents) AS q
    -- Field, reason and hint.
    CROSS JOIN LATERAL (SELECT CASE
        WHEN r.label IS NULL THEN ARRAY['provider', format('unknown provider %s', quote_nullable(left(r.provider, 40))),
            'Use one of ' || (SELECT string_agg(p.name, ', ' ORDER BY p.name) FROM fanfare.providers AS p) || '.']
        WHEN r.environment NOT IN ('production', 'sandbox') THEN ARRAY['environment',
            format('unknown environment %s', quote_literal(left(r.environment, 40))), 'Use production or sandbox.']
        WHEN (octet_length(r.token) BETWEEN 1 AND 4096 AND r.token ~ r.token_shape AND NOT fanfare.is_nothing(r.token)
            AND lower(r.token) <> 'blacklisted' AND (r.lacks_keys
            OR CASE WHEN r.auth_shape IS NULL THEN r.auth IS NULL ELSE r.auth ~ r.auth_shape END
                AND CASE WHEN r.has_p256dh THEN fanfare.is_public_key(r.p256dh) ELSE r.p256dh IS NULL END)) IS NOT TRUE
            THEN (SELECT ARRAY[CASE
                WHEN fanfare.is_token(r.provider, r.token) IS NOT TRUE OR fanfare.is_nothing(r.token) OR lower(r.token) = 'blacklisted'
                    THEN 'token'
                WHEN r.has_p256dh AND fanfare.is_public_key(r.p256dh) IS NOT TRUE OR NOT r.has_p256dh AND r.p256dh IS NOT NULL THEN 'p256dh'
                ELSE 'auth' END, f.reason, f.hint]
                FROM fanfare.device_error(r.provider, r.token, r.p256dh, r.auth) AS f)
        WHEN NOT a.is_note AND a.reason IS NOT NULL THEN ARRAY['address', a.reason, a.hint]
        WHEN q.reason IS NOT NULL THEN ARRAY[q.field, q.reason, q.hint]
        WHEN jsonb_typeof(r.presents) NOT IN ('array', 'null') THEN ARRAY['presents', 'presents must be a JSON array',
            'Use alert, badge and sound, or an empty list for none of them.']
        WHEN r.kind <> ALL (fanfare.token_kinds()) THEN ARRAY['kind',
            format('unknown kind of token %s', quote_literal(left(r.kind, 40))), fanfare.token_kinds_hint()]
        WHEN jsonb_typeof(r.attributes) <> 'object' THEN ARRAY['attributes', 'attributes must be a JSON object',
            'For example {"tier": "gold"}.']
        WHEN octet_length(r.attributes::text) > 16384 THEN ARRAY['attributes',
            'the attributes have more than 16384 bytes', 'Keep what rules and messages name.']
        WHEN fanfare.is_nothing(r.user_id) THEN ARRAY['user_id', format('a user''s id cannot be %s', quote_literal(r.user_id)),
            'Programs write that where they have no value. Leave it empty for a device that nobody has signed in on.']
        WHEN octet_length(r.user_id) > 2048 THEN ARRAY['user_id', 'the user''s id is longer than 2048 bytes',
            'Pass the id that events name.']
        WHEN jsonb_typeof(r.topics) <> 'array' THEN ARRAY['topics', 'topics must be a JSON array', 'For example ["news", "sport"].']
        WHEN EXISTS (SELECT FROM jsonb_array_elements(r.topics) AS e (topic)
            WHERE jsonb_typeof(e.topic) <> 'string' OR NOT fanfare.is_topic(e.topic #>> '{}') OR fanfare.is_nothing(e.topic #>> '{}'))
            THEN ARRAY['topics', 'there can be no such topic', 'Use 1 to 900 of the characters a-z A-Z 0-9 - _ . ~ %.']
        WHEN r.disabled_reason = 'reassigned' OR r.disabled_at IS NOT NULL AND r.disabled_reason IS NULL THEN ARRAY['disabled_reason',
            'what is disabled has a reason, which is not that another user has the token', 'Leave out rows whose token another row has.']
        END AS error, CASE
        WHEN a.is_note THEN ARRAY['address', a.reason, a.hint]
        WHEN NOT fanfare.is_locale(r.locale) THEN ARRAY['locale',
            format('unknown locale %s, registered without', quote_literal(left(r.locale, 40))), 'Pass es, es-MX or zh-Hans.']
        WHEN r.time_zone IS NOT NULL AND r.known_zone IS NULL THEN ARRAY['time_zone',
            format('unknown time zone %s, registered without', quote_literal(left(r.time_zone, 40))), 'Pass a name such as Europe/Madrid.']
        END AS note OFFSET 0) AS e
    CROSS JOIN LATERAL (
        SELECT e.error[2] IS NOT NULL AS is_error, CASE WHEN e.error[2] IS NULL THEN coalesce(e.note, e.error) ELSE e.error END AS words
    ) AS s;
END;
COMMENT ON FUNCTION fanfare.import_rows IS
    'The rows that import_devices is given, each with an error, or with what is left out of it.';

-- Except of devices whose token went to a later row.
CREATE OR REPLACE FUNCTION fanfare.import_topics(devices bigint[], topics text[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO fanfare.topics (name)
    SELECT DISTINCT n FROM unnest(import_topics.topics) AS n WHERE NOT EXISTS (SELECT FROM fanfare.topics AS t WHERE t.name = n)
    ORDER BY n
    ON CONFLICT (name) DO NOTHING;
    INSERT INTO fanfare.subscriptions (topic_id, device_id)
    SELECT t.id, s.device
    FROM unnest(import_topics.devices, import_topics.topics) AS s (device, topic)
    JOIN fanfare.topics AS t ON t.name = s.topic
    CROSS JOIN LATERAL (SELECT d.disabled_reason FROM fanfare.devices AS d WHERE d.id = s.device OFFSET 0) AS d
    WHERE d.disabled_reason IS DISTINCT FROM 'reassigned'
    ORDER BY t.id, s.device
    ON CONFLICT DO NOTHING;
END
$$;
COMMENT ON FUNCTION fanfare.import_topics IS 'Subscribes each imported device to the topic beside it.';

-- Imports another system's devices in bulk. It works as register_device, except that a row may state when it was
-- registered, and that an error in one row is returned and not raised.
--
-- Registrations made here take precedence: a row that is older than the stored device changes nothing, and does not
-- enable a device that was disabled since. A row without a time counts as older than every registration by an app: if
-- it counted as new, a token that APNs reported dead as of an earlier time would be taken for alive again.
CREATE OR REPLACE FUNCTION fanfare.import_devices(app text, devices jsonb, dry_run boolean DEFAULT false)
RETURNS TABLE (number bigint, outcome text, field text, reason text, hint text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_variable
DECLARE
    the_app smallint;
    the_target smallint;
    r record;
    there record;
    is_there boolean;
    has_moved boolean;
    the_address text;
    since timestamptz;
    ended timestamptz;
    device bigint;
    named text[];
    topics text[] := '{}';
    subscribers bigint[] := '{}';
BEGIN
    the_app := CASE WHEN dry_run THEN (SELECT a.id FROM fanfare.apps AS a WHERE a.name = import_devices.app)
        ELSE fanfare.app_id_for(import_devices.app) END;
    FOR r IN SELECT i.* FROM fanfare.import_rows(the_app, import_devices.devices) AS i ORDER BY i.number LOOP
        SELECT r.number, CASE WHEN r.is_refused THEN 'refused' END, r.field, r.reason, r.hint INTO number, outcome, field, reason, hint;
        IF r.is_refused THEN
            RETURN NEXT;
            CONTINUE;
        END IF;
        -- least() ignores nulls.
        since := CASE WHEN r.registered_at IS NULL THEN 'epoch' ELSE least(r.registered_at, clock_timestamp()) END;
        ended := CASE WHEN r.disabled_reason IS NOT NULL THEN coalesce(r.disabled_at, since) END;

        LOOP
            -- 1. The stored device.
            IF dry_run THEN
                SELECT d.* INTO there FROM fanfare.devices AS d
                WHERE d.app_id = the_app AND d.provider = r.provider AND d.token_hash = r.hash
                    AND d.disabled_reason IS DISTINCT FROM 'reassigned';
            ELSE
                SELECT d.* INTO there FROM fanfare.devices AS d
                WHERE d.app_id = the_app AND d.provider = r.provider AND d.token_hash = r.hash
                    AND d.disabled_reason IS DISTINCT FROM 'reassigned'
                FOR NO KEY UPDATE;
                the_target := coalesce(r.target_id, fanfare.target_id_for(the_app, r.provider, coalesce(r.environment, 'production')));
            END IF;
            is_there := FOUND;
            IF NOT is_there AND r.has_fids THEN
                device := fanfare.device_of_installation(the_app, r.token, r.address, r.user_id);
                IF device IS NOT NULL AND NOT dry_run THEN
                    PERFORM FROM fanfare.devices AS d WHERE d.id = device FOR NO KEY UPDATE;
                    -- Another transaction changed the device meanwhile.
                    CONTINUE WHEN fanfare.device_of_installation(the_app, r.token, r.address, r.user_id) IS DISTINCT FROM device;
                END IF;
                SELECT d.* INTO there FROM fanfare.devices AS d WHERE d.id = device;
                is_there := FOUND;
            END IF;
            device := there.id;
            has_moved := is_there AND there.user_id <> r.user_id;

            the_address := CASE WHEN r.address IS NULL AND there.token = r.token THEN there.address ELSE nullif(r.address, 'token') END;

            -- 2. What becomes of the row. The stored device takes precedence over some rows.
            outcome := CASE
                WHEN NOT is_there THEN CASE WHEN r.lacks_keys THEN 'refused' ELSE 'new' END
                WHEN there.registered_at > since THEN 'older'
                WHEN there.disabled_at >= since AND ended IS DISTINCT FROM there.disabled_at THEN 'ended'
                WHEN there.disabled_at IS NULL AND ended IS NOT NULL THEN 'alive'
                WHEN r.lacks_keys AND (has_moved OR there.auth IS NULL) THEN 'refused'
                WHEN has_moved THEN 'updated'
                WHEN (CASE WHEN r.environment IS NULL THEN there.target_id ELSE r.target_id END,
                        coalesce(r.kind, there.kind), coalesce(r.user_id, there.user_id), coalesce(r.locale, there.locale),
                        coalesce(r.time_zone, there.time_zone), coalesce(r.attributes, there.attributes),
                        coalesce(r.p256dh, there.p256dh), coalesce(r.auth, there.auth), ended, r.token, the_address,
                        coalesce(r.permission, there.permission), coalesce(r.presents, there.presents))
                    IS NOT DISTINCT FROM (there.target_id, there.kind, there.user_id, there.locale, there.time_zone, there.attributes,
                        there.p256dh, there.auth, there.disabled_at, there.token, there.address, there.permission, there.presents)
                    THEN 'unchanged'
                ELSE 'updated' END;
            IF outcome = 'refused' THEN
                field := CASE WHEN r.has_p256dh THEN 'p256dh' ELSE 'auth' END;
                SELECT f.reason, f.hint INTO reason, hint FROM fanfare.device_error(r.provider, r.token, NULL, NULL) AS f;
            END IF;
            EXIT WHEN dry_run OR outcome IN ('older', 'ended', 'alive', 'refused');

            -- 3. Rows that update the device, or confirm it, or make one.
            IF has_moved THEN
                device := fanfare.register_device(import_devices.app, r.provider, r.token, r.user_id, coalesce(r.kind, 'device'),
                    coalesce(r.environment, 'production'), r.locale, r.time_zone, r.attributes, r.p256dh, r.auth, address => r.address,
                    permission => r.permission, presents => r.presents);
                UPDATE fanfare.devices AS d SET registered_at = since, disabled_at = ended, disabled_reason = r.disabled_reason
                WHERE d.id = device;
                EXIT;
            ELSIF is_there THEN
                IF there.token <> r.token THEN
                    PERFORM fanfare.readdress(device, the_app, r.token, r.hash, r.address, r.user_id);
                    -- The address was registered meanwhile.
                    CONTINUE WHEN NOT EXISTS (SELECT FROM fanfare.devices AS d WHERE d.id = device AND d.token = r.token);
                END IF;
                IF outcome = 'updated' OR there.registered_at < since THEN
                    UPDATE fanfare.devices AS d
                    SET target_id = CASE WHEN r.environment IS NULL THEN d.target_id ELSE the_target END, kind = coalesce(r.kind, d.kind),
                        user_id = coalesce(r.user_id, d.user_id), locale = coalesce(r.locale, d.locale),
                        time_zone = coalesce(r.time_zone, d.time_zone), attributes = coalesce(r.attributes, d.attributes),
                        p256dh = coalesce(r.p256dh, d.p256dh), auth = coalesce(r.auth, d.auth), registered_at = since,
                        address = the_address, permission = coalesce(r.permission, d.permission), presents = coalesce(r.presents, d.presents),
                        disabled_at = ended, disabled_reason = r.disabled_reason
                    WHERE d.id = device;
                END IF;
                EXIT;
            END IF;
            INSERT INTO fanfare.devices (app_id, target_id, provider, kind, token, token_hash, user_id, locale, time_zone, attributes,
                p256dh, auth, registered_at, disabled_at, disabled_reason, address, permission, presents)
            VALUES (the_app, the_target, r.provider, coalesce(r.kind, 'device'), r.token, r.hash, r.user_id, r.locale, r.time_zone,
                r.attributes, r.p256dh, r.auth, since, ended, r.disabled_reason, the_address, r.permission, r.presents)
            ON CONFLICT DO NOTHING
            RETURNING id INTO device;
            EXIT WHEN device IS NOT NULL;
            -- Another transaction registered the same token between the SELECT and the INSERT: retry.
        END LOOP;

        IF outcome IN ('new', 'updated', 'unchanged') AND r.topics <> '[]' THEN
            named := ARRAY(SELECT jsonb_array_elements_text(r.topics));
            topics := topics || named;
            subscribers := subscribers || array_fill(device, ARRAY[cardinality(named)]);
        END IF;
        RETURN NEXT;
    END LOOP;
    IF topics <> '{}' AND NOT dry_run THEN
        PERFORM fanfare.import_topics(subscribers, topics);
    END IF;
END
$$;
COMMENT ON FUNCTION fanfare.import_devices IS
    'Registers another system''s devices in bulk, and returns for each row whether it was new, updated, unchanged or '
    'refused, or conflicts with the stored device: that is newer, was disabled here, or is enabled here while the row '
    'says it is disabled.';
GRANT EXECUTE ON FUNCTION fanfare.import_devices TO fanfare_registrar;

-- Stores how far a file has been imported, in the transaction that imported up to there.
CREATE OR REPLACE FUNCTION fanfare.note_import(app text, fingerprint bytea, file text, place bigint, line bigint, counts jsonb, finished boolean)
RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    INSERT INTO fanfare.imports AS i (app, fingerprint, file, place, line, counts, finished_at)
    VALUES (note_import.app, note_import.fingerprint, note_import.file, note_import.place, note_import.line, note_import.counts,
        CASE WHEN note_import.finished THEN clock_timestamp() END)
    ON CONFLICT (app, fingerprint) DO UPDATE
    SET file = excluded.file, place = excluded.place, line = excluded.line, counts = excluded.counts, finished_at = excluded.finished_at,
        noted_at = clock_timestamp();
END;
COMMENT ON FUNCTION fanfare.note_import IS 'Stores how far a file has been imported.';
GRANT EXECUTE ON FUNCTION fanfare.note_import TO fanfare_registrar;

-- Stores how far a change of one of FCM's own topics has come. With device 0 it begins anew.
CREATE OR REPLACE FUNCTION fanfare.note_topic_change(app text, operation text, topic text, fingerprint bytea, device_id bigint,
    counts jsonb, finished boolean)
RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    -- What this change begins to undo has to begin anew, too.
    DELETE FROM fanfare.topic_changes AS c
    WHERE note_topic_change.device_id = 0 AND c.app = note_topic_change.app AND c.topic = note_topic_change.topic
        AND c.operation <> note_topic_change.operation;
    -- One reading of the clock, so that a change that has only begun was noted when it started.
    INSERT INTO fanfare.topic_changes AS c (app, operation, topic, fingerprint, device_id, counts, started_at, noted_at, finished_at)
    SELECT note_topic_change.app, note_topic_change.operation, note_topic_change.topic, note_topic_change.fingerprint,
        note_topic_change.device_id, note_topic_change.counts, clock.now, clock.now,
        CASE WHEN note_topic_change.finished THEN clock.now END
    FROM clock_timestamp() AS clock (now)
    ON CONFLICT ON CONSTRAINT topic_changes_pkey DO UPDATE
    SET device_id = excluded.device_id, counts = excluded.counts, noted_at = excluded.noted_at, finished_at = excluded.finished_at,
        started_at = CASE WHEN excluded.device_id = 0 THEN excluded.started_at ELSE c.started_at END;
END;
COMMENT ON FUNCTION fanfare.note_topic_change IS 'Stores how far a change of one of FCM''s own topics has come.';
GRANT EXECUTE ON FUNCTION fanfare.note_topic_change TO fanfare_daemon;

CREATE OR REPLACE FUNCTION fanfare.device_id(app text, provider text, token text) RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off
BEGIN ATOMIC
    SELECT d.id FROM fanfare.devices AS d
    WHERE d.app_id = (SELECT a.id FROM fanfare.apps AS a WHERE a.name = device_id.app) AND d.provider = device_id.provider
        AND d.token_hash = (
            SELECT sha256(convert_to(CASE WHEN p.folds_case THEN lower(device_id.token) ELSE device_id.token END, 'UTF8'))
            FROM fanfare.providers AS p WHERE p.name = device_id.provider)
        AND d.disabled_reason IS DISTINCT FROM 'reassigned';
END;
COMMENT ON FUNCTION fanfare.device_id IS 'The id of the device that holds this token, or null.';
GRANT EXECUTE ON FUNCTION fanfare.device_id TO fanfare_registrar;

CREATE OR REPLACE FUNCTION fanfare.unregister_device(app text, provider text, token text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
BEGIN
    UPDATE fanfare.devices AS d SET disabled_at = clock_timestamp(), disabled_reason = 'unregistered'
    WHERE d.app_id = (SELECT a.id FROM fanfare.apps AS a WHERE a.name = unregister_device.app)
        AND d.provider = unregister_device.provider AND d.disabled_at IS NULL AND d.disabled_reason IS DISTINCT FROM 'reassigned'
        AND d.token_hash = (
            SELECT sha256(convert_to(
                CASE WHEN p.folds_case THEN lower(unregister_device.token) ELSE unregister_device.token END, 'UTF8'))
            FROM fanfare.providers AS p WHERE p.name = unregister_device.provider);
    RETURN FOUND;
END
$$;
COMMENT ON FUNCTION fanfare.unregister_device(text, text, text) IS
    'Disables the device that holds this token; true if an enabled one was found.';
GRANT EXECUTE ON FUNCTION fanfare.unregister_device(text, text, text) TO fanfare_registrar;

CREATE OR REPLACE FUNCTION fanfare.unregister_device(app text, device_id bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
BEGIN
    UPDATE fanfare.devices AS d SET disabled_at = clock_timestamp(), disabled_reason = 'unregistered'
    WHERE d.id = unregister_device.device_id AND d.disabled_at IS NULL
        AND d.app_id = (SELECT a.id FROM fanfare.apps AS a WHERE a.name = unregister_device.app);
    RETURN FOUND;
END
$$;
COMMENT ON FUNCTION fanfare.unregister_device(text, bigint) IS 'Disables this device of the app; true if it was enabled.';
GRANT EXECUTE ON FUNCTION fanfare.unregister_device(text, bigint) TO fanfare_registrar;

CREATE OR REPLACE FUNCTION fanfare.subscribe(device_ids bigint[], topic text) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    the_topic int;
    changed bigint;
BEGIN
    SELECT id INTO the_topic FROM fanfare.topics WHERE name = subscribe.topic;
    IF the_topic IS NULL THEN
        PERFORM fanfare.given(subscribe.topic, 'a topic''s name', 'Pass the topic that rules name.');
        IF fanfare.is_topic(subscribe.topic) IS NOT TRUE THEN
            RAISE EXCEPTION 'no topic can be called %', quote_nullable(left(subscribe.topic, 80))
                USING ERRCODE = '22023', HINT = 'Use 1 to 900 of the characters a-z A-Z 0-9 - _ . ~ %.';
        END IF;
        INSERT INTO fanfare.topics (name) VALUES (subscribe.topic) ON CONFLICT (name) DO NOTHING;
        SELECT id INTO STRICT the_topic FROM fanfare.topics WHERE name = subscribe.topic;
    END IF;
    -- OFFSET makes the planner look up each device; as an anti-join it could scan all devices.
    IF EXISTS (SELECT FROM unnest(subscribe.device_ids) AS d WHERE NOT EXISTS (SELECT FROM fanfare.devices AS x WHERE x.id = d OFFSET 0)) THEN
        RAISE EXCEPTION 'there is no such device'
            USING ERRCODE = '22023', HINT = 'Pass ids that register_device or device_id returned.';
    END IF;
    INSERT INTO fanfare.subscriptions (topic_id, device_id)
    SELECT the_topic, d FROM unnest(subscribe.device_ids) AS d WHERE d IS NOT NULL ORDER BY d
    ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS changed = ROW_COUNT;
    RETURN changed;
END
$$;
COMMENT ON FUNCTION fanfare.subscribe(bigint[], text) IS 'Subscribes devices to a topic; returns how many were not subscribed before.';
GRANT EXECUTE ON FUNCTION fanfare.subscribe(bigint[], text) TO fanfare_registrar;

CREATE OR REPLACE FUNCTION fanfare.subscribe(device_id bigint, topic text) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT fanfare.subscribe(ARRAY[device_id], topic);
END;
COMMENT ON FUNCTION fanfare.subscribe(bigint, text) IS 'Subscribes a device to a topic; 1 if it was not subscribed before, else 0.';
GRANT EXECUTE ON FUNCTION fanfare.subscribe(bigint, text) TO fanfare_registrar;

CREATE OR REPLACE FUNCTION fanfare.unsubscribe(device_ids bigint[], topic text) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    the_topic int := (SELECT t.id FROM fanfare.topics AS t WHERE t.name = unsubscribe.topic);
    changed bigint;
BEGIN
    -- With device_id = ANY (…), a plan made for a small topic scans all of the topic. Rows of this table are never
    -- updated.
    DELETE FROM fanfare.subscriptions AS s
    WHERE s.ctid = ANY (ARRAY(
        SELECT found.ctid FROM unnest(unsubscribe.device_ids) AS d (id)
        CROSS JOIN LATERAL (SELECT x.ctid FROM fanfare.subscriptions AS x WHERE x.topic_id = the_topic AND x.device_id = d.id OFFSET 0) AS found));
    GET DIAGNOSTICS changed = ROW_COUNT;
    RETURN changed;
END
$$;
COMMENT ON FUNCTION fanfare.unsubscribe(bigint[], text) IS 'Ends the devices'' subscriptions to a topic; returns how many were ended.';
GRANT EXECUTE ON FUNCTION fanfare.unsubscribe(bigint[], text) TO fanfare_registrar;

CREATE OR REPLACE FUNCTION fanfare.unsubscribe(device_id bigint, topic text) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT fanfare.unsubscribe(ARRAY[device_id], topic);
END;
COMMENT ON FUNCTION fanfare.unsubscribe(bigint, text) IS 'Ends a device''s subscription to a topic; 1 if there was one, else 0.';
GRANT EXECUTE ON FUNCTION fanfare.unsubscribe(bigint, text) TO fanfare_registrar;

CREATE OR REPLACE FUNCTION fanfare.users_rules(app_id smallint) RETURNS TABLE (event_type text, path jsonpath)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT DISTINCT ON (v.event_type, v.audience_path::text) v.event_type, v.audience_path FROM fanfare.rule_versions AS v
    WHERE v.app_id = users_rules.app_id AND v.audience = 'users' AND v.state = 'active' AND v.retired_at IS NULL AND v.enabled;
END;
COMMENT ON FUNCTION fanfare.users_rules IS 'The event types for which rules of an app name users in the payload, and where.';
GRANT EXECUTE ON FUNCTION fanfare.users_rules TO fanfare_reader;

CREATE OR REPLACE FUNCTION fanfare.named_users(payload jsonb, path jsonpath) RETURNS text[] LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT ARRAY(SELECT DISTINCT u.item #>> '{}' FROM jsonb_path_query(payload, path, '{}', true) AS u (item)
        WHERE jsonb_typeof(u.item) IN ('string', 'number', 'boolean') AND NOT fanfare.is_nothing(u.item #>> '{}') ORDER BY 1);
END;
COMMENT ON FUNCTION fanfare.named_users IS 'The users that a payload names at a path, each once.';
GRANT EXECUTE ON FUNCTION fanfare.named_users TO fanfare_reader;

-- Reads all scheduled rows of the types that such rules take, about a second for a million: an index by user would cost
-- every row more than the rest of it.
CREATE OR REPLACE FUNCTION fanfare.forget_scheduled(app_id smallint, user_id text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    DELETE FROM fanfare.scheduled AS s
    WHERE EXISTS (SELECT FROM fanfare.users_rules(forget_scheduled.app_id) AS r
        WHERE r.event_type = s.type AND fanfare.named_users(s.payload, r.path) = ARRAY[forget_scheduled.user_id]);
END
$$;
COMMENT ON FUNCTION fanfare.forget_scheduled IS 'Deletes the scheduled events that rules of an app would send to one user only.';

CREATE OR REPLACE FUNCTION fanfare.forget_touches(app text, user_id text) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
DELETE FROM fanfare.touches AS t
WHERE t.path_id = ANY (ARRAY(SELECT p.id FROM fanfare.value_paths AS p)) AND t.person = hashtextextended($2, 0)
    AND t.app_id = (SELECT a.id FROM fanfare.apps AS a WHERE a.name = $1)
$$;
COMMENT ON FUNCTION fanfare.forget_touches IS 'Deletes the pushes that a user opened, so that no conversion is credited to them.';

CREATE OR REPLACE FUNCTION fanfare.forget_user(app text, user_id text) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    forgotten bigint[];
BEGIN
    -- Words for a missing value are accepted, because a user may have been registered under one before Fanfare refused
    -- it.
    IF btrim(forget_user.user_id, E' \t\r\n') = '' THEN
        RAISE EXCEPTION 'the user''s id is empty' USING ERRCODE = '22023', HINT = 'Pass the id that the user''s devices are registered with.';
    END IF;
    -- Locked in the order in which take_reports locks them. What it and fold_reports store of the devices is deleted below: they
    -- commit first, or find no device.
    PERFORM FROM fanfare.devices AS d
    WHERE d.app_id = (SELECT a.id FROM fanfare.apps AS a WHERE a.name = forget_user.app) AND d.user_id = forget_user.user_id
    ORDER BY d.id FOR UPDATE;
    WITH gone AS (
        DELETE FROM fanfare.devices AS d
        WHERE d.app_id = (SELECT a.id FROM fanfare.apps AS a WHERE a.name = forget_user.app) AND d.user_id = forget_user.user_id
        RETURNING d.id
    )
    SELECT coalesce(array_agg(g.id), '{}') INTO forgotten FROM gone AS g;
    DELETE FROM fanfare.retracted_devices AS x WHERE x.device_id = ANY (forgotten);
    DELETE FROM fanfare.report_actions AS x WHERE x.device_id = ANY (forgotten);
    DELETE FROM fanfare.reporting_devices AS x WHERE x.device_id = ANY (forgotten);
    DELETE FROM fanfare.report_rates AS r
    WHERE r.app_id = (SELECT a.id FROM fanfare.apps AS a WHERE a.name = forget_user.app) AND r.user_id = forget_user.user_id;
    PERFORM fanfare.forget_touches(forget_user.app, forget_user.user_id);
    DELETE FROM fanfare.untracked_users AS u
    WHERE u.app_id = (SELECT a.id FROM fanfare.apps AS a WHERE a.name = forget_user.app) AND u.user_id = forget_user.user_id;
    DELETE FROM fanfare.audiences AS u USING fanfare.runs AS o, fanfare.campaigns AS c, fanfare.apps AS a
    WHERE a.name = forget_user.app AND c.app_id = a.id AND o.campaign_id = c.id AND (o.state IN ('running', 'aborting') OR o.test_users IS NOT NULL)
        AND u.event_id = o.event_id AND u.bucket = fanfare.bucket(fanfare.audience_seed(o.event_id), forget_user.user_id)
        AND u.user_id = forget_user.user_id;
    DELETE FROM fanfare.preferences AS p
    WHERE p.app_id = (SELECT a.id FROM fanfare.apps AS a WHERE a.name = forget_user.app) AND p.user_id = forget_user.user_id;
    DELETE FROM fanfare.cap_grants AS g
    WHERE g.app_id = (SELECT a.id FROM fanfare.apps AS a WHERE a.name = forget_user.app) AND g.user_id = forget_user.user_id;
    PERFORM fanfare.forget_scheduled(a.id, forget_user.user_id) FROM fanfare.apps AS a WHERE a.name = forget_user.app;
    RETURN cardinality(forgotten);
END
$$;
COMMENT ON FUNCTION fanfare.forget_user IS
    'Deletes a user''s devices and their subscriptions, preferences, cap counts and the scheduled events that name no other '
    'user; returns how many devices. Ids left in the logs then refer to no known user.';
GRANT EXECUTE ON FUNCTION fanfare.forget_user TO fanfare_registrar;

CREATE OR REPLACE FUNCTION fanfare.check_preference(user_id text, category text) RETURNS void
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF coalesce(octet_length(user_id), 0) NOT BETWEEN 1 AND 2048 OR fanfare.is_nothing(user_id) THEN
        RAISE EXCEPTION 'user_id: %', CASE WHEN octet_length(user_id) > 2048 THEN 'is longer than 2048 bytes' ELSE 'names nobody' END
            USING ERRCODE = '22023', HINT = 'Pass the id that the user''s devices are registered with.';
    ELSIF (category = '*' OR fanfare.is_label(category)) IS NOT TRUE THEN
        RAISE EXCEPTION 'category: there can be none called %', quote_nullable(left(category, 80)) USING ERRCODE = '22023',
            HINT = 'Use 1 to 64 letters, digits, "_", "." and "-", beginning with a letter or digit, or * for all categories.';
    END IF;
END
$$;

CREATE OR REPLACE FUNCTION fanfare.set_preference(app text, user_id text, category text, opted_out boolean) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_column
BEGIN
    PERFORM fanfare.check_preference(set_preference.user_id, set_preference.category);
    IF set_preference.opted_out IS NULL THEN
        RAISE EXCEPTION 'opted_out: is null' USING ERRCODE = '22023', HINT = 'Pass true to stop the category''s pushes, false to let them come.';
    END IF;
    INSERT INTO fanfare.preferences AS p (app_id, user_id, category, opted_out)
    VALUES (fanfare.app_id_for(set_preference.app), set_preference.user_id, set_preference.category, set_preference.opted_out)
    ON CONFLICT (app_id, user_id, category) DO UPDATE SET opted_out = excluded.opted_out, xid = excluded.xid
    WHERE p.opted_out <> excluded.opted_out;
END
$$;
COMMENT ON FUNCTION fanfare.set_preference IS 'Sets whether a user is opted out of a category on all devices; * stands for all categories.';
GRANT EXECUTE ON FUNCTION fanfare.set_preference TO fanfare_registrar;

CREATE OR REPLACE FUNCTION fanfare.snooze(app text, user_id text, until timestamptz, category text DEFAULT '*') RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_column
BEGIN
    PERFORM fanfare.check_preference(snooze.user_id, snooze.category);
    IF NOT isfinite(snooze.until) THEN
        RAISE EXCEPTION 'until: never ends' USING ERRCODE = '22023',
            HINT = 'Pass a time, or null to end a snooze; fanfare.set_preference stops a category for good.';
    END IF;
    INSERT INTO fanfare.preferences AS p (app_id, user_id, category, snoozed_until)
    VALUES (fanfare.app_id_for(snooze.app), snooze.user_id, snooze.category, snooze.until)
    ON CONFLICT (app_id, user_id, category) DO UPDATE SET snoozed_until = excluded.snoozed_until, xid = excluded.xid
    WHERE p.snoozed_until IS DISTINCT FROM excluded.snoozed_until;
END
$$;
COMMENT ON FUNCTION fanfare.snooze IS 'Snoozes a category, or all categories, for a user until a time; null ends the snooze.';
GRANT EXECUTE ON FUNCTION fanfare.snooze TO fanfare_registrar;

-- ---------------------------------------------------------------------------------------------------------------
-- 19. Functions: rules
-- ---------------------------------------------------------------------------------------------------------------

-- The errors in a jsonpath that PostgreSQL alone can find; no reason if there are none. Evaluated without `silent`,
-- which would hide "no predicate" (22038) and undefined variables (42704). Templates of .datetime("…") are parsed only
-- when there is a value, and then raise an error (22007) even in silent mode.
CREATE OR REPLACE FUNCTION fanfare.path_error(path text, is_predicate boolean, OUT reason text, OUT hint text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF is_predicate THEN
        PERFORM jsonb_path_match_tz('{}', path::jsonpath);
    ELSE
        PERFORM jsonb_path_query_array_tz('{}', path::jsonpath, '{}', true);
    END IF;
    PERFORM jsonb_path_query_array_tz('"x"', ('$.datetime(' || template[1] || ')')::jsonpath, '{}', true)
    FROM regexp_matches(path, E'\\.\\s*datetime\\s*\\(\\s*("(?:[^"\\\\]|\\\\.)*")\\s*\\)', 'g') AS template;
EXCEPTION
    WHEN SQLSTATE '22038' THEN
        reason := 'is not a predicate';
        hint := 'compare something, as in $.total > 10';
    WHEN data_exception OR syntax_error_or_access_rule_violation OR feature_not_supported OR program_limit_exceeded THEN
        GET STACKED DIAGNOSTICS reason = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT;
        reason := 'is not a jsonpath: ' || reason;
        hint := coalesce(nullif(hint, ''), CASE WHEN path ~ E'^\\s*((lax|strict)\\s+)?[(\\s]*\\$' THEN 'write it as PostgreSQL reads it, as in $.customer_id'
            ELSE 'begin with "$", as in $.customer_id' END);
END
$$;
COMMENT ON FUNCTION fanfare.path_error IS 'Why a rule cannot have this jsonpath, and how to fix it; null if it can.';
GRANT EXECUTE ON FUNCTION fanfare.path_error TO fanfare_author, fanfare_reader;

-- Not inlined into its callers, because `'31 of February'::timestamp` raises an error that must be caught.
CREATE OR REPLACE FUNCTION fanfare.wall_time(text text) RETURNS timestamp
LANGUAGE plpgsql IMMUTABLE STRICT SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN CASE WHEN text ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2})?$' THEN text::timestamp END;
EXCEPTION WHEN data_exception THEN
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION fanfare.wall_time IS 'The wall time of a text such as 2026-12-01T09:00; NULL for any other text.';
GRANT EXECUTE ON FUNCTION fanfare.wall_time TO fanfare_author, fanfare_reader;

CREATE OR REPLACE FUNCTION fanfare.unit_seconds(unit text) RETURNS int LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE unit WHEN 's' THEN 1 WHEN 'm' THEN 60 WHEN 'h' THEN 3600 ELSE 86400 END;
COMMENT ON FUNCTION fanfare.unit_seconds IS 'The seconds of s, m, h or d.';
GRANT EXECUTE ON FUNCTION fanfare.unit_seconds TO fanfare_author;

-- Parses durations as daemons do: 90s, 15m, 4h, 7d, from a second to ten years.
CREATE OR REPLACE FUNCTION fanfare.span_seconds(span text) RETURNS int LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN span ~ '^0*[0-9]{1,9}[smhd]$' AND left(span, -1)::bigint * fanfare.unit_seconds(right(span, 1)) BETWEEN 1 AND 315360000
    THEN (left(span, -1)::bigint * fanfare.unit_seconds(right(span, 1)))::int END;
COMMENT ON FUNCTION fanfare.span_seconds IS 'The seconds of a duration such as 30m; NULL for any other text.';
GRANT EXECUTE ON FUNCTION fanfare.span_seconds TO fanfare_author;

CREATE OR REPLACE FUNCTION fanfare.share(text text) RETURNS real LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN text ~ '^(0|[1-9][0-9]?|100)(\.[0-9]{1,4})?%$' THEN rtrim(text, '%')::numeric / 100 END;
COMMENT ON FUNCTION fanfare.share IS 'A share from text such as 2.5%; NULL for any other text.';
GRANT EXECUTE ON FUNCTION fanfare.share TO fanfare_author;

CREATE OR REPLACE FUNCTION fanfare.are_ids(value jsonb) RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    CASE jsonb_typeof(value)
    WHEN 'string' THEN
        RETURN NOT fanfare.is_nothing(value #>> '{}');
    WHEN 'number' THEN
        RETURN true;
    WHEN 'array' THEN
        RETURN value <> '[]' AND NOT EXISTS (
            SELECT FROM jsonb_array_elements(value) AS e (id) WHERE jsonb_typeof(e.id) NOT IN ('string', 'number') OR fanfare.is_nothing(e.id #>> '{}'));
    ELSE
        RETURN false;
    END CASE;
END
$$;
COMMENT ON FUNCTION fanfare.are_ids IS 'Whether a JSON value is an id, a text or a number, or a list of ids.';
GRANT EXECUTE ON FUNCTION fanfare.are_ids TO fanfare_author;

-- False for rates and jsonpaths, too: why one is wrong is found only by parsing it.
CREATE OR REPLACE FUNCTION fanfare.has_form(value jsonb, form text, low bigint, high bigint, words text[]) RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT CASE jsonb_typeof(value)
        WHEN 'string' THEN CASE form
            WHEN 'string' THEN true
            WHEN 'text' THEN value <> '""'
            WHEN 'app_name' THEN fanfare.is_app_name(value #>> '{}')
            WHEN 'rule_name' THEN fanfare.is_rule_name(value #>> '{}')
            WHEN 'event_type' THEN fanfare.is_event_type(value #>> '{}')
            WHEN 'label' THEN fanfare.is_label(value #>> '{}')
            WHEN 'word' THEN value #>> '{}' = ANY (words)
            WHEN 'words' THEN value #>> '{}' = ANY (words)
            WHEN 'duration' THEN coalesce(fanfare.span_seconds(value #>> '{}') BETWEEN low AND high, false)
            WHEN 'share' THEN CASE WHEN fanfare.share(value #>> '{}') IS NULL THEN false ELSE rtrim(value #>> '{}', '%')::numeric * 10000 BETWEEN low AND high END
            WHEN 'time_of_day' THEN value #>> '{}' ~ '^([01][0-9]|2[0-3]):[0-5][0-9]$'
            WHEN 'wall_time' THEN fanfare.wall_time(value #>> '{}') IS NOT NULL
            WHEN 'time_zone' THEN value #>> '{}' = ANY (coalesce(words, '{}')) OR fanfare.is_time_zone(value #>> '{}')
            WHEN 'ids' THEN fanfare.are_ids(value)
            ELSE false END
        WHEN 'boolean' THEN form = 'boolean' OR form = 'yes' AND value = 'true'
        WHEN 'number' THEN form = 'ids' OR form = 'whole' AND (value #>> '{}')::numeric BETWEEN low AND high AND mod((value #>> '{}')::numeric, 1) = 0
        WHEN 'object' THEN form = 'object'
        WHEN 'array' THEN CASE form
            WHEN 'names' THEN NOT jsonb_path_exists(value, 'strict $[*] ? (@.type() != "string")')
            WHEN 'words' THEN value <> '[]' AND fanfare.filter_words(value) <@ words
            WHEN 'ids' THEN fanfare.are_ids(value)
            ELSE false END
        ELSE false END;
END;
COMMENT ON FUNCTION fanfare.has_form IS 'Whether a definition''s value has a form of definition_keys that can be seen at once.';
GRANT EXECUTE ON FUNCTION fanfare.has_form TO fanfare_author;

-- Checks a value by a row of definition_keys, of which `reason` and `hint` are given.
CREATE OR REPLACE FUNCTION fanfare.value_error(value jsonb, form text, low bigint, high bigint, words text[], INOUT reason text, INOUT hint text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    text CONSTANT text := CASE jsonb_typeof(value) WHEN 'string' THEN value #>> '{}' END;
BEGIN
    IF form = 'speed' THEN
        SELECT s.reason, s.hint INTO reason, hint FROM fanfare.speed_error(value, '') AS s;
    ELSIF text IS NOT NULL AND form IN ('jsonpath', 'predicate') THEN
        SELECT p.reason, p.hint INTO reason, hint FROM fanfare.path_error(text, form = 'predicate') AS p;
    ELSIF fanfare.has_form(value, form, low, high, words) THEN
        reason := NULL;
    ELSIF text IS NULL AND reason !~ '^is (neither|not an?|not true)( |$)' THEN
        reason := 'is not a string';
    ELSIF form = 'time_zone' AND text IS NOT NULL THEN
        reason := fanfare.time_zone_error(text);
    ELSIF form = 'word' AND reason NOT LIKE 'is neither %' THEN
        reason := format('%L %s', left(text, 80), reason);
    END IF;
END
$$;
COMMENT ON FUNCTION fanfare.value_error IS 'Why a key of a definition cannot have this value, and how to fix it; no reason if it can.';
GRANT EXECUTE ON FUNCTION fanfare.value_error TO fanfare_author;

-- The objects under a key, each with its place: the value itself, the elements of a list, or members whose names authors choose.
CREATE OR REPLACE FUNCTION fanfare.definition_parts(value jsonb, form text, at text, OUT part jsonb, OUT place text, OUT reason text, OUT hint text)
RETURNS SETOF record LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT p.part, p.place, CASE WHEN p.reason IS NULL AND jsonb_typeof(p.part) <> 'object' THEN 'is not an object' ELSE p.reason END, p.hint FROM (
        SELECT value, at, NULL, NULL WHERE form NOT IN ('list', 'named', 'providers')
        UNION ALL
        SELECT v.part, at || '[' || v.position - 1 || ']', NULL, NULL
        FROM jsonb_array_elements(CASE form WHEN 'list' THEN value ELSE '[]' END) WITH ORDINALITY AS v (part, position)
        UNION ALL
        SELECT v.part, at || '.' || v.key,
            CASE WHEN form = 'named' AND NOT fanfare.is_label(v.key) THEN 'cannot be a name' WHEN form = 'providers' AND p.name IS NULL THEN 'unknown key' END,
            CASE WHEN form = 'named' AND NOT fanfare.is_label(v.key) THEN 'use 1 to 64 letters, digits, "_", "." and "-", beginning with a letter or digit'
                WHEN form = 'providers' AND p.name IS NULL THEN 'known are ' || (SELECT string_agg(a.name, ', ' ORDER BY a.name) FROM fanfare.providers AS a) END
        FROM jsonb_each(CASE WHEN form IN ('named', 'providers') THEN value ELSE '{}' END) AS v (key, part)
        LEFT JOIN fanfare.providers AS p ON p.name = v.key
    ) AS p (part, place, reason, hint);
END;
COMMENT ON FUNCTION fanfare.definition_parts IS 'The objects under a key of a definition, with their places, and why an object cannot be there.';
GRANT EXECUTE ON FUNCTION fanfare.definition_parts TO fanfare_author;

-- Checks an object's keys by definition_keys: unknown keys first, then each key with what is within it. Keys that exclude or need each other
-- are checked by the functions below, in the same order as daemons.
CREATE OR REPLACE FUNCTION fanfare.definition_error(object text, definition jsonb, at text, OUT place text, OUT reason text, OUT hint text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    k record;
    part record;
    size int;
BEGIN
    SELECT definition_error.at || g.key, 'unknown key' INTO place, reason FROM jsonb_object_keys(definition) AS g (key)
    WHERE NOT EXISTS (SELECT FROM fanfare.definition_keys AS d WHERE d.object = definition_error.object AND d.key = g.key) LIMIT 1;
    IF reason IS NOT NULL THEN
        hint := 'known are ' || (
            SELECT string_agg(d.key, ', ' ORDER BY d.position) FROM fanfare.definition_keys AS d WHERE d.object = definition_error.object);
        RETURN;
    END IF;
    FOR k IN
        SELECT d.*, definition -> d.key AS value FROM fanfare.definition_keys AS d
        WHERE d.object = definition_error.object AND CASE WHEN definition ? d.key
            THEN d.members IS NOT NULL OR NOT fanfare.has_form(definition -> d.key, d.form, d.low, d.high, d.words) ELSE d.required END
        ORDER BY d.position
    LOOP
        place := definition_error.at || k.key;
        hint := k.hint;
        IF k.value IS NULL THEN
            reason := 'is missing';
            RETURN;
        ELSIF k.members IS NULL OR jsonb_typeof(k.value) <> (CASE k.form WHEN 'list' THEN 'array' ELSE 'object' END) THEN
            SELECT v.reason, v.hint INTO reason, hint FROM fanfare.value_error(k.value, k.form, k.low, k.high, k.words, k.reason, k.hint) AS v;
            IF reason IS NOT NULL THEN
                RETURN;
            END IF;
            CONTINUE;
        ELSIF k.form IN ('list', 'named') THEN
            size := CASE k.form WHEN 'list' THEN jsonb_array_length(k.value) ELSE (SELECT count(*) FROM jsonb_object_keys(k.value)) END;
            IF size NOT BETWEEN k.low AND k.high THEN
                reason := CASE size WHEN 0 THEN 'is empty' ELSE 'has ' || size END;
                hint := CASE size WHEN 0 THEN k.hint ELSE 'give at most ' || k.high END;
                RETURN;
            END IF;
        END IF;
        FOR part IN SELECT p.* FROM fanfare.definition_parts(k.value, k.form, place) AS p LOOP
            place := part.place;
            reason := part.reason;
            hint := coalesce(part.hint, k.hint);
            IF reason IS NULL THEN
                SELECT f.* INTO place, reason, hint FROM fanfare.definition_error(k.members, part.part, part.place || '.') AS f;
            END IF;
            IF reason IS NOT NULL THEN
                RETURN;
            END IF;
        END LOOP;
    END LOOP;
    place := NULL;
    hint := NULL;
END
$$;
COMMENT ON FUNCTION fanfare.definition_error IS 'The error in the keys of a rule, campaign, policy or message, or of an object within it; null if there is none.';
GRANT EXECUTE ON FUNCTION fanfare.definition_error TO fanfare_author;

CREATE OR REPLACE FUNCTION fanfare.audience_error(audience jsonb, OUT place text, OUT reason text, OUT hint text)
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    whom CONSTANT text[] := '{users,users_sql,tokens,topic,condition,everyone,fcm_topic,fcm_condition,channel}';
    given CONSTANT text[] := ARRAY(SELECT k FROM unnest(whom) AS k WHERE audience ? k);
BEGIN
    IF cardinality(given) <> 1 THEN
        place := 'to';
        reason := CASE given WHEN '{}' THEN 'names no audience' ELSE 'has ' || array_to_string(given, ' and ') END;
        hint := 'give exactly one of ' || array_to_string(whom, ', ');
    END IF;
END
$$;
COMMENT ON FUNCTION fanfare.audience_error IS 'Why a rule''s "to" does not select one audience; null if it does.';
GRANT EXECUTE ON FUNCTION fanfare.audience_error TO fanfare_author;

CREATE OR REPLACE FUNCTION fanfare.quiet_error(quiet jsonb, OUT place text, OUT reason text, OUT hint text)
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF quiet -> 'from' = quiet -> 'until' THEN
        place := 'quiet_hours.until';
        reason := 'is the same as from';
        hint := 'write another time, or leave quiet hours out';
    END IF;
END
$$;
COMMENT ON FUNCTION fanfare.quiet_error IS 'Why the times of quiet hours, of a rule or of a policy, do not fit each other; null if they do.';
GRANT EXECUTE ON FUNCTION fanfare.quiet_error TO fanfare_author;

-- Which caps an app has is known only in the database.
CREATE OR REPLACE FUNCTION fanfare.caps_error(app text, caps jsonb, OUT place text, OUT reason text, OUT hint text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    there text[];
    unknown text;
BEGIN
    there := ARRAY(
        SELECT c.name FROM fanfare.caps AS c JOIN fanfare.apps AS a ON a.id = c.app_id
        WHERE a.name = caps_error.app AND c.retired_at IS NULL ORDER BY c.name);
    SELECT c INTO unknown FROM jsonb_array_elements_text(caps) AS c WHERE c <> ALL (there) LIMIT 1;
    IF unknown IS NOT NULL THEN
        place := 'caps';
        reason := format('the app has no cap called %L', left(unknown, 80));
        hint := CASE WHEN there = '{}' THEN 'apply a policy that has it, as in {"caps": {"daily": {"max": 3, "per": "1d"}}}'
            ELSE 'it has ' || array_to_string(there, ', ') END;
    END IF;
END
$$;
COMMENT ON FUNCTION fanfare.caps_error IS 'The error in the caps that a rule names; null if there is none.';
GRANT EXECUTE ON FUNCTION fanfare.caps_error TO fanfare_author;

-- The options that differ by user, for an audience that a provider manages with one request.
CREATE OR REPLACE FUNCTION fanfare.by_user_error(rule jsonb, OUT place text, OUT reason text, OUT hint text)
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    SELECT k.key, 'differs by user, but ' || p.provider || ' gets one request for all', 'remove it' INTO place, reason, hint
    FROM (SELECT CASE WHEN rule -> 'to' ?| '{fcm_topic,fcm_condition}' THEN 'fcm' WHEN rule -> 'to' ? 'channel' THEN 'apns' END AS provider) AS p
    CROSS JOIN unnest('{category,quiet_hours,caps,variants,holdout}'::text[]) WITH ORDINALITY AS k (key, position)
    WHERE p.provider IS NOT NULL AND rule ? k.key ORDER BY k.position LIMIT 1;
END
$$;
COMMENT ON FUNCTION fanfare.by_user_error IS 'Why a rule for an audience that a provider manages cannot have an option; null if it can.';
GRANT EXECUTE ON FUNCTION fanfare.by_user_error TO fanfare_author;

-- A daemon checks that each variant makes a valid message.
CREATE OR REPLACE FUNCTION fanfare.variants_error(variants jsonb, OUT place text, OUT reason text, OUT hint text)
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    SELECT f.* INTO place, reason, hint FROM (
        SELECT 'variants[' || v.position - 1 || '].name', 'cannot be a name', 'holdout is reserved for the control group'
        FROM jsonb_array_elements(variants) WITH ORDINALITY AS v (variant, position) WHERE v.variant ->> 'name' = 'holdout'
        UNION ALL
        SELECT 'variants[' || v.position - 1 || '].name', 'is the name of another variant, too', 'give each a name of its own'
        FROM jsonb_array_elements(variants) WITH ORDINALITY AS v (variant, position)
        WHERE EXISTS (
            SELECT FROM jsonb_array_elements(variants) WITH ORDINALITY AS o (variant, position)
            WHERE o.position < v.position AND o.variant -> 'name' = v.variant -> 'name')
        UNION ALL
        SELECT 'variants', 'have weights that sum to 0', 'give at least one a weight'
        WHERE NOT jsonb_path_exists(variants, '$[*] ? (!exists (@.weight) || @.weight != 0)')
    ) AS f (place, reason, hint) LIMIT 1;
END
$$;
COMMENT ON FUNCTION fanfare.variants_error IS 'Why a rule''s variants do not fit each other; null if they do.';
GRANT EXECUTE ON FUNCTION fanfare.variants_error TO fanfare_author;

-- A daemon checks the template `by`.
CREATE OR REPLACE FUNCTION fanfare.digest_error(rule jsonb, OUT place text, OUT reason text, OUT hint text)
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    SELECT f.* INTO place, reason, hint FROM (
        SELECT 'debounce', 'is beside digest', 'give one of the two' WHERE rule ?& '{digest,debounce}'
        UNION ALL
        SELECT 'event', 'is of events that were gathered',
            'types that begin with digest. are not gathered again: leave ' || CASE WHEN rule ? 'digest' THEN 'digest' ELSE 'debounce' END || ' out'
        WHERE rule ?| '{digest,debounce}' AND rule ->> 'event' LIKE 'digest.%'
        UNION ALL
        SELECT 'debounce.longest', 'is shorter than wait', 'it is counted from the first event, wait from the last'
        WHERE fanfare.span_seconds(rule #>> '{debounce,longest}') < fanfare.span_seconds(rule #>> '{debounce,wait}')
    ) AS f (place, reason, hint) LIMIT 1;
END
$$;
COMMENT ON FUNCTION fanfare.digest_error IS 'Why a rule cannot gather events as it says; null if it can.';
GRANT EXECUTE ON FUNCTION fanfare.digest_error TO fanfare_author;

-- A daemon checks the names in `by` and `user`.
CREATE OR REPLACE FUNCTION fanfare.retract_error(rule jsonb, OUT place text, OUT reason text, OUT hint text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    SELECT f.* INTO place, reason, hint FROM (
        SELECT 'retract_on', 'needs collapse', 'say by which identifier devices know the notification, as in collapse: "room-{{room}}"'
        WHERE NOT rule ? 'collapse'
        UNION ALL
        SELECT 'retract_on', 'needs the devices that were reached, which ' || CASE WHEN rule -> 'to' ? 'channel' THEN 'apns' ELSE 'fcm' END || ' does not tell',
            'remove it, or use users:, tokens:, topic: or condition:'
        WHERE rule -> 'to' ?| '{fcm_topic,fcm_condition,channel}'
        UNION ALL
        SELECT 'retract_on', 'is for notifications, which pushes to ' || (rule #>> '{to,kind}') || ' tokens do not show', 'remove it, or leave out to.kind'
        WHERE rule #>> '{to,kind}' <> 'device'
        UNION ALL
        SELECT 'retract_on', 'is beside digest or debounce', 'a push for many events is not taken back by one value: remove one of the two'
        WHERE rule ?| '{digest,debounce}'
        UNION ALL
        SELECT 'retract_on.event', format('rules of %s may not take it', rule ->> 'app'),
            format('apps.%s.events of the configuration lists the types that they may take', rule ->> 'app')
        WHERE NOT fanfare.may_take(rule ->> 'app', rule #>> '{retract_on,event}')
    ) AS f (place, reason, hint) LIMIT 1;
END
$$;
COMMENT ON FUNCTION fanfare.retract_error IS 'Why a rule''s pushes cannot be taken back as it says; null if they can.';
GRANT EXECUTE ON FUNCTION fanfare.retract_error TO fanfare_author;

CREATE OR REPLACE FUNCTION fanfare.conversion_error(rule jsonb, OUT place text, OUT reason text, OUT hint text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    SELECT f.* INTO place, reason, hint FROM (
        SELECT 'conversion.' || k.key, 'is beside conversion_sql', 'the query returns the users, times and values: remove one of the two'
        FROM unnest('{event,user,value}'::text[]) AS k (key) WHERE rule ? 'conversion_sql' AND rule -> 'conversion' ? k.key
        UNION ALL
        SELECT 'conversion.' || k.key, 'is missing', 'say which event counts, or find conversions with conversion_sql'
        FROM unnest('{event,user}'::text[]) AS k (key) WHERE NOT rule ? 'conversion_sql' AND NOT rule -> 'conversion' ? k.key
        UNION ALL
        SELECT 'conversion_sql', q.reason, q.hint FROM fanfare.conversion_sql_error(rule ->> 'conversion_sql') AS q WHERE q.reason IS NOT NULL
        UNION ALL
        SELECT 'conversion.' || k.key, 'is more than names', format('write names with dots between, as in $.new.%s', k.example)
        FROM (VALUES ('user', 'customer_id'), ('value', 'total')) AS k (key, example)
        WHERE rule -> 'conversion' ->> k.key !~ '^ *[$]([.]([[:alpha:]_][[:alnum:]_]*|"[^"]+"))+ *$'
        UNION ALL
        SELECT CASE WHEN rule ? 'conversion' THEN 'conversion' ELSE 'conversion_sql' END, 'needs report: true or a holdout', 'without both, it is not known who opened a push or who got none'
        WHERE (rule -> 'report')::boolean IS NOT TRUE AND NOT rule ? 'holdout'
        UNION ALL
        SELECT 'conversion.event', format('rules of %s may not take it', rule ->> 'app'),
            format('apps.%s.events of the configuration lists the types that they may take', rule ->> 'app')
        WHERE rule -> 'conversion' ? 'event' AND NOT fanfare.may_take(rule ->> 'app', rule #>> '{conversion,event}')
    ) AS f (place, reason, hint) LIMIT 1;
END
$$;
COMMENT ON FUNCTION fanfare.conversion_error IS 'Why conversions of a rule cannot be counted as it says; null if they can.';
GRANT EXECUTE ON FUNCTION fanfare.conversion_error TO fanfare_author;

CREATE OR REPLACE FUNCTION fanfare.experiment_error(campaign jsonb, OUT place text, OUT reason text, OUT hint text)
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    SELECT f.* INTO place, reason, hint FROM (
        SELECT 'experiment', 'is beside canary', 'its share is sent first as well: remove the canary' WHERE campaign ? 'canary'
        UNION ALL
        SELECT 'experiment.by', 'needs report: true', 'without it, devices report nothing'
        WHERE coalesce(campaign #>> '{experiment,by}', 'opened') = 'opened' AND (campaign -> 'report')::boolean IS NOT TRUE
        UNION ALL
        SELECT 'experiment.by', 'needs conversion', 'say which event counts, as in {"event": "order.paid", "user": "$.new.customer_id"}'
        WHERE campaign #>> '{experiment,by}' = 'converted' AND NOT campaign ?| '{conversion,conversion_sql}'
        UNION ALL
        SELECT 'experiment', CASE WHEN campaign ? 'payload_sql' THEN 'cannot be with payload_sql' ELSE 'cannot be for this audience' END,
            CASE WHEN campaign ? 'payload_sql' THEN 'each row is an event of its own: use audience_sql'
                ELSE 'use topic, condition or everyone in to, or audience_sql' END
        WHERE campaign ? 'payload_sql' OR NOT campaign ? 'audience_sql' AND NOT coalesce(campaign -> 'to' ?| '{topic,condition,everyone}', false)
        UNION ALL
        SELECT 'experiment', 'cannot be with time_zone: recipient', 'the others would wait for the sample of every zone: give the schedule a zone'
        WHERE campaign #>> '{schedule,time_zone}' = 'recipient'
        UNION ALL
        SELECT 'experiment.wait', 'is not shorter than the ttl', 'the others would expire while they wait: give a longer ttl, which is 24h without one'
        WHERE fanfare.span_seconds(coalesce(campaign #>> '{experiment,wait}', '2h')) >= fanfare.span_seconds(coalesce(campaign ->> 'ttl', '24h'))
        UNION ALL
        SELECT 'experiment', 'needs two variants', 'give two variants or more a weight above 0'
        WHERE 2 > (SELECT count(*) FROM jsonb_array_elements(coalesce(campaign -> 'variants', '[]')) AS v (variant) WHERE coalesce((v.variant -> 'weight')::bigint, 1) > 0)
    ) AS f (place, reason, hint) LIMIT 1;
END
$$;
COMMENT ON FUNCTION fanfare.experiment_error IS 'Why a campaign cannot have its experiment; null if it can.';
GRANT EXECUTE ON FUNCTION fanfare.experiment_error TO fanfare_author;

CREATE OR REPLACE FUNCTION fanfare.report_error(rule jsonb, OUT place text, OUT reason text, OUT hint text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    SELECT f.* INTO place, reason, hint FROM (
        SELECT k.key, 'needs report: true', 'without it, devices report nothing'
        FROM unnest('{as_event,report_text}'::text[]) AS k (key)
        WHERE rule ? k.key AND (rule -> 'report')::boolean IS NOT TRUE
        UNION ALL
        SELECT 'report', 'needs the devices that were reached, which ' || CASE WHEN rule -> 'to' ? 'channel' THEN 'apns' ELSE 'fcm' END || ' does not tell',
            'remove it, or use users:, tokens:, topic: or condition:'
        WHERE (rule -> 'report')::boolean AND rule -> 'to' ?| '{fcm_topic,fcm_condition,channel}'
        UNION ALL
        SELECT 'as_event', 'is a type that Fanfare reserves', 'use another name, such as notification.action'
        WHERE fanfare.is_reserved(rule ->> 'as_event')
        UNION ALL
        SELECT 'as_event', format('rules of %s may not emit it', rule ->> 'app'),
            format('apps.%s.events of the configuration lists the types that they may take', rule ->> 'app')
        WHERE NOT fanfare.may_take(rule ->> 'app', rule ->> 'as_event')
    ) AS f (place, reason, hint) LIMIT 1;
END
$$;
COMMENT ON FUNCTION fanfare.report_error IS 'Why devices cannot report on a rule''s pushes as it says; null if they can.';
GRANT EXECUTE ON FUNCTION fanfare.report_error TO fanfare_author;

-- Finds the errors that SQL can find. The rest (message, templates, conditions, limits) is checked by a daemon, or by
-- `fanfare rules plan`.
CREATE OR REPLACE FUNCTION fanfare.rule_error(rule jsonb, OUT place text, OUT reason text, OUT hint text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    SELECT f.* INTO place, reason, hint FROM (
        SELECT d.place, d.reason, d.hint FROM fanfare.definition_error('rule', rule, '') AS d WHERE d.reason IS NOT NULL
        UNION ALL
        SELECT 'event', format('rules of %s may not take it', rule ->> 'app'),
            format('apps.%s.events of the configuration allows %s', rule ->> 'app', (
                SELECT coalesce(nullif(array_to_string(a.events, ', '), ''), 'none') FROM fanfare.apps AS a WHERE a.name = rule ->> 'app'))
        WHERE NOT fanfare.may_take(rule ->> 'app', rule ->> 'event')
        UNION ALL
        SELECT a.place, a.reason, a.hint FROM fanfare.audience_error(rule -> 'to') AS a WHERE a.reason IS NOT NULL
        UNION ALL
        SELECT 'badge_sql', b.reason, b.hint FROM fanfare.badge_sql_error(rule ->> 'badge_sql') AS b WHERE b.reason IS NOT NULL
        UNION ALL
        SELECT 'to.users_sql', u.reason, u.hint FROM fanfare.users_sql_error(rule #>> '{to,users_sql}') AS u WHERE u.reason IS NOT NULL
        UNION ALL
        SELECT q.place, q.reason, q.hint FROM fanfare.quiet_error(rule -> 'quiet_hours') AS q WHERE q.reason IS NOT NULL
        UNION ALL
        SELECT c.place, c.reason, c.hint FROM fanfare.caps_error(rule ->> 'app', rule -> 'caps') AS c WHERE rule ? 'caps' AND c.reason IS NOT NULL
        UNION ALL
        SELECT v.place, v.reason, v.hint FROM fanfare.variants_error(rule -> 'variants') AS v WHERE rule ? 'variants' AND v.reason IS NOT NULL
        UNION ALL
        SELECT g.place, g.reason, g.hint FROM fanfare.digest_error(rule) AS g WHERE g.reason IS NOT NULL
        UNION ALL
        SELECT u.place, u.reason, u.hint FROM fanfare.by_user_error(rule) AS u WHERE u.reason IS NOT NULL
        UNION ALL
        SELECT t.place, t.reason, t.hint FROM fanfare.retract_error(rule) AS t WHERE rule ? 'retract_on' AND t.reason IS NOT NULL
        UNION ALL
        SELECT p.place, p.reason, p.hint FROM fanfare.report_error(rule) AS p WHERE rule ?| '{report,as_event,report_text}' AND p.reason IS NOT NULL
        UNION ALL
        SELECT c.place, c.reason, c.hint FROM fanfare.conversion_error(rule) AS c WHERE rule ?| '{conversion,conversion_sql}' AND c.reason IS NOT NULL
    ) AS f LIMIT 1;
    IF reason IS NULL THEN
        PERFORM fanfare.warn_of_hidden_tables(fanfare.place_of(rule, 'badge_sql'), rule ->> 'badge_sql', 'text[]'),
            fanfare.warn_of_hidden_tables(fanfare.place_of(rule, 'conversion_sql'), rule ->> 'conversion_sql', 'timestamptz'),
            fanfare.warn_of_hidden_tables(fanfare.place_of(rule, 'to.users_sql'), rule #>> '{to,users_sql}', 'jsonb'), fanfare.warn_of_columns(rule), fanfare.warn_of_nights(rule);
    END IF;
END
$$;
COMMENT ON FUNCTION fanfare.rule_error IS
    'The error for which put_rule refuses a rule, with its place in the rule and how to fix it; null if there is none.';
GRANT EXECUTE ON FUNCTION fanfare.rule_error TO fanfare_author;

-- Stores a checked rule: a user's, or a campaign's.
CREATE OR REPLACE FUNCTION fanfare.store_rule(rule jsonb, OUT rule_id int, OUT version int)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    the_app smallint := fanfare.app_id_for(rule ->> 'app');
    newest fanfare.rule_versions;
BEGIN
    INSERT INTO fanfare.rules (app_id, name) VALUES (the_app, rule ->> 'name')
    ON CONFLICT (app_id, name) WHERE dropped_at IS NULL DO NOTHING;
    SELECT r.id INTO STRICT store_rule.rule_id FROM fanfare.rules AS r
    WHERE r.app_id = the_app AND r.name = rule ->> 'name' AND r.dropped_at IS NULL FOR NO KEY UPDATE;

    SELECT v.* INTO newest FROM fanfare.rule_versions AS v WHERE v.rule_id = store_rule.rule_id AND v.winner_of IS NULL ORDER BY v.version DESC LIMIT 1;
    version := newest.version;
    IF newest.definition::jsonb = rule THEN
        RETURN;
    END IF;
    version := 1 + coalesce((SELECT max(v.version) FROM fanfare.rule_versions AS v WHERE v.rule_id = store_rule.rule_id), 0);
    -- With the event type and the rule's age, because younger events of the type wait until the version is checked.
    INSERT INTO fanfare.rule_versions (rule_id, version, definition, event_type, rule_created_at, rule_event_number)
    SELECT r.id, store_rule.version, rule::json, rule ->> 'event', r.created_at, r.event_number FROM fanfare.rules AS r WHERE r.id = store_rule.rule_id;
END
$$;
COMMENT ON FUNCTION fanfare.store_rule IS
    'Stores a version of a rule, unless the newest version is the same; put_rule calls it after its checks.';

CREATE OR REPLACE FUNCTION fanfare.put_rule(rule jsonb) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    problem record;
BEGIN
    IF jsonb_typeof(rule) IS DISTINCT FROM 'object' THEN
        RAISE EXCEPTION 'a rule is a JSON object' USING ERRCODE = '22023', HINT = 'Pass {"app": …, "name": …, "event": …, "to": …, "message": …}.';
    ELSIF octet_length(rule::text) > 65536 THEN
        RAISE EXCEPTION 'the rule is % bytes long', octet_length(rule::text) USING ERRCODE = '22023', HINT = 'A rule has at most 64 KiB.';
    END IF;
    SELECT * INTO problem FROM fanfare.rule_error(rule);
    IF problem.reason IS NOT NULL THEN
        RAISE EXCEPTION '%: %', problem.place, problem.reason USING ERRCODE = '22023', HINT = problem.hint;
    END IF;
    PERFORM fanfare.require_daemon(p.oldest_daemon) FROM fanfare.providers AS p
    WHERE p.name = rule #>> '{to,provider}' OR rule -> 'message' ? p.name
        OR EXISTS (SELECT FROM jsonb_path_query(rule, '$.locales.*') AS l (block) WHERE l.block ? p.name);
    RETURN (SELECT v.version FROM fanfare.store_rule(rule) AS v);
END
$$;
COMMENT ON FUNCTION fanfare.put_rule IS
    'Stores a rule and returns its version, or raises the errors that SQL finds. A daemon checks the rest within a '
    'second. Until then the last active version stays in force; if there is none, events of the type wait.';
GRANT EXECUTE ON FUNCTION fanfare.put_rule TO fanfare_author;

CREATE OR REPLACE FUNCTION fanfare.drop_rule(app text, name text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    dropped int;
BEGIN
    UPDATE fanfare.rules AS r SET dropped_at = clock_timestamp()
    WHERE r.app_id = (SELECT a.id FROM fanfare.apps AS a WHERE a.name = drop_rule.app) AND r.name = drop_rule.name AND r.dropped_at IS NULL
        AND r.name NOT LIKE ALL ('{gather/%,send/%}')
    RETURNING r.id INTO dropped;
    UPDATE fanfare.rule_versions AS v SET retired_at = clock_timestamp() WHERE v.rule_id = dropped AND v.retired_at IS NULL;
    -- Also drops the rule that gathers its events. An activation of a version that ran meanwhile has committed by now,
    -- since the UPDATE above waited for it. Open digests are discarded when they are due.
    WITH gatherer AS (
        UPDATE fanfare.rules AS r SET dropped_at = clock_timestamp()
        WHERE r.app_id = (SELECT x.app_id FROM fanfare.rules AS x WHERE x.id = dropped) AND r.name = 'gather/' || drop_rule.name
            AND r.dropped_at IS NULL
        RETURNING r.id
    )
    UPDATE fanfare.rule_versions AS v SET retired_at = clock_timestamp() FROM gatherer AS g
    WHERE v.rule_id = g.id AND v.retired_at IS NULL;
    RETURN dropped IS NOT NULL;
END
$$;
COMMENT ON FUNCTION fanfare.drop_rule IS
    'Ends a rule: events that are not planned yet no longer match it. Planned deliveries are still sent.';
GRANT EXECUTE ON FUNCTION fanfare.drop_rule TO fanfare_author;

CREATE OR REPLACE FUNCTION fanfare.rule_from_file(app text, name text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
BEGIN
    UPDATE fanfare.rules AS r SET from_file = true
    WHERE r.app_id = (SELECT a.id FROM fanfare.apps AS a WHERE a.name = rule_from_file.app) AND r.name = rule_from_file.name AND r.dropped_at IS NULL AND NOT r.from_file;
    RETURN FOUND;
END
$$;
COMMENT ON FUNCTION fanfare.rule_from_file IS
    'Records that a rule comes from a file, so that `rules apply --prune` may drop it once it is gone from the file; '
    'returns whether that is new.';
GRANT EXECUTE ON FUNCTION fanfare.rule_from_file TO fanfare_author;

-- Messages without a rule. A message is split into its shape and the values that differ between messages of the shape:
-- texts, recipients, collapse id. A rule holds the shape, with templates in place of the values, and the event's payload
-- holds the values. So a million different texts are one rule version, and what a caller sends is never a template.

-- Whether a value is one of those texts, by its place in the message without the indices of lists. Other values stay in the shape, where
-- a daemon checks them as it checks a rule: so does a number or a link that the place does not allow, and an empty
-- text. A text that looks like a template is a text wherever it is.
CREATE OR REPLACE FUNCTION fanfare.is_text_of_message(place text, value jsonb) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT CASE
        WHEN jsonb_typeof(value) NOT IN ('string', 'number', 'boolean') OR value = '""' THEN false
        -- What apps define themselves.
        WHEN place ~ '^(apns[.]payload[.]((?!aps([.[]|$))|aps[.](content-state|attributes)[.])|webpush[.]notification[.]data[.[]|webhook[.]data[.])' THEN true
        WHEN jsonb_typeof(value) = 'string' THEN
            place ~ ('^(notification[.](title|body|image)$|((android|android_v2|webpush)[.])?data[.]'
                || '|(android|android_v2[.]remote_notification)[.]notification[.](title|body|image|ticker|tag|(title|body)_loc_args\[\])$'
                || '|apns[.](payload[.]aps[.](alert$|alert[.](title|subtitle|body|summary-arg|((title|subtitle)-)?loc-args\[\])$'
                || '|thread-id$|target-content-id$|summary-arg$|url-args\[\]$)|fcm_options[.]image$|live_activity_token$)'
                || '|webpush[.]notification[.](title|body|image|icon|badge|tag)$)')
            OR place IN ('webpush.fcm_options.link', 'webpush.notification.navigate') AND value #>> '{}' ~* '^https://.'
            OR strpos(value #>> '{}', '{{') > 0
        WHEN jsonb_typeof(value) = 'number' THEN CASE
            WHEN place IN ('apns.payload.aps.badge', 'android.notification.notification_count', 'android_v2.remote_notification.notification.notification_count')
                THEN value::numeric BETWEEN 0 AND 2147483647 AND mod(value::numeric, 1) = 0
            WHEN place IN ('apns.payload.aps.timestamp', 'apns.payload.aps.stale-date', 'apns.payload.aps.dismissal-date')
                THEN value::numeric BETWEEN 0 AND 99999999999
            ELSE false END
        ELSE false END;
END;
COMMENT ON FUNCTION fanfare.is_text_of_message IS
    'Whether a value of a message that is sent without a rule differs between messages of one shape, by its place.';

-- A name that two places would share gets a number.
CREATE OR REPLACE FUNCTION fanfare.take_texts(at text, level int, INOUT part jsonb, INOUT texts jsonb)
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    whole CONSTANT jsonb := part;
    is_list CONSTANT boolean := jsonb_typeof(whole) = 'array';
    members CONSTANT text[] := CASE WHEN NOT is_list THEN ARRAY(SELECT jsonb_object_keys(whole)) END;
    inner_parts record;
    place text;
    name text;
    value jsonb;
BEGIN
    FOR i IN 1..CASE WHEN is_list THEN jsonb_array_length(whole) ELSE cardinality(members) END LOOP
        IF is_list THEN
            place := at || '[]';
            value := whole -> i - 1;
        ELSE
            place := CASE WHEN at = '' THEN members[i] ELSE at || '.' || members[i] END;
            value := whole -> members[i];
        END IF;
        IF jsonb_typeof(value) IN ('object', 'array') THEN
            -- A daemon refuses a rule of more levels.
            IF level < 32 THEN
                inner_parts := fanfare.take_texts(place, level + 1, value, texts);
                part := jsonb_set(part, ARRAY[CASE WHEN is_list THEN (i - 1)::text ELSE members[i] END], inner_parts.part);
                texts := inner_parts.texts;
            END IF;
        ELSIF fanfare.is_text_of_message(place, value) THEN
            name := left(rtrim(regexp_replace(place, '[^A-Za-z0-9_]+', '-', 'g'), '-'), 100);
            WHILE texts ? name LOOP
                name := name || '-' || (SELECT count(*) FROM jsonb_object_keys(texts));
            END LOOP;
            texts := texts || jsonb_build_object(name, value);
            part := jsonb_set(part, ARRAY[CASE WHEN is_list THEN (i - 1)::text ELSE members[i] END], to_jsonb('{{texts.' || name || '}}'));
        END IF;
    END LOOP;
END
$$;
COMMENT ON FUNCTION fanfare.take_texts IS
    'Takes the texts out of a part of a message: returns the part with templates in their place, and the texts by name.';

-- What remains in the rule of an audience, and what an event says. The rest of a condition or filter cannot be a template.
CREATE OR REPLACE FUNCTION fanfare.split_message(message jsonb, OUT rule jsonb, OUT payload jsonb)
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    audience jsonb := message -> 'to';
    key text;
    parts record;
BEGIN
    rule := message - '{at,key,ttl}'::text[];
    payload := '{}';
    IF jsonb_typeof(audience) = 'object' THEN
        FOREACH key IN ARRAY '{users,tokens,topic,fcm_topic,channel}'::text[] LOOP
            IF audience ? key THEN
                payload := jsonb_build_object('to', audience -> key);
                audience := jsonb_set(audience, ARRAY[key], CASE WHEN key IN ('users', 'tokens') THEN '"$.to"'::jsonb ELSE '"{{to}}"' END);
            END IF;
        END LOOP;
        rule := rule || jsonb_build_object('to', audience);
    END IF;
    IF message ? 'collapse' THEN
        payload := payload || jsonb_build_object('collapse', message -> 'collapse');
        rule := rule || '{"collapse": "{{collapse}}"}';
    END IF;
    IF jsonb_typeof(message -> 'message') = 'object' THEN
        parts := fanfare.take_texts('', 1, message -> 'message', '{}');
        rule := rule || jsonb_build_object('message', parts.part);
        payload := payload || jsonb_build_object('texts', parts.texts);
    END IF;
END
$$;
COMMENT ON FUNCTION fanfare.split_message IS
    'Splits a message that is sent without a rule into the rule of its shape, without name, and the payload of its event.';

CREATE OR REPLACE FUNCTION fanfare.is_channel(id text) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT id ~ '^[A-Za-z0-9+/=_-]+$' AND length(id) <= 512;
END;
COMMENT ON FUNCTION fanfare.is_channel IS 'Whether a text can be the id of an APNs broadcast channel: 1 to 512 characters of base64.';
GRANT EXECUTE ON FUNCTION fanfare.is_channel TO fanfare_author;

-- The checks that send repeats for every message: a shape that is stored has passed the others. One statement for each key, so that a
-- transaction initializes no more than it needs.
CREATE OR REPLACE FUNCTION fanfare.are_values_valid(message jsonb) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    audience CONSTANT jsonb := message -> 'to';
    value jsonb := coalesce(audience -> 'users', audience -> 'tokens');
BEGIN
    IF value IS NOT NULL THEN
        IF NOT fanfare.are_ids(value) THEN
            RETURN false;
        END IF;
    ELSIF audience ?| '{topic,fcm_topic}' THEN
        value := coalesce(audience -> 'topic', audience -> 'fcm_topic');
        IF jsonb_typeof(value) <> 'string' OR NOT fanfare.is_topic(value #>> '{}') THEN
            RETURN false;
        END IF;
    ELSIF audience ? 'channel' THEN
        IF jsonb_typeof(audience -> 'channel') <> 'string' OR NOT fanfare.is_channel(audience ->> 'channel') THEN
            RETURN false;
        END IF;
    END IF;
    IF message ? 'key' THEN
        IF jsonb_typeof(message -> 'key') <> 'string' OR octet_length(message ->> 'key') > 2048 OR fanfare.is_nothing(message ->> 'key') THEN
            RETURN false;
        END IF;
    END IF;
    IF message ? 'ttl' THEN
        IF jsonb_typeof(message -> 'ttl') <> 'string' OR fanfare.span_seconds(message ->> 'ttl') IS NULL THEN
            RETURN false;
        END IF;
    END IF;
    IF message ? 'collapse' THEN
        IF jsonb_typeof(message -> 'collapse') <> 'string' OR octet_length(message ->> 'collapse') NOT BETWEEN 1 AND 512 THEN
            RETURN false;
        END IF;
    END IF;
    RETURN true;
END
$$;
COMMENT ON FUNCTION fanfare.are_values_valid IS
    'Whether the values of a message that are not in its shape can be sent; message_error says which one cannot.';

CREATE OR REPLACE FUNCTION fanfare.message_error(message jsonb, OUT place text, OUT reason text, OUT hint text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    audience CONSTANT jsonb := message -> 'to';
BEGIN
    SELECT f.* INTO place, reason, hint FROM (
        SELECT d.place, d.reason, d.hint FROM fanfare.definition_error('send', message, '') AS d WHERE d.reason IS NOT NULL
        UNION ALL
        SELECT 'key', CASE WHEN fanfare.is_nothing(message ->> 'key') THEN format('cannot be %L', message ->> 'key') ELSE 'has more than 2048 bytes' END,
            'programs write null or undefined where they have no value; leave the key out of a message that may be sent again'
        WHERE message ? 'key' AND (fanfare.is_nothing(message ->> 'key') OR octet_length(message ->> 'key') > 2048)
        UNION ALL
        SELECT 'collapse', 'has more than 512 bytes', 'say which messages replace each other, as in "order-7"' WHERE octet_length(message ->> 'collapse') > 512
        UNION ALL
        SELECT a.place, a.reason, replace(a.hint, 'users_sql, ', '')
        FROM fanfare.audience_error(audience) AS a WHERE a.reason IS NOT NULL
        UNION ALL
        SELECT 'to.' || k.key, 'is not a topic name', CASE WHEN audience ->> k.key LIKE '/topics/%' THEN 'write it without /topics/' ELSE 'use 1 to 900 of a-z A-Z 0-9 - _ . ~ %' END
        FROM unnest('{topic,fcm_topic}'::text[]) AS k (key) WHERE audience ? k.key AND NOT fanfare.is_topic(audience ->> k.key)
        UNION ALL
        SELECT 'to.channel', 'is not a channel id', 'write the apns-channel-id that APNs gave when the channel was made'
        WHERE NOT fanfare.is_channel(audience ->> 'channel')
        UNION ALL
        SELECT 'to.' || k.key, 'has a template', 'write the topics themselves: a message has no templates'
        FROM unnest('{condition,fcm_condition}'::text[]) AS k (key) WHERE strpos(audience ->> k.key, '{{') > 0
    ) AS f LIMIT 1;
END
$$;
COMMENT ON FUNCTION fanfare.message_error IS
    'The error for which send refuses a message, as far as its shape does not matter, with its place and how to fix it; null if there is none.';
GRANT EXECUTE ON FUNCTION fanfare.message_error TO fanfare_author;

-- Stores the shape of a message under a new name, and returns the name. It waits for no other transaction that does the
-- same: the name is new, and no index is unique on the hash.
CREATE OR REPLACE FUNCTION fanfare.store_shape(rule jsonb, hash bytea) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    most CONSTANT int := 1000;
    number CONSTANT bigint := nextval('fanfare.event_sequence');
    shape CONSTANT text := left(encode(hash, 'hex'), 16) || '-' || number;
    the_app smallint;
    problem record;
    the_rule int;
BEGIN
    SELECT * INTO problem FROM fanfare.rule_error(rule || jsonb_build_object('name', 'send', 'event', 'send.' || (rule ->> 'app')));
    IF problem.reason IS NOT NULL THEN
        RAISE EXCEPTION '%: %', problem.place, problem.reason USING ERRCODE = '22023', HINT = problem.hint;
    END IF;
    the_app := fanfare.app_id_for(rule ->> 'app');
    IF (SELECT count(*) FROM fanfare.shapes AS s WHERE s.app_id = the_app AND s.retired_at IS NULL) >= most THEN
        RAISE EXCEPTION 'message: has a shape of its own, and the app has % others', most USING ERRCODE = '22023',
            HINT = 'Messages share a shape if only their texts, recipients and collapse ids differ: put what differs into title, body and data, '
                'not into keys, sounds and headers. A shape that is no longer used ends with the log.';
    END IF;
    -- An older daemon would refuse the rule for its name.
    PERFORM fanfare.require_daemon(greatest(2, (
        SELECT max(p.oldest_daemon) FROM fanfare.providers AS p WHERE p.name = rule #>> '{to,provider}' OR rule -> 'message' ? p.name)));
    INSERT INTO fanfare.rules (app_id, name, event_number) VALUES (the_app, 'send/' || shape, number) RETURNING id INTO the_rule;
    INSERT INTO fanfare.rule_versions (rule_id, version, definition, event_type, rule_created_at, rule_event_number)
    SELECT r.id, 1, (rule || jsonb_build_object('name', r.name, 'event', 'send.' || (rule ->> 'app'), 'when', format('$.shape == "%s"', shape)))::json,
        'send.' || (rule ->> 'app'), r.created_at, r.event_number
    FROM fanfare.rules AS r WHERE r.id = the_rule;
    INSERT INTO fanfare.shapes (name, hash, app_id, rule_id) VALUES (shape, hash, the_app, the_rule);
    RETURN shape;
END
$$;
COMMENT ON FUNCTION fanfare.store_shape IS 'Stores the rule of a message''s shape and returns the shape''s name, or raises the errors that SQL finds; send calls it.';

-- The path of a message whose shape is stored is short: split, look up, check the values, insert the event.
-- PostgreSQL would also accept words such as `tomorrow`, and times without an offset, which depend on the session.
CREATE OR REPLACE FUNCTION fanfare.due_time(value text) RETURNS timestamptz
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF fanfare.span_seconds(due_time.value) IS NOT NULL THEN
        RETURN clock_timestamp() + make_interval(secs => fanfare.span_seconds(due_time.value));
    ELSIF due_time.value ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,9})?([Zz]|[+-][0-9]{2}:[0-9]{2})$' THEN
        RETURN due_time.value::timestamptz;
    END IF;
    RAISE EXCEPTION 'at: % is neither a time nor a duration', quote_literal(left(due_time.value, 80))
        USING ERRCODE = '22023', HINT = 'Write 2026-12-24T18:00:00Z, 2026-12-24T18:00:00+01:00, 90s, 15m, 4h or 7d.';
END
$$;

CREATE OR REPLACE FUNCTION fanfare.send(message jsonb) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    problem record;
    parts record;
    the_hash bytea;
    shape text;
    refusal text;
    new_id bigint;
BEGIN
    IF jsonb_typeof(message) IS DISTINCT FROM 'object' THEN
        RAISE EXCEPTION 'a message is a JSON object' USING ERRCODE = '22023', HINT = 'Pass {"app": …, "to": …, "message": …}.';
    ELSIF octet_length(message::text) > 65536 THEN
        RAISE EXCEPTION 'the message is % bytes long', octet_length(message::text)
            USING ERRCODE = '22023', HINT = 'A message with its recipients has at most 64 KiB: send it to fewer users at a time, or to a topic.';
    END IF;
    parts := fanfare.split_message(message);
    the_hash := sha256(convert_to(parts.rule::text, 'UTF8'));
    SELECT s.name, v.reason INTO shape, refusal FROM fanfare.shapes AS s JOIN fanfare.rule_versions AS v ON v.rule_id = s.rule_id
    WHERE s.hash = the_hash AND s.retired_at IS NULL LIMIT 1;
    IF shape IS NULL OR NOT fanfare.are_values_valid(message) THEN
        SELECT * INTO problem FROM fanfare.message_error(message);
        IF problem.reason IS NOT NULL THEN
            RAISE EXCEPTION '%: %', problem.place, problem.reason USING ERRCODE = '22023', HINT = problem.hint;
        END IF;
    END IF;
    IF refusal IS NOT NULL THEN
        RAISE EXCEPTION '%', split_part(refusal, '; ', 1) USING ERRCODE = '22023',
            HINT = coalesce(nullif(substr(refusal, length(split_part(refusal, '; ', 1)) + 3), ''), 'Daemons refuse messages of this shape.');
    ELSIF shape IS NULL THEN
        shape := fanfare.store_shape(parts.rule, the_hash);
    END IF;
    IF message ? 'at' THEN
        RETURN fanfare.schedule('send.' || (message ->> 'app'), fanfare.due_time(message ->> 'at'), jsonb_build_object('shape', shape) || parts.payload,
            message ->> 'key', make_interval(secs => fanfare.span_seconds(message ->> 'ttl')), false, NULL,
            (SELECT a.id FROM fanfare.apps AS a WHERE a.name = message ->> 'app'));
    END IF;
    INSERT INTO fanfare.outbox (type, key, ttl, payload, own)
    VALUES ('send.' || (message ->> 'app'), message ->> 'key', make_interval(secs => fanfare.span_seconds(message ->> 'ttl')),
        jsonb_build_object('shape', shape) || parts.payload, true)
    RETURNING id INTO new_id;
    RETURN new_id;
END
$$;
COMMENT ON FUNCTION fanfare.send IS
    'Sends a message without a rule in the caller''s transaction, or schedules it, and returns the id of its event or scheduled row; '
    'raises the errors that SQL finds.';
GRANT EXECUTE ON FUNCTION fanfare.send TO fanfare_author;

CREATE OR REPLACE FUNCTION fanfare.cancel_message(app text, scheduled_id bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    DELETE FROM fanfare.scheduled AS s USING fanfare.apps AS a
    WHERE s.id = cancel_message.scheduled_id AND a.id = s.app_id AND a.name = cancel_message.app;
    RETURN FOUND;
END
$$;
COMMENT ON FUNCTION fanfare.cancel_message IS 'Cancels a scheduled message of an app; false if it does not wait any more, or is not of the app.';
GRANT EXECUTE ON FUNCTION fanfare.cancel_message TO fanfare_author;

CREATE OR REPLACE FUNCTION fanfare.reschedule_message(app text, scheduled_id bigint, at timestamptz) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN coalesce((
        SELECT fanfare.reschedule(s.id, reschedule_message.at) FROM fanfare.scheduled AS s JOIN fanfare.apps AS a ON a.id = s.app_id
        WHERE s.id = reschedule_message.scheduled_id AND a.name = reschedule_message.app), false);
END
$$;
COMMENT ON FUNCTION fanfare.reschedule_message IS
    'Moves a scheduled message of an app to another time; false if it does not wait any more, or is not of the app.';
GRANT EXECUTE ON FUNCTION fanfare.reschedule_message TO fanfare_author;

-- A daemon that does not know gates would send the deliveries behind one.
CREATE OR REPLACE FUNCTION fanfare.make_gate(
    rule_id int, run_id bigint DEFAULT NULL, lane smallint DEFAULT NULL, state text DEFAULT 'open',
    is_canary boolean DEFAULT false) RETURNS int
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    made int;
BEGIN
    INSERT INTO fanfare.gates (rule_id, run_id, lane, state, is_canary, rate_id)
    VALUES (make_gate.rule_id, make_gate.run_id, make_gate.lane, make_gate.state, make_gate.is_canary,
        (SELECT r.id FROM fanfare.rates AS r WHERE r.rule_id = make_gate.rule_id))
    RETURNING id INTO made;
    RETURN made;
END
$$;
COMMENT ON FUNCTION fanfare.make_gate IS
    'Creates a gate for the deliveries of a rule or of one run, and locks out daemons that do not know gates.';

-- Acts on all gates of a rule that are not done. They are locked in the order of their ids, so that concurrent calls
-- cannot deadlock. Returns whether a row changed: a repeated call returns false.
--
--   pause   deliveries behind open or held gates are no longer claimed, even if a held gate opens meanwhile
--   resume  deliveries behind paused gates are claimed again, except behind held gates
--   abort   deliveries that are not sent yet end as cancelled; this cannot be undone
CREATE OR REPLACE FUNCTION fanfare.set_gates(rule_id int, what text, why text DEFAULT NULL) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM FROM fanfare.gates AS g WHERE g.rule_id = set_gates.rule_id AND g.state <> 'done' ORDER BY g.id FOR NO KEY UPDATE;
    CASE what
    WHEN 'pause' THEN
        UPDATE fanfare.gates AS g SET is_paused = true, reason = why
        WHERE g.rule_id = set_gates.rule_id AND g.state IN ('open', 'held') AND NOT g.is_paused;
    WHEN 'resume' THEN
        UPDATE fanfare.gates AS g SET is_paused = false, reason = NULL
        WHERE g.rule_id = set_gates.rule_id AND g.state IN ('open', 'held') AND g.is_paused;
    WHEN 'abort' THEN
        UPDATE fanfare.gates AS g SET state = 'aborting', is_paused = false, reason = why
        WHERE g.rule_id = set_gates.rule_id AND g.state IN ('open', 'held');
    END CASE;
    RETURN FOUND;
END
$$;
COMMENT ON FUNCTION fanfare.set_gates IS 'Pauses, resumes or aborts the gates of a rule; returns whether a gate changed.';

-- Simple enough to be inlined. Before the ramp began, and after the clock was set back, the rate is the one that the
-- ramp starts from.
CREATE OR REPLACE FUNCTION fanfare.rate_at(
    per_second real, ramp_from real, ramp_seconds int, ramp_began_at timestamptz, at timestamptz) RETURNS float8
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN ramp_from IS NULL THEN per_second
    ELSE ramp_from + (per_second - ramp_from) * least(1, greatest(0, extract(epoch FROM at - ramp_began_at)::float8 / ramp_seconds)) END;
COMMENT ON FUNCTION fanfare.rate_at IS 'The deliveries per second that a rate allows at a time.';
GRANT EXECUTE ON FUNCTION fanfare.rate_at TO fanfare_reader;

-- A changed rate keeps what was claimed of the old one, so that storing a campaign again and again gains nothing, and a
-- ramp goes on from where it is. A ramp that is new while a run is under way begins at once, since nothing else would
-- start it.
CREATE OR REPLACE FUNCTION fanfare.set_rate(rule_id int, per_second int, ramp_from int DEFAULT NULL, ramp_seconds int DEFAULT NULL)
RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    rate int;
    begins timestamptz := CASE
        WHEN set_rate.ramp_from IS NOT NULL AND EXISTS (
            SELECT FROM fanfare.gates AS g WHERE g.rule_id = set_rate.rule_id AND g.run_id IS NOT NULL AND g.state <> 'done')
        THEN clock_timestamp() END;
BEGIN
    IF set_rate.per_second IS NULL THEN
        DELETE FROM fanfare.rates AS r WHERE r.rule_id = set_rate.rule_id;
    ELSE
        INSERT INTO fanfare.rates AS r (rule_id, per_second, ramp_from, ramp_seconds, ramp_began_at)
        VALUES (set_rate.rule_id, set_rate.per_second, set_rate.ramp_from, set_rate.ramp_seconds, begins)
        ON CONFLICT (rule_id) WHERE rule_id IS NOT NULL DO UPDATE
        -- The debt is a number of deliveries, so its time is scaled to the new rate.
        SET per_second = excluded.per_second, ramp_from = excluded.ramp_from, ramp_seconds = excluded.ramp_seconds,
            ramp_began_at = CASE WHEN r.ramp_from IS NULL THEN excluded.ramp_began_at
                WHEN excluded.ramp_from IS NOT NULL THEN r.ramp_began_at END,
            next_free = r.next_free + greatest(r.next_free - clock_timestamp(), interval '0') * (
                fanfare.rate_at(r.per_second, r.ramp_from, r.ramp_seconds, r.ramp_began_at, clock_timestamp())
                / fanfare.rate_at(excluded.per_second, excluded.ramp_from, excluded.ramp_seconds,
                    CASE WHEN r.ramp_from IS NULL THEN excluded.ramp_began_at ELSE r.ramp_began_at END, clock_timestamp()) - 1)
        RETURNING r.id INTO rate;
    END IF;
    UPDATE fanfare.gates AS g SET rate_id = rate
    WHERE g.rule_id = set_rate.rule_id AND g.state <> 'done' AND g.rate_id IS DISTINCT FROM rate;
END
$$;
COMMENT ON FUNCTION fanfare.set_rate IS
    'Limits the rate at which deliveries behind a rule''s gates are claimed, from the next claim on, with an optional '
    'ramp; NULL removes the limit.';

CREATE OR REPLACE FUNCTION fanfare.begin_ramp(rule_id int) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE fanfare.rates AS r SET ramp_began_at = clock_timestamp() WHERE r.rule_id = begin_ramp.rule_id AND r.ramp_from IS NOT NULL;
END
$$;
COMMENT ON FUNCTION fanfare.begin_ramp IS 'Begins the ramp of a rule''s rate, if it has one.';

-- For the string form, as in 500/s, of campaigns and policies.
CREATE OR REPLACE FUNCTION fanfare.speed_error(speed jsonb, at text, OUT place text, OUT reason text, OUT hint text)
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    parts text[] := CASE WHEN jsonb_typeof(speed) = 'string' THEN regexp_match(speed #>> '{}', '^(0|[1-9][0-9]{0,8})/([smh])$') END;
    per_second numeric := parts[1]::numeric / CASE parts[2] WHEN 's' THEN 1 WHEN 'm' THEN 60 ELSE 3600 END;
BEGIN
    IF parts[2] = 's' AND per_second BETWEEN 1 AND 1000000 THEN
        RETURN;
    END IF;
    place := at;
    reason := CASE WHEN speed IS NULL THEN 'is missing'
        WHEN jsonb_typeof(speed) <> 'string' THEN 'is not a rate'
        WHEN parts IS NULL THEN format('%L is not a rate', left(speed #>> '{}', 80))
        ELSE format('%s is %s/s', speed #>> '{}', trim_scale(round(per_second, 4))) END;
    hint := CASE WHEN per_second < 1 THEN 'at least 1/s; for less use a cap or smaller audiences'
        WHEN per_second > 1000000 THEN 'at most 1000000/s; without a rate it goes as fast as it can'
        ELSE 'write how many pushes a second, as in 500/s' END;
END
$$;
COMMENT ON FUNCTION fanfare.speed_error IS 'The error in a rate such as 500/s.';
GRANT EXECUTE ON FUNCTION fanfare.speed_error TO fanfare_author;

CREATE OR REPLACE FUNCTION fanfare.per_second(speed text) RETURNS int LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN split_part(speed, '/', 1)::int;
COMMENT ON FUNCTION fanfare.per_second IS 'The number per second of a rate such as 500/s in which speed_error finds no error.';
GRANT EXECUTE ON FUNCTION fanfare.per_second TO fanfare_author;

-- ---------------------------------------------------------------------------------------------------------------
-- 20. Functions: watched tables
-- ---------------------------------------------------------------------------------------------------------------
-- Statement-level triggers that emit one event per inserted, changed or deleted row.
--
-- Rights. The application role that writes to a watched table has no rights here, so the trigger function must bring
-- its own: it is SECURITY DEFINER. It must not belong to fanfare_owner, though: to_jsonb and the key's equality run
-- code that comes with the column types (a cast to json, an operator), and the table's owner may change those types at
-- any time. So each watch has a function of its own that belongs to the table's owner and has only the owner's rights.
-- The owner needs emit rights (fanfare_emitter); if they are revoked, writes to the table fail. The functions below run
-- with their caller's rights, so they can do nothing to a table that the caller cannot do.
-- * EXECUTE is revoked from every other role (default privileges included): a role that may execute a trigger function
--   may put it on a temporary table of its own and emit through it.
-- * It INSERTs into the outbox itself: one INSERT … SELECT streams a statement's events. An array passed to a function
--   of fanfare_owner would hold them all in memory, and be limited to 1 GB.
-- * The function is created in the table's schema, not in fanfare: no application role needs CREATE in fanfare, and a
--   dump of the table's schema alone can be restored.
--
-- Errors. A watch never fails its table's write because of a row's values. to_jsonb raises an error for some values: a
-- NUL or half a surrogate pair in json, a type whose own cast raises, jsonb as deep as the stack, 300 MB of text. Only
-- the AFTER trigger itself can catch its errors.
-- * So the INSERT … SELECT is always in a block with an EXCEPTION clause. The block is a subtransaction that writes,
--   and takes one transaction id for each statement: 3 to 6 µs of the 100 µs of a transaction with one row, nothing for
--   each further row. While a transaction with more than 64 such statements is open, other sessions look its ids up in
--   pg_subtrans, as with savepoints. Too few types have only values that cannot fail to make an exception for them:
--   text may be too large, jsonb too deep, and enums may get a cast. Other ways cost more: a block that makes the
--   payloads, with the INSERT after it, takes 20 µs; a function with a block for each row takes 2 µs a row. (PostgreSQL
--   15 and 18, November 2026.)
-- * If the INSERT fails, watch_query_each emits the statement's rows again, each value in a block of its own. A row
--   with a value that jsonb cannot hold becomes an event that ends as refused: its payload is an array, not an object,
--   with the name of the column and the rest of the row. If that fails too (the key's equality raises),
--   watch_query_bare emits such an event for each row, without its values.
-- * Errors that do not come from the row still fail the write: cancels, timeouts, deadlocks, lack of memory or disk. So
--   does a revoked right, since the last INSERT is in no block.
--
-- What a watch emits:
-- * A row has changed if the stored value differs (record_image_ne). The comparison is NULL-safe, works for every type,
--   including json, and calls no user-defined operator. Values that differ only in spelling (citext, 1.0 and 1.00)
--   count as changed, since the payload shows it.
-- * columns NULL means all columns, including those added later. A list is fixed; so are the key's columns. If one of
--   them was renamed or dropped, events omit it, use the present key, and are emitted for every update, because a
--   change of the missing column must not be lost. Writes take longer meanwhile, and fanfare.health names the watch to
--   create again. Renaming the table needs no action: "table" is its name at the time.
-- * A changed key is a delete and an insert, each emitted if its operation is watched. TRUNCATE emits nothing.
-- * A watch on a partitioned or inherited table emits the rows written through that table. Rows written to a partition
--   directly are emitted only by a watch on that partition, and such a watch emits nothing else.
-- * Transition tables lack virtual generated columns (PostgreSQL 18): a watch of all columns has all others.
-- * Times with a zone are written with the offset of the writing session's TimeZone, as everywhere in PostgreSQL.
-- * Replicated changes (session_replication_role = replica) fire no triggers. Row security does not filter payloads.
-- * After ALTER TABLE … OWNER TO, run watch_table again: until then the trigger runs with the old owner's rights.

-- md5 keeps a long event type within an identifier's length, and makes the names the same in every database.
CREATE OR REPLACE FUNCTION fanfare.watch_trigger(event_type text, operation text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT 'fanfare_watch_' || md5(event_type) || '_' || operation;
END;
COMMENT ON FUNCTION fanfare.watch_trigger IS 'The name of the trigger that emits one operation on a watched table as events of one type.';
GRANT EXECUTE ON FUNCTION fanfare.watch_trigger TO fanfare_emitter, fanfare_author;

CREATE OR REPLACE FUNCTION fanfare.check_watchable(rel regclass, event_type text) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    class pg_class;
BEGIN
    SELECT * INTO class FROM pg_class AS c WHERE c.oid = rel;
    IF class.oid IS NULL THEN
        RAISE EXCEPTION 'watch_table: there is no such table' USING ERRCODE = 'undefined_table', HINT = 'Name an existing table as rel.';
    ELSIF class.relkind NOT IN ('r', 'p') THEN
        RAISE EXCEPTION 'watch_table: % is not a table', rel
            USING ERRCODE = 'wrong_object_type', HINT = 'Views and foreign tables have no transition tables: watch the tables below.';
    ELSIF class.relpersistence = 't' THEN
        RAISE EXCEPTION 'watch_table: % is a temporary table', rel
            USING ERRCODE = 'wrong_object_type', HINT = 'Call fanfare.emit instead.';
    ELSIF class.relnamespace = 'fanfare'::regnamespace THEN
        RAISE EXCEPTION 'watch_table: % belongs to Fanfare itself', rel
            USING ERRCODE = 'wrong_object_type', HINT = 'Events about events would never end.';
    ELSIF NOT pg_has_role(class.relowner, 'USAGE') THEN
        RAISE EXCEPTION 'watch_table: must be owner of table %', rel
            USING ERRCODE = 'insufficient_privilege', HINT = format('SET ROLE %I first.', class.relowner::regrole);
    ELSIF NOT pg_has_role(class.relowner, 'fanfare_emitter', 'USAGE') THEN
        RAISE EXCEPTION 'watch_table: %, the owner of %, may not emit events', class.relowner::regrole, rel
            USING ERRCODE = 'insufficient_privilege', HINT = format('GRANT fanfare_emitter TO %s;', class.relowner::regrole);
    ELSIF NOT has_schema_privilege(class.relowner, class.relnamespace, 'CREATE') THEN
        RAISE EXCEPTION 'watch_table: %, the owner of %, may not create the trigger function beside it', class.relowner::regrole, rel
            USING ERRCODE = 'insufficient_privilege',
            HINT = format('GRANT CREATE ON SCHEMA %s TO %s;', class.relnamespace::regnamespace, class.relowner::regrole);
    ELSIF fanfare.is_event_type(event_type) IS NOT TRUE THEN
        RAISE EXCEPTION 'watch_table: % is not an event type', coalesce(quote_literal(left(event_type, 80)), 'NULL')
            USING ERRCODE = 'invalid_parameter_value', HINT = 'An event type has 1 to 255 bytes on one line, for example order.shipped.';
    ELSIF fanfare.is_reserved(event_type) THEN
        RAISE EXCEPTION 'watch_table: events of type % are emitted by Fanfare only', quote_literal(left(event_type, 80))
            USING ERRCODE = 'invalid_parameter_value', HINT = 'Choose a type that does not begin with campaign., campaign-test., digest. or send.';
    END IF;
END
$$;
COMMENT ON FUNCTION fanfare.check_watchable IS
    'Raises an error for tables that watch_table cannot watch, with the reason and how to fix it.';
GRANT EXECUTE ON FUNCTION fanfare.check_watchable TO fanfare_emitter;

CREATE OR REPLACE FUNCTION fanfare.computed_columns(rel oid) RETURNS text[]
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT coalesce(array_agg(a.attname::text ORDER BY a.attname), '{}')
    FROM pg_attribute AS a WHERE a.attrelid = rel AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = 'v';
END;
COMMENT ON FUNCTION fanfare.computed_columns IS 'The virtual generated columns of a table, which triggers do not see.';
GRANT EXECUTE ON FUNCTION fanfare.computed_columns TO fanfare_emitter, fanfare_reader, fanfare_author;

CREATE OR REPLACE FUNCTION fanfare.check_watch_lists(rel regclass, columns text[], operations text[]) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    wrong text;
BEGIN
    SELECT string_agg(coalesce(quote_literal(o), 'NULL'), ', ') INTO wrong
    FROM unnest(operations) AS o WHERE (o IN ('insert', 'update', 'delete')) IS NOT TRUE;
    IF wrong IS NOT NULL OR coalesce(cardinality(operations), 0) = 0 THEN
        RAISE EXCEPTION 'watch_table: cannot watch the operations %', coalesce(wrong, '{}')
            USING ERRCODE = 'invalid_parameter_value', HINT = 'Choose from insert, update and delete, in lower case.';
    END IF;

    SELECT string_agg(coalesce(quote_ident(c), 'NULL'), ', ') INTO wrong FROM unnest(columns) AS c
    WHERE NOT EXISTS (SELECT FROM pg_attribute AS a WHERE a.attrelid = rel AND a.attname = c AND a.attnum > 0 AND NOT a.attisdropped);
    IF wrong IS NOT NULL THEN
        RAISE EXCEPTION 'watch_table: % has no column %', rel, wrong
            USING ERRCODE = 'undefined_column', HINT = 'Names are compared as they are stored: case matters, no quotes.';
    ELSIF cardinality(columns) = 0 THEN
        RAISE EXCEPTION 'watch_table: the list of columns is empty'
            USING ERRCODE = 'invalid_parameter_value', HINT = 'Name the columns, or pass NULL for all of them.';
    END IF;

    SELECT string_agg(quote_ident(c), ', ') INTO wrong FROM unnest(columns) AS c WHERE c = ANY (fanfare.computed_columns(rel));
    IF wrong IS NOT NULL THEN
        RAISE EXCEPTION 'watch_table: % is a virtual generated column, which triggers do not see', wrong
            USING ERRCODE = 'feature_not_supported', HINT = 'Make it STORED, or name the columns that it is computed from.';
    END IF;
END
$$;
COMMENT ON FUNCTION fanfare.check_watch_lists IS 'Raises an error that names unknown columns and operations.';
GRANT EXECUTE ON FUNCTION fanfare.check_watch_lists TO fanfare_emitter;

-- The operator comes from the key's index and is written with its schema: the trigger's search_path holds only
-- pg_catalog, which lacks the equality of an extension's type or has another one.
CREATE OR REPLACE FUNCTION fanfare.watch_key(rel regclass, OUT names text[], OUT matches text, OUT joinable boolean)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT array_agg(a.attname::text ORDER BY k.position),
        string_agg(format('fanfare_new.%1$I OPERATOR(%2$I.%3$s) fanfare_old.%1$I', a.attname, n.nspname, o.oprname), ' AND ' ORDER BY k.position),
        -- A deferred key may hold one value twice when the trigger runs. FULL JOIN needs operators that can merge or
        -- hash.
        bool_and(i.indimmediate) AND (bool_and(o.oprcanmerge) OR bool_and(o.oprcanhash))
    FROM pg_index AS i
    CROSS JOIN LATERAL unnest(i.indkey::int2[], i.indclass::oid[]) WITH ORDINALITY AS k (attnum, opclass, position)
    JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
    JOIN pg_opclass AS c ON c.oid = k.opclass
    JOIN pg_amop AS m ON m.amopfamily = c.opcfamily AND m.amoplefttype = c.opcintype AND m.amoprighttype = c.opcintype
        AND m.amopstrategy = 3 -- equality, in a btree
    JOIN pg_operator AS o ON o.oid = m.amopopr
    JOIN pg_namespace AS n ON n.oid = o.oprnamespace
    WHERE i.indrelid = rel AND i.indisprimary AND k.position <= i.indnkeyatts;
END;
COMMENT ON FUNCTION fanfare.watch_key IS 'The primary key''s columns, and the condition that pairs a row before an update with the row after.';
GRANT EXECUTE ON FUNCTION fanfare.watch_key TO fanfare_emitter;

CREATE OR REPLACE FUNCTION fanfare.watch_insert(event_type text, delay interval) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp SET intervalstyle = postgres
BEGIN ATOMIC
    SELECT CASE WHEN delay IS NULL THEN format(E'INSERT INTO fanfare.outbox (type, payload)\n        SELECT %L', event_type)
        ELSE format(E'INSERT INTO fanfare.scheduled (type, at, payload)\n        SELECT %L, clock_timestamp() + interval %L', event_type, delay::text) END;
END;
COMMENT ON FUNCTION fanfare.watch_insert IS 'The beginning of the INSERT … SELECT of a watch, up to the payload: at once, or scheduled with a delay.';
GRANT EXECUTE ON FUNCTION fanfare.watch_insert TO fanfare_emitter;

-- to_jsonb of one nested row builds the payload in a single pass: jsonb_build_object takes a fifth longer, and is
-- limited to 50 columns. The sub-selects only name columns; the planner flattens them. If the table has virtual
-- generated columns, the payload is made from the whole row, which has NULL for them, and they are removed: naming one
-- fails.
CREATE OR REPLACE FUNCTION fanfare.watch_query(event_type text, operation text, shown text[], computed text[], compared text[], operations text[],
    key_names text[], key_matches text, table_name text, delay interval DEFAULT NULL)
RETURNS text LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    new_row text := '(SELECT fanfare_new.*) AS fanfare_new_row';
    old_row text := '(SELECT fanfare_old.*) AS fanfare_old_row';
    changed text := 'record_image_ne(ROW(fanfare_new.*), ROW(fanfare_old.*))';
    new_value text := 'fanfare_new_row';
    old_value text := 'fanfare_old_row';
    without text := '';
BEGIN
    IF shown IS NOT NULL THEN
        SELECT format('(SELECT %s) AS fanfare_new_row', string_agg(format('fanfare_new.%I', name), ', ')),
            format('(SELECT %s) AS fanfare_old_row', string_agg(format('fanfare_old.%I', name), ', '))
        INTO new_row, old_row
        FROM (SELECT unnest(key_names) AS name UNION SELECT unnest(shown) ORDER BY name) AS shown;
    ELSIF cardinality(computed) > 0 THEN
        new_row := '(SELECT) AS fanfare_new_row';
        old_row := '(SELECT) AS fanfare_old_row';
        -- COALESCE, since a bare name could also be that of a column.
        new_value := 'COALESCE(fanfare_new.*)';
        old_value := 'COALESCE(fanfare_old.*)';
        changed := 'record_image_ne(fanfare_new.*, fanfare_old.*)';
        SELECT string_agg(format(' #- ARRAY[''new'', %1$L] #- ARRAY[''old'', %1$L]', name), '') INTO without FROM unnest(computed) AS name;
    END IF;
    IF compared IS NOT NULL THEN
        SELECT format('record_image_ne(ROW(%s), ROW(%s))', string_agg(format('fanfare_new.%I', name), ', '), string_agg(format('fanfare_old.%I', name), ', '))
        INTO changed
        FROM (SELECT DISTINCT unnest(compared) AS name ORDER BY name) AS compared;
    END IF;
    RETURN format(CASE WHEN operation = 'insert' OR operation = 'update' AND key_names IS NULL THEN $sql$
        %1$s, to_jsonb(inserted)%11$s
        FROM fanfare_new CROSS JOIN LATERAL %2$s
        CROSS JOIN LATERAL (SELECT %10$L::text AS op, %9$s AS "table", %12$s AS new) AS inserted;$sql$
    WHEN operation = 'delete' THEN $sql$
        %1$s, to_jsonb(deleted)%11$s
        FROM fanfare_old CROSS JOIN LATERAL %3$s
        CROSS JOIN LATERAL (SELECT 'delete'::text AS op, %9$s AS "table", %13$s AS old) AS deleted;$sql$
    ELSE $sql$
        -- A FULL JOIN, and a condition that cannot reduce it: the plan is cached, and a plan made for a single row must
        -- not be a nested loop, which a statement with a hundred thousand rows would use next.
        %1$s, CASE WHEN fanfare_new.%4$I IS NULL THEN to_jsonb(deleted)
            WHEN fanfare_old.%4$I IS NULL THEN to_jsonb(inserted) ELSE to_jsonb(updated) END%11$s
        FROM fanfare_new FULL JOIN fanfare_old ON %5$s CROSS JOIN LATERAL %2$s CROSS JOIN LATERAL %3$s
        CROSS JOIN LATERAL (SELECT 'insert'::text AS op, %9$s AS "table", %12$s AS new) AS inserted
        CROSS JOIN LATERAL (SELECT 'delete'::text AS op, %9$s AS "table", %13$s AS old) AS deleted
        CROSS JOIN LATERAL (SELECT 'update'::text AS op, %9$s AS "table", %12$s AS new, %13$s AS old) AS updated
        WHERE CASE WHEN fanfare_new.%4$I IS NULL THEN %7$L::boolean WHEN fanfare_old.%4$I IS NULL THEN %8$L::boolean ELSE %6$s END;$sql$
    END, fanfare.watch_insert(event_type, delay), new_row, old_row, key_names[1], key_matches, changed, 'delete' = ANY (operations), 'insert' = ANY (operations), table_name, operation, without, new_value, old_value);
END
$$;
COMMENT ON FUNCTION fanfare.watch_query IS 'The INSERT … SELECT that emits the changes of one statement on a watched table.';
GRANT EXECUTE ON FUNCTION fanfare.watch_query TO fanfare_emitter;

-- Declared IMMUTABLE, although it is not: with constant arguments the planner evaluates it, and it costs nothing at
-- execution. The table's oid in the expression makes PostgreSQL plan again whenever the table is altered. It reads the
-- catalog through the parser's caches and not through a snapshot, which may be older.
CREATE OR REPLACE FUNCTION fanfare.watch_stands(rel oid, names text[]) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY names LOOP
        PERFORM has_column_privilege(rel, name, 'SELECT');
    END LOOP;
    RETURN true;
EXCEPTION WHEN undefined_column THEN
    RETURN false;
END
$$;
COMMENT ON FUNCTION fanfare.watch_stands IS 'Whether a table has all columns that a watch of it names.';
GRANT EXECUTE ON FUNCTION fanfare.watch_stands TO fanfare_emitter;

-- IMMUTABLE for the same reason as watch_stands. In a transaction with an older snapshot, the catalog may be older than
-- the table; then the INSERT fails, and the rows are emitted without their values.
CREATE OR REPLACE FUNCTION fanfare.watch_fits(rel oid, names text[], computed text[]) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    today text[];
BEGIN
    IF NOT fanfare.watch_stands(rel, names) THEN
        RETURN false;
    ELSIF current_setting('server_version_num')::int >= 180000 THEN
        today := fanfare.computed_columns(rel);
        RETURN NOT today && names AND (computed IS NULL OR today <@ computed);
    END IF;
    RETURN true;
END
$$;
COMMENT ON FUNCTION fanfare.watch_fits IS
    'Whether a table has all columns that a watch of it names, and no virtual generated columns except those that the watch omits.';
GRANT EXECUTE ON FUNCTION fanfare.watch_fits TO fanfare_emitter;

CREATE OR REPLACE FUNCTION fanfare.watch_query_now(rel oid, event_type text, operation text, columns text[], operations text[], delay interval DEFAULT NULL) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    computed CONSTANT text[] := fanfare.computed_columns(rel);
    key record;
    left_over text[];
BEGIN
    SELECT CASE WHEN k.joinable THEN k.names END AS names, k.matches INTO key FROM fanfare.watch_key(rel) AS k;
    IF columns IS NOT NULL THEN
        SELECT array_agg(c) FILTER (WHERE fanfare.watch_stands(rel, ARRAY[c]) AND c <> ALL (computed)) INTO left_over FROM unnest(columns) AS c;
    END IF;
    RETURN fanfare.watch_query(event_type, operation, CASE WHEN columns IS NOT NULL THEN coalesce(left_over || key.names, left_over, key.names, '{}') END,
        computed, NULL, operations, key.names, key.matches, '$1', delay);
END
$$;
COMMENT ON FUNCTION fanfare.watch_query_now IS 'The statement of a watch whose table was altered; $1 is the table''s name.';
GRANT EXECUTE ON FUNCTION fanfare.watch_query_now TO fanfare_emitter;

-- Reasons never quote the value. PostgreSQL's message may quote it, and is only in the payload.
CREATE OR REPLACE FUNCTION fanfare.watch_value(value anyelement) RETURNS jsonb
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    told jsonb;
BEGIN
    told := coalesce(to_jsonb(value), 'null');
    IF octet_length(told::text) > 65536 THEN
        RETURN '[null, "it has more than 65536 bytes"]';
    END IF;
    RETURN jsonb_build_array(told);
EXCEPTION
    WHEN transaction_rollback OR insufficient_resources OR operator_intervention OR system_error OR lock_not_available THEN
        RAISE;
    WHEN OTHERS OR assert_failure THEN
        RETURN jsonb_build_array(NULL, 'SQLSTATE ' || SQLSTATE || CASE SQLSTATE
            WHEN '22P05' THEN ', for example a NUL in json'
            WHEN '22P02' THEN ', for example half a surrogate pair in json'
            WHEN '22003' THEN ', for example a number that numeric cannot hold'
            WHEN '54000' THEN ', for example a value that is too large'
            WHEN '54001' THEN ', for example a value that is nested too deeply'
            ELSE '' END, left(SQLERRM, 1000));
END
$$;
COMMENT ON FUNCTION fanfare.watch_value IS 'A value as [jsonb], or [null, reason, message] if it cannot be emitted.';
GRANT EXECUTE ON FUNCTION fanfare.watch_value TO fanfare_emitter;

CREATE OR REPLACE FUNCTION fanfare.watch_event(operation text, table_name text, new_values jsonb, old_values jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    event jsonb := jsonb_build_object('op', operation, 'table', table_name);
    side record;
    shown jsonb;
    reasons text[] := '{}';
    messages jsonb := '{}';
BEGIN
    FOR side IN SELECT * FROM (VALUES ('new', new_values), ('old', old_values)) AS s (name, told) WHERE s.told IS NOT NULL LOOP
        SELECT coalesce(jsonb_object_agg(v.key, v.value -> 0) FILTER (WHERE jsonb_array_length(v.value) = 1), '{}'),
            reasons || coalesce(array_agg(format('column %I cannot be emitted: %s', v.key, v.value ->> 1)) FILTER (WHERE jsonb_array_length(v.value) > 1), '{}'),
            messages || coalesce(jsonb_object_agg(v.key, v.value -> 2) FILTER (WHERE jsonb_array_length(v.value) > 2), '{}')
        INTO shown, reasons, messages
        FROM jsonb_each(side.told) AS v;
        event := event || jsonb_build_object(side.name, shown);
    END LOOP;
    IF reasons = '{}' THEN
        RETURN event;
    END IF;
    SELECT array_agg(DISTINCT r ORDER BY r) INTO reasons FROM unnest(reasons) AS r;
    RETURN jsonb_build_array('fanfare.watch_table', table_name || ': ' || left(array_to_string(reasons, '; '), 1000),
        event || CASE WHEN messages = '{}' THEN '{}' ELSE jsonb_build_object('errors', messages) END);
END
$$;
COMMENT ON FUNCTION fanfare.watch_event IS
    'An event''s payload, built from values by watch_value. If a value cannot be emitted, an array: the name '
    'fanfare.watch_table, the reason and the rest. Planning refuses a payload that is not an object, with this '
    'reason.';
GRANT EXECUTE ON FUNCTION fanfare.watch_event TO fanfare_emitter;

-- The values are not combined into a row, which is limited to 1 GB. Large values are not read.
CREATE OR REPLACE FUNCTION fanfare.watch_query_each(rel oid, event_type text, operation text, columns text[], operations text[], delay interval DEFAULT NULL) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    key record;
    seen text[];
    shown text[];
    side text := $sql$(SELECT jsonb_object_agg(name, value) AS told FROM (VALUES %s) AS v (name, value)) AS told_%s$sql$;
    new_told text;
    old_told text;
    changed text;
BEGIN
    SELECT CASE WHEN k.joinable THEN k.names END AS names, k.matches INTO key FROM fanfare.watch_key(rel) AS k;
    SELECT array_agg(a.attname::text ORDER BY a.attnum) INTO seen
    FROM pg_attribute AS a WHERE a.attrelid = rel AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated <> 'v';
    shown := CASE WHEN columns IS NULL THEN seen ELSE ARRAY(SELECT unnest(columns) INTERSECT SELECT unnest(seen) UNION SELECT unnest(key.names)) END;
    SELECT format(side, string_agg(format(value, name, 'fanfare_new'), ', '), 'new'), format(side, string_agg(format(value, name, 'fanfare_old'), ', '), 'old')
    INTO new_told, old_told
    FROM unnest(shown) AS name, (VALUES ($sql$(%1$L, CASE WHEN pg_column_size(%2$s.%1$I) > 262144
        THEN '[null, "it has more than 65536 bytes"]' ELSE fanfare.watch_value(%2$s.%1$I) END)$sql$)) AS v (value);
    -- If a watched column was dropped, any column may have changed.
    SELECT string_agg(format('record_image_ne(ROW(fanfare_new.%1$I), ROW(fanfare_old.%1$I))', name), ' OR ') INTO changed
    FROM unnest(CASE WHEN columns <@ seen THEN columns ELSE seen END) AS name;
    RETURN format(CASE WHEN operation = 'insert' OR operation = 'update' AND key.names IS NULL THEN $sql$
        %1$s, fanfare.watch_event(%9$L, $1, told_new.told, NULL) FROM fanfare_new CROSS JOIN LATERAL %2$s$sql$
    WHEN operation = 'delete' THEN $sql$
        %1$s, fanfare.watch_event('delete', $1, NULL, told_old.told) FROM fanfare_old CROSS JOIN LATERAL %3$s$sql$
    ELSE $sql$
        %1$s, CASE WHEN fanfare_new.%4$I IS NULL THEN fanfare.watch_event('delete', $1, NULL, told_old.told)
            WHEN fanfare_old.%4$I IS NULL THEN fanfare.watch_event('insert', $1, told_new.told, NULL)
            ELSE fanfare.watch_event('update', $1, told_new.told, told_old.told) END
        FROM fanfare_new FULL JOIN fanfare_old ON %5$s CROSS JOIN LATERAL %2$s CROSS JOIN LATERAL %3$s
        WHERE CASE WHEN fanfare_new.%4$I IS NULL THEN %7$L::boolean WHEN fanfare_old.%4$I IS NULL THEN %8$L::boolean ELSE %6$s END$sql$
    END, fanfare.watch_insert(event_type, delay), new_told, old_told, key.names[1], key.matches, changed, 'delete' = ANY (operations), 'insert' = ANY (operations), operation);
END
$$;
COMMENT ON FUNCTION fanfare.watch_query_each IS 'The statement of a watch whose INSERT failed: each value in a block of its own; $1 is the table''s name.';
GRANT EXECUTE ON FUNCTION fanfare.watch_query_each TO fanfare_emitter;

CREATE OR REPLACE FUNCTION fanfare.watch_query_bare(event_type text, operation text, delay interval DEFAULT NULL) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT format($sql$
        %s, jsonb_build_array('fanfare.watch_table', $1 || ': the row cannot be emitted: SQLSTATE ' || $2,
            jsonb_build_object('op', %L, 'table', $1, 'error', left($3, 1000)))
        FROM %s$sql$, fanfare.watch_insert(event_type, delay), operation, CASE operation WHEN 'delete' THEN 'fanfare_old' ELSE 'fanfare_new' END);
END;
COMMENT ON FUNCTION fanfare.watch_query_bare IS 'The statement of a watch whose key cannot be compared; $1 is the table''s name, $2 and $3 are the error.';
GRANT EXECUTE ON FUNCTION fanfare.watch_query_bare TO fanfare_emitter;

CREATE OR REPLACE FUNCTION fanfare.watch_body(rel regclass, event_type text, columns text[], operations text[], delay interval DEFAULT NULL) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    -- Sorted, so that the same watch has the same source.
    shown CONSTANT text[] := CASE WHEN columns IS NOT NULL THEN ARRAY(SELECT DISTINCT unnest(columns) ORDER BY 1) END;
    told CONSTANT text[] := ARRAY(SELECT DISTINCT unnest(operations) ORDER BY 1);
    computed CONSTANT text[] := CASE WHEN columns IS NULL THEN fanfare.computed_columns(rel) END;
    raised CONSTANT text := 'transaction_rollback OR insufficient_resources OR operator_intervention OR system_error OR lock_not_available';
    key record;
    needed text[];
    branches text;
BEGIN
    SELECT * INTO key FROM fanfare.watch_key(rel);
    IF 'update' = ANY (operations) AND key.joinable IS NOT TRUE THEN
        RAISE EXCEPTION 'watch_table: UPDATE of % cannot be watched, because it has no %', rel,
                CASE WHEN key.names IS NULL THEN 'primary key' ELSE 'primary key that is unique at once and can be joined by' END
            USING ERRCODE = 'invalid_table_definition',
            HINT = 'A row before and after is told apart by the primary key: add one (not DEFERRABLE), or pass operations => ''{insert,delete}''.';
    END IF;
    SELECT string_agg(format('ELSIF TG_OP = %L THEN%s', upper(o COLLATE "C"),
        fanfare.watch_query(event_type, o, shown, computed, shown, told, key.names, key.matches, 'fanfare_table', delay)), E'\n    ' ORDER BY o)
    INTO branches
    FROM unnest(told) AS o;
    needed := ARRAY(SELECT unnest(key.names) UNION SELECT unnest(shown) ORDER BY 1);
    RETURN format($body$
-- Written by fanfare.watch_table for events of type %1$s. Change it there.
-- Needs %3$s.
-- Leaves out %9$s.
#variable_conflict use_variable
DECLARE
    -- The name of today: a renamed table is told by its new one.
    fanfare_table CONSTANT text := quote_ident(TG_TABLE_SCHEMA) || '.' || quote_ident(TG_TABLE_NAME);
BEGIN
    BEGIN
        -- The first call is evaluated when the expression is planned, not when it runs; a restored table has another oid.
        IF NOT (TG_RELID = %4$s::oid AND fanfare.watch_fits(%4$s, %5$L, %10$L) OR fanfare.watch_fits(TG_RELID, %5$L, %10$L)) THEN
            EXECUTE fanfare.watch_query_now(TG_RELID, %6$L, lower(TG_OP COLLATE "C"), %7$L, %8$L%12$s) USING fanfare_table;
            RETURN NULL;
        %2$s
        END IF;
    EXCEPTION
        WHEN %11$s THEN
            RAISE;
        WHEN OTHERS OR assert_failure THEN
            -- A value cannot be emitted. The write goes on, and each row is emitted without such values.
            BEGIN
                EXECUTE fanfare.watch_query_each(TG_RELID, %6$L, lower(TG_OP COLLATE "C"), %7$L, %8$L%12$s) USING fanfare_table;
            EXCEPTION
                WHEN %11$s THEN
                    RAISE;
                WHEN OTHERS OR assert_failure THEN
                    EXECUTE fanfare.watch_query_bare(%6$L, lower(TG_OP COLLATE "C")%12$s) USING fanfare_table, SQLSTATE, SQLERRM;
            END;
            RETURN NULL;
    END;
    RETURN NULL;
END
$body$, event_type, branches, to_jsonb(needed), rel::oid, needed, event_type, shown, told,
        CASE WHEN columns IS NULL THEN to_jsonb(computed)::text ELSE 'what is not listed' END, computed, raised,
        -- Nothing without a delay, so that such a watch has the same source as in version 1.
        coalesce(format(', delay => %L', delay::text), ''));
END
$$;
COMMENT ON FUNCTION fanfare.watch_body IS 'The source of the trigger function of one watch.';
GRANT EXECUTE ON FUNCTION fanfare.watch_body TO fanfare_emitter;

-- Also finds functions that DROP TABLE left behind: a trigger function is not dropped with its table.
CREATE OR REPLACE FUNCTION fanfare.drop_unused_watches() RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    unused regprocedure;
BEGIN
    FOR unused IN
        SELECT p.oid FROM pg_proc AS p
        WHERE p.proname ~ '^fanfare_watch_[0-9a-f]{32}(_[0-9]+)?$' AND p.prorettype = 'trigger'::regtype AND p.prosecdef
            AND pg_has_role(p.proowner, 'USAGE') AND NOT EXISTS (SELECT FROM pg_trigger AS t WHERE t.tgfoid = p.oid)
    LOOP
        EXECUTE format('DROP FUNCTION %s', unused);
    END LOOP;
END
$$;
COMMENT ON FUNCTION fanfare.drop_unused_watches IS 'Drops the caller''s watch functions that no trigger uses.';
GRANT EXECUTE ON FUNCTION fanfare.drop_unused_watches TO fanfare_emitter;

CREATE OR REPLACE FUNCTION fanfare.make_watch_function(rel regclass, event_type text, body text) RETURNS regprocedure
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    class pg_class;
    made regprocedure;
    made_name text;
    grantee text;
BEGIN
    SELECT * INTO class FROM pg_class AS c WHERE c.oid = rel;
    -- Never replaces a function: one of that name may belong to another watch (of a table that had this name before).
    SELECT name INTO made_name
    FROM generate_series(1, 1000) AS n
    CROSS JOIN LATERAL (SELECT 'fanfare_watch_' || md5(class.relname || ' ' || event_type) || coalesce('_' || nullif(n, 1), '') AS name) AS candidate
    WHERE NOT EXISTS (SELECT FROM pg_proc AS p WHERE p.proname = name AND p.pronamespace = class.relnamespace)
    ORDER BY n LIMIT 1;

    -- The estimates for a FULL JOIN of transition tables would trigger JIT compilation, without benefit.
    EXECUTE format('CREATE FUNCTION %s.%I() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off AS %L',
        class.relnamespace::regnamespace, made_name, body);
    made := format('%s.%I()', class.relnamespace::regnamespace, made_name)::regprocedure;
    EXECUTE format('COMMENT ON FUNCTION %s IS %L', made, format('Tells changes of %s as events of type %s.', rel, event_type));
    -- Any other role that may execute it, through PUBLIC or default privileges, could emit through a table of its own.
    FOR grantee IN
        SELECT CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END
        FROM pg_proc AS p CROSS JOIN LATERAL aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) AS a
        WHERE p.oid = made AND a.grantee <> p.proowner
    LOOP
        EXECUTE format('REVOKE ALL ON FUNCTION %s FROM %s', made, grantee);
    END LOOP;
    -- A superuser, or a member of the owning role, must not lend its own rights to the owner's column types.
    EXECUTE format('ALTER FUNCTION %s OWNER TO %s', made, class.relowner::regrole);
    RETURN made;
END
$$;
COMMENT ON FUNCTION fanfare.make_watch_function IS
    'Creates the trigger function of one watch, owned by the table''s owner, who alone may execute it.';
GRANT EXECUTE ON FUNCTION fanfare.make_watch_function TO fanfare_emitter;

CREATE OR REPLACE FUNCTION fanfare.watch_table(rel regclass, event_type text, columns text[] DEFAULT NULL, operations text[] DEFAULT '{insert,update,delete}',
    delay interval DEFAULT NULL)
RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    body text;
    made regprocedure;
    operation text;
BEGIN
    PERFORM fanfare.check_watchable(rel, event_type);
    PERFORM fanfare.check_watch_lists(rel, columns, operations);
    IF delay NOT BETWEEN interval '1 second' AND interval '10 years' THEN
        RAISE EXCEPTION 'watch_table: delay cannot be %', delay
            USING ERRCODE = 'invalid_parameter_value', HINT = 'Pass 1 second to 10 years, or NULL to emit at once.';
    END IF;
    body := fanfare.watch_body(rel, event_type, columns, operations, delay);
    IF fanfare.is_watched_by(rel, event_type, operations, body) THEN
        RETURN;
    END IF;

    -- The lock that CREATE TRIGGER takes, taken before the functions change, so that concurrent callers are serialized.
    EXECUTE format('LOCK TABLE %s IN SHARE ROW EXCLUSIVE MODE', rel);
    made := fanfare.make_watch_function(rel, event_type, body);
    FOREACH operation IN ARRAY '{insert,update,delete}'::text[] LOOP
        IF operation = ANY (operations) THEN
            EXECUTE format('CREATE OR REPLACE TRIGGER %I AFTER %s ON %s REFERENCING %s FOR EACH STATEMENT EXECUTE FUNCTION %s',
                fanfare.watch_trigger(event_type, operation), operation, rel,
                CASE operation WHEN 'insert' THEN 'NEW TABLE AS fanfare_new' WHEN 'delete' THEN 'OLD TABLE AS fanfare_old'
                    ELSE 'OLD TABLE AS fanfare_old NEW TABLE AS fanfare_new' END, made);
            EXECUTE format('COMMENT ON TRIGGER %I ON %s IS %L', fanfare.watch_trigger(event_type, operation), rel,
                'Emits events of type ' || event_type || ' (fanfare.watch_table).');
        ELSIF EXISTS (SELECT FROM pg_trigger AS t WHERE t.tgrelid = rel AND t.tgname = fanfare.watch_trigger(event_type, operation)) THEN
            EXECUTE format('DROP TRIGGER %I ON %s', fanfare.watch_trigger(event_type, operation), rel);
        END IF;
    END LOOP;
    PERFORM fanfare.drop_unused_watches();
    IF (SELECT c.relispartition FROM pg_class AS c WHERE c.oid = rel) THEN
        RAISE WARNING 'watch_table: % is a partition; what is written through its parent will not be told', rel
            USING HINT = 'Watch the partitioned table instead.';
    ELSIF (SELECT c.relkind = 'p' OR c.relhassubclass FROM pg_class AS c WHERE c.oid = rel) THEN
        RAISE NOTICE 'watch_table: rows written directly to a partition or child of % emit no events', rel
            USING HINT = 'Write to the watched table, or watch the partition too.';
    END IF;
    IF columns IS NULL AND fanfare.computed_columns(rel) <> '{}' THEN
        RAISE NOTICE 'watch_table: events will lack virtual generated columns: %', (SELECT string_agg(quote_ident(c), ', ') FROM unnest(fanfare.computed_columns(rel)) AS c)
            USING HINT = 'Make a column STORED to have it in events.';
    END IF;
END
$$;
COMMENT ON FUNCTION fanfare.watch_table IS
    'Emits an event of this type for every row of the table that is inserted, deleted or changed in one of the '
    'columns (NULL: any), at once or scheduled with a delay. A repeated call replaces the earlier watch.';
GRANT EXECUTE ON FUNCTION fanfare.watch_table TO fanfare_emitter;

-- Migrations call watch_table each time they run. Declaring the same watch again takes no lock.
CREATE OR REPLACE FUNCTION fanfare.is_watched_by(rel regclass, event_type text, operations text[], body text) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT count(*) FILTER (WHERE p.prosrc = body AND p.proowner = c.relowner AND p.pronamespace = c.relnamespace AND o.name = ANY (operations))
            = (SELECT count(DISTINCT name) FROM unnest(operations) AS name)
        AND count(*) = count(*) FILTER (WHERE o.name = ANY (operations))
    FROM unnest('{insert,update,delete}'::text[]) AS o (name)
    JOIN pg_trigger AS t ON t.tgrelid = rel AND t.tgname = fanfare.watch_trigger(event_type, o.name)
    JOIN pg_proc AS p ON p.oid = t.tgfoid
    JOIN pg_class AS c ON c.oid = t.tgrelid;
END;
COMMENT ON FUNCTION fanfare.is_watched_by IS 'Whether exactly this watch is in place already.';
GRANT EXECUTE ON FUNCTION fanfare.is_watched_by TO fanfare_emitter;

CREATE OR REPLACE FUNCTION fanfare.unwatch_table(rel regclass, event_type text DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    trigger_name name;
BEGIN
    IF NOT EXISTS (SELECT FROM pg_class AS c WHERE c.oid = rel AND pg_has_role(c.relowner, 'USAGE')) THEN
        RAISE EXCEPTION 'unwatch_table: must be owner of table %', coalesce(rel::text, 'NULL')
            USING ERRCODE = 'insufficient_privilege', HINT = 'SET ROLE to the owner of the table first.';
    END IF;
    FOR trigger_name IN
        SELECT t.tgname FROM pg_trigger AS t
        WHERE t.tgrelid = rel AND t.tgname ~ '^fanfare_watch_[0-9a-f]{32}_(insert|update|delete)$'
            AND (event_type IS NULL OR starts_with(t.tgname, fanfare.watch_trigger(event_type, '')))
        ORDER BY t.tgname
    LOOP
        EXECUTE format('DROP TRIGGER %I ON %s', trigger_name, rel);
    END LOOP;
    PERFORM fanfare.drop_unused_watches();
END
$$;
COMMENT ON FUNCTION fanfare.unwatch_table IS
    'Ends the table''s watch of this event type, or all of them (NULL). No error if there is none.';
GRANT EXECUTE ON FUNCTION fanfare.unwatch_table TO fanfare_emitter;

-- The owner of a watch's function may have changed it: a source that cannot be parsed is skipped. The view health calls
-- this function in sessions with any setting, and the patterns are plain literals.
CREATE OR REPLACE FUNCTION fanfare.watches_to_make_again() RETURNS TABLE (name text, ok boolean, detail text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on AS $$
DECLARE
    watch record;
    today text[];
    missing text;
    computed text;
BEGIN
    FOR watch IN
        SELECT DISTINCT t.tgrelid::regclass AS rel, p.prosrc AS body, (regexp_match(p.prosrc, ' for events of type (.*)\. Change it there\.$', 'n'))[1] AS type,
            (regexp_match(p.prosrc, '^-- Needs (\[.*\])\.$', 'n'))[1] AS needed, (regexp_match(p.prosrc, '^-- Leaves out (\[.*\])\.$', 'n'))[1] AS without,
            p.prosrc LIKE '%fanfare.watch_query_bare(%' AS is_guarded
        FROM pg_trigger AS t JOIN pg_proc AS p ON p.oid = t.tgfoid
        WHERE t.tgname ~ '^fanfare_watch_[0-9a-f]{32}_(insert|update|delete)$' AND p.proname ~ '^fanfare_watch_[0-9a-f]{32}(_[0-9]+)?$'
    LOOP
        name := format('watch: %s %s', watch.rel, watch.type);
        ok := true;
        IF watch.is_guarded THEN
            today := fanfare.computed_columns(watch.rel);
            BEGIN
                SELECT string_agg(n, ', ') INTO missing FROM jsonb_array_elements_text(watch.needed::jsonb) AS n
                WHERE n = ANY (today) OR NOT EXISTS (SELECT FROM pg_attribute AS a WHERE a.attrelid = watch.rel AND a.attname = n);
                SELECT string_agg(n, ', ') INTO computed FROM unnest(today) AS n
                WHERE watch.without IS NOT NULL AND NOT watch.without::jsonb ? n;
            EXCEPTION WHEN data_exception THEN
                CONTINUE;
            END;
            IF missing IS NOT NULL THEN
                ok := false;
                detail := 'events lack renamed or dropped columns (' || missing || '), and any change emits one; call fanfare.watch_table again';
            ELSIF computed IS NOT NULL THEN
                detail := 'events lack virtual generated columns (' || computed || '), and writes take longer; call fanfare.watch_table again';
            ELSE
                CONTINUE;
            END IF;
        ELSE
            -- If the table has such a column, every write already fails.
            ok := watch.body !~ 'SELECT fanfare_(new|old)\.\*' OR fanfare.computed_columns(watch.rel) = '{}';
            detail := 'made by an earlier Fanfare: writes fail if jsonb cannot hold a value, or if a column was dropped or is a virtual generated one; call fanfare.watch_table again';
        END IF;
        RETURN NEXT;
    END LOOP;
END
$$;
COMMENT ON FUNCTION fanfare.watches_to_make_again IS
    'Watches whose table was altered since, and those made by an earlier Fanfare, which then fail the table''s writes; for fanfare.health.';
GRANT EXECUTE ON FUNCTION fanfare.watches_to_make_again TO fanfare_reader, fanfare_author;

-- ---------------------------------------------------------------------------------------------------------------
-- 21. Functions: SQL written by rule authors
-- ---------------------------------------------------------------------------------------------------------------

-- The new owner of a function needs this right; it is revoked at the end of this part.
GRANT CREATE ON SCHEMA fanfare TO fanfare_sql;

-- Runs a rule's badge_sql: its two columns are a user and that user's count, for the users in $1.
--
-- It runs with the rights of fanfare_sql, which owns it, and no others: SET ROLE in the query fails inside a SECURITY
-- DEFINER function, and the session needs no RESET afterwards. The caller's transaction is read-only and has a timeout.
-- Names outside pg_catalog are qualified. Long error texts are cut here, because a client holds several copies of them.
CREATE OR REPLACE FUNCTION fanfare.badges(query text, user_ids text[]) RETURNS TABLE (user_id text, badge bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    -- The query's own error message and detail, which may be long.
    words text;
    more text;
    advice text;
BEGIN
    IF NOT current_setting('transaction_read_only')::boolean THEN
        RAISE EXCEPTION 'badges are read in read-only transactions only'
            USING ERRCODE = '42501', HINT = 'BEGIN READ ONLY.';
    END IF;
    -- At most one row for each requested user.
    RETURN QUERY EXECUTE format(E'SELECT DISTINCT ON (1) q.id::text, q.count::bigint FROM (%s\n) AS q (id, count) WHERE q.id::text = ANY ($1)',
        rtrim(query, E'; \t\r\n')) USING user_ids;
EXCEPTION WHEN OTHERS OR assert_failure THEN
    GET STACKED DIAGNOSTICS words = MESSAGE_TEXT, more = PG_EXCEPTION_DETAIL, advice = PG_EXCEPTION_HINT;
    IF octet_length(words) + octet_length(more) + octet_length(advice) <= 8192 THEN
        RAISE;
    END IF;
    RAISE EXCEPTION USING ERRCODE = SQLSTATE, MESSAGE = left(words, 2000), DETAIL = left(more, 2000), HINT = left(advice, 2000);
END
$$;
ALTER FUNCTION fanfare.badges OWNER TO fanfare_sql;

-- Lets PostgreSQL parse a badge_sql and resolve its names, with the rights with which it will run. A cursor is opened,
-- which accepts only a single query, and nothing is fetched. A third column is named as well, and must not exist.
--
-- The query runs in a read-only subtransaction that is always rolled back: ZZ000 ends it. (PostgreSQL 16 and newer
-- refuse SET transaction_read_only on a function; on 15 a RESET inside the query makes the transaction writable again,
-- and the rollback undoes what it wrote.)
CREATE OR REPLACE FUNCTION fanfare.badge_sql_error(query text, OUT reason text, OUT hint text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET row_security = on AS $$
DECLARE
    probe refcursor;
    state text;
BEGIN
    IF query IS NULL THEN
        RETURN;
    END IF;
    PERFORM set_config('transaction_read_only', 'on', true);
    OPEN probe FOR EXECUTE format(E'SELECT q.id::text, q.count::bigint FROM (%s\n) AS q (id, count)', rtrim(query, E'; \t\r\n')) USING '{}'::text[];
    CLOSE probe;
    hint := 'select two columns, user and count';
    reason := 'has more than two columns';
    OPEN probe FOR EXECUTE format(E'SELECT q.more FROM (%s\n) AS q (id, count, more)', rtrim(query, E'; \t\r\n')) USING '{}'::text[];
    CLOSE probe;
    RAISE SQLSTATE 'ZZ000';
EXCEPTION
    WHEN SQLSTATE 'ZZ000' THEN
        NULL;
    WHEN data_exception OR syntax_error_or_access_rule_violation OR feature_not_supported OR program_limit_exceeded
        OR invalid_transaction_state OR invalid_cursor_definition OR raise_exception THEN
        GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE;
        IF reason IS NOT NULL AND state = '42P10' THEN
            reason := NULL;
            hint := NULL;
            RETURN;
        END IF;
        GET STACKED DIAGNOSTICS reason = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT;
        -- The missing rights may be granted later. Until then pushes are sent without the badge, and the daemon logs
        -- it.
        IF state = '42501' THEN
            RAISE WARNING 'badge_sql: %', reason USING HINT = 'GRANT what it reads to fanfare_sql.';
            reason := NULL;
            hint := NULL;
            RETURN;
        END IF;
        reason := CASE WHEN query ~* E'^\\s*(insert|update|delete|merge)\\y' THEN 'writes, but it must only read' ELSE reason END;
        hint := CASE
            WHEN state = '42883' AND reason LIKE 'operator does not exist: %' THEN 'cast the parameter, as in user_id = ANY ($1::bigint[]): $1 is text[]'
            WHEN state LIKE '22%' THEN 'guard what fails on some values, as in x / nullif(y, 0)'
            ELSE coalesce(nullif(hint, ''), 'write SELECT user_id, count(*) FROM public.unread WHERE user_id = ANY ($1) GROUP BY user_id') END;
END
$$;
COMMENT ON FUNCTION fanfare.badge_sql_error IS 'Why a rule cannot have this badge_sql, and how to fix it; null if it can.';
ALTER FUNCTION fanfare.badge_sql_error OWNER TO fanfare_sql;
GRANT EXECUTE ON FUNCTION fanfare.badge_sql_error TO fanfare_author;

-- Runs a rule's users_sql for the payload in $1 and returns the users that it names, each once. Like fanfare.badges, it
-- runs with the rights of fanfare_sql, in a read-only transaction with a timeout.
--
-- (SELECT q.*) is one value, or an error: with SELECT *, a table may have got another column since.
CREATE OR REPLACE FUNCTION fanfare.users_by_sql(query text, payload jsonb) RETURNS text[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    answer refcursor;
    ids text[];
    bytes bigint;
    -- The query's own error message and detail, which may be long.
    words text;
    more text;
    advice text;
BEGIN
    IF NOT current_setting('transaction_read_only')::boolean THEN
        RAISE EXCEPTION 'users are read in read-only transactions only'
            USING ERRCODE = '42501', HINT = 'BEGIN READ ONLY.';
    END IF;
    -- A cursor accepts only a single query.
    OPEN answer FOR EXECUTE format(E'SELECT array_agg(u.id), sum(octet_length(u.id))
        FROM (SELECT DISTINCT (SELECT q.*)::text AS id FROM (%s\n) AS q LIMIT 100001) AS u', rtrim(query, E'; \t\r\n'))
    USING payload;
    FETCH answer INTO ids, bytes;
    CLOSE answer;
    IF array_position(ids, NULL) IS NOT NULL THEN
        RAISE EXCEPTION 'returns null for a user' USING ERRCODE = '22004', HINT = 'Leave such rows out: WHERE user_id IS NOT NULL.';
    ELSIF cardinality(ids) > 100000 THEN
        RAISE EXCEPTION 'returns more than 100000 users' USING ERRCODE = '54000', HINT = 'For so many subscribe devices to a topic.';
    ELSIF bytes > 16777216 THEN
        RAISE EXCEPTION 'returns more than 16 MiB of users'' ids' USING ERRCODE = '54000', HINT = 'For so many subscribe devices to a topic.';
    END IF;
    RETURN coalesce(ids, '{}');
EXCEPTION WHEN OTHERS OR assert_failure THEN
    GET STACKED DIAGNOSTICS words = MESSAGE_TEXT, more = PG_EXCEPTION_DETAIL, advice = PG_EXCEPTION_HINT;
    IF octet_length(words) + octet_length(more) + octet_length(advice) <= 8192 THEN
        RAISE;
    END IF;
    RAISE EXCEPTION USING ERRCODE = SQLSTATE, MESSAGE = left(words, 2000), DETAIL = left(more, 2000), HINT = left(advice, 2000);
END
$$;
ALTER FUNCTION fanfare.users_by_sql OWNER TO fanfare_sql;

-- Lets PostgreSQL parse a users_sql and resolve its names, as badge_sql_error does. Checks that there is exactly one
-- column, and its type, by a join that never reads a row.
CREATE OR REPLACE FUNCTION fanfare.users_sql_error(query text, OUT reason text, OUT hint text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET row_security = on AS $$
DECLARE
    body CONSTANT text := rtrim(query, E'; \t\r\n');
    example CONSTANT text := $q$write SELECT m.user_id FROM public.members AS m WHERE m.team = $1->>'team'$q$;
    probe refcursor;
    column_type regtype;
    lacking text;
    state text;
BEGIN
    IF query IS NULL THEN
        RETURN;
    END IF;
    PERFORM set_config('transaction_read_only', 'on', true);
    BEGIN
        reason := 'has more than one column';
        OPEN probe FOR EXECUTE format(E'SELECT q.more FROM (%s\n) AS q (id, more)', body) USING '{}'::jsonb;
        CLOSE probe;
    EXCEPTION
        WHEN invalid_column_reference THEN reason := NULL;
        WHEN insufficient_privilege THEN
            -- If there are too many columns, a syntax error is raised first.
            GET STACKED DIAGNOSTICS lacking = MESSAGE_TEXT;
            reason := NULL;
    END;
    IF reason IS NULL THEN
        BEGIN
            OPEN probe FOR EXECUTE format(E'SELECT (SELECT q.*)::text FROM (%s\n) AS q', body) USING '{}'::jsonb;
            CLOSE probe;
        EXCEPTION
            WHEN insufficient_privilege THEN GET STACKED DIAGNOSTICS lacking = MESSAGE_TEXT;
            WHEN syntax_error THEN reason := CASE WHEN lacking IS NULL THEN 'has no column' ELSE 'has more than one column' END;
        END;
    END IF;
    IF reason IS NOT NULL THEN
        hint := 'select one column, the user';
        RAISE SQLSTATE 'ZZ000';
    ELSIF lacking IS NOT NULL THEN
        -- The missing rights may be granted later. Until then the rule's events wait and then end as refused, with this
        -- reason.
        RAISE WARNING 'to.users_sql: %', lacking USING HINT = 'GRANT what it reads to fanfare_sql.';
        RAISE SQLSTATE 'ZZ000';
    END IF;
    EXECUTE format(E'SELECT pg_typeof(q.id) FROM (SELECT) AS one LEFT JOIN (%s\n) AS q (id) ON false', body)
    INTO column_type USING '{}'::jsonb;
    IF NOT EXISTS (SELECT FROM pg_type AS t WHERE t.oid = column_type AND (t.typcategory IN ('S', 'N', 'E') OR t.typname = 'uuid')) THEN
        reason := format('returns %s, where a user is text or a number', column_type);
        hint := CASE WHEN column_type IN ('json'::regtype, 'jsonb'::regtype) THEN 'write ->> in place of ->' ELSE 'select the user''s id' END;
    END IF;
    RAISE SQLSTATE 'ZZ000';
EXCEPTION
    WHEN SQLSTATE 'ZZ000' THEN
        NULL;
    WHEN data_exception OR syntax_error_or_access_rule_violation OR feature_not_supported OR program_limit_exceeded
        OR invalid_transaction_state OR invalid_cursor_definition OR raise_exception THEN
        GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, reason = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT;
        hint := CASE
            WHEN state = '42883' AND reason LIKE 'operator does not exist: %' THEN 'cast the member, as in ($1->>''team_id'')::bigint: ->> gives text'
            WHEN state LIKE '22%' THEN 'guard what fails on some values, as in x / nullif(y, 0)'
            ELSE coalesce(nullif(hint, ''), example) END;
        reason := CASE WHEN query ~* E'^\\s*(insert|update|delete|merge)\\y' THEN 'writes, but it must only read' ELSE reason END;
END
$$;
COMMENT ON FUNCTION fanfare.users_sql_error IS 'Why a rule cannot have this users_sql, and how to fix it; null if it can.';
ALTER FUNCTION fanfare.users_sql_error OWNER TO fanfare_sql;
GRANT EXECUTE ON FUNCTION fanfare.users_sql_error TO fanfare_author;

-- Runs a rule's conversion_sql for conversions since a time, and returns the hash of each user, the time and the number: the
-- first 100,000 by their time.
-- Like fanfare.badges, it runs with the rights of fanfare_sql, in a read-only transaction with a timeout.
CREATE OR REPLACE FUNCTION fanfare.conversions_by_sql(query text, since timestamptz) RETURNS TABLE (person bigint, at timestamptz, amount numeric)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    body CONSTANT text := rtrim(query, E'; \t\r\n');
    probe refcursor;
    columns text := 'id, at, value';
    -- The query's own error message and detail, which may be long.
    words text;
    more text;
    advice text;
BEGIN
    IF NOT current_setting('transaction_read_only')::boolean THEN
        RAISE EXCEPTION 'conversions are read in read-only transactions only'
            USING ERRCODE = '42501', HINT = 'BEGIN READ ONLY.';
    END IF;
    BEGIN
        OPEN probe FOR EXECUTE format(E'SELECT FROM (%s\n) AS q (id, at, value)', body) USING since;
        CLOSE probe;
    EXCEPTION WHEN invalid_column_reference THEN
        columns := 'id, at';
    END;
    FOR person, at, amount IN EXECUTE format(
        E'SELECT hashtextextended(q.id::text, 0), q.at::timestamptz, %s FROM (%s\n) AS q (%s)
        WHERE q.id IS NOT NULL AND q.at::timestamptz BETWEEN $1 AND statement_timestamp() + interval ''1 day'' ORDER BY 2 LIMIT 100000',
        CASE WHEN columns = 'id, at' THEN 'NULL::numeric' ELSE 'CASE WHEN abs(q.value::numeric) < 1e30 THEN round(q.value::numeric, 10) END' END,
        body, columns) USING since
    LOOP
        RETURN NEXT;
    END LOOP;
EXCEPTION WHEN OTHERS OR assert_failure THEN
    GET STACKED DIAGNOSTICS words = MESSAGE_TEXT, more = PG_EXCEPTION_DETAIL, advice = PG_EXCEPTION_HINT;
    IF octet_length(words) + octet_length(more) + octet_length(advice) <= 8192 THEN
        RAISE;
    END IF;
    RAISE EXCEPTION USING ERRCODE = SQLSTATE, MESSAGE = left(words, 2000), DETAIL = left(more, 2000), HINT = left(advice, 2000);
END
$$;
ALTER FUNCTION fanfare.conversions_by_sql OWNER TO fanfare_sql;

-- Lets PostgreSQL parse a conversion_sql and resolve its names, as badge_sql_error does.
CREATE OR REPLACE FUNCTION fanfare.conversion_sql_error(query text, OUT reason text, OUT hint text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET row_security = on AS $$
DECLARE
    body CONSTANT text := rtrim(query, E'; \t\r\n');
    example CONSTANT text := 'write SELECT customer_id, paid_at, total FROM public.orders WHERE paid_at >= $1';
    probe refcursor;
    state text;
BEGIN
    IF query IS NULL THEN
        RETURN;
    ELSIF strpos(query, '$1') = 0 THEN
        reason := 'does not ask for $1';
        hint := example;
        RETURN;
    END IF;
    PERFORM set_config('transaction_read_only', 'on', true);
    BEGIN
        OPEN probe FOR EXECUTE format(E'SELECT q.id::text, q.at::timestamptz, q.value::numeric FROM (%s\n) AS q (id, at, value)', body) USING now();
        CLOSE probe;
    EXCEPTION WHEN invalid_column_reference THEN
        OPEN probe FOR EXECUTE format(E'SELECT q.id::text, q.at::timestamptz FROM (%s\n) AS q (id, at)', body) USING now();
        CLOSE probe;
    END;
    hint := 'select the user, the time, and at most a number';
    reason := 'has more than three columns';
    OPEN probe FOR EXECUTE format(E'SELECT q.more FROM (%s\n) AS q (id, at, value, more)', body) USING now();
    CLOSE probe;
    RAISE SQLSTATE 'ZZ000';
EXCEPTION
    WHEN SQLSTATE 'ZZ000' THEN
        NULL;
    WHEN data_exception OR syntax_error_or_access_rule_violation OR feature_not_supported OR program_limit_exceeded
        OR invalid_transaction_state OR invalid_cursor_definition OR raise_exception THEN
        GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE;
        IF reason IS NOT NULL AND state = '42P10' THEN
            reason := NULL;
            hint := NULL;
            RETURN;
        END IF;
        GET STACKED DIAGNOSTICS reason = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT;
        IF state = '42501' THEN
            RAISE WARNING 'conversion_sql: %', reason USING HINT = 'GRANT what it reads to fanfare_sql.';
            reason := NULL;
            hint := NULL;
            RETURN;
        ELSIF state = '42P10' THEN
            reason := 'has one column';
            hint := example;
            RETURN;
        END IF;
        reason := CASE WHEN query ~* E'^\\s*(insert|update|delete|merge)\\y' THEN 'writes, but it must only read' ELSE reason END;
        hint := CASE WHEN state LIKE '22%' THEN 'guard what fails on some values, as in x / nullif(y, 0)' ELSE coalesce(nullif(hint, ''), example) END;
END
$$;
COMMENT ON FUNCTION fanfare.conversion_sql_error IS 'Why a rule cannot have this conversion_sql, and how to fix it; null if it can.';
ALTER FUNCTION fanfare.conversion_sql_error OWNER TO fanfare_sql;
GRANT EXECUTE ON FUNCTION fanfare.conversion_sql_error TO fanfare_author;

-- Runs a campaign's audience_sql, whose columns are a user and optionally a JSON object with template variables for
-- that user. Each user is returned once, in the order of bucket(seed, user), with the first of the objects if the query
-- named the user twice. The hash is written out here, since fanfare_sql may not call Fanfare's functions. NULL for a
-- user comes first. PostgreSQL spools the result to disk before it returns the first row, so the caller may fetch it in
-- parts.
--
-- Row sizes are checked here, before the daemon holds any row: it fetches several thousand at once.
--
-- Rows come from a loop and not from a cursor: fetching from a cursor that a SECURITY DEFINER function opened would run
-- its query with the caller's rights. Nothing is fetched from the cursor below, which only finds out whether there is a
-- second column.
CREATE OR REPLACE FUNCTION fanfare.audience(query text, seed text) RETURNS TABLE (bucket bigint, user_id text, variables jsonb)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    probe refcursor;
    columns text := 'id, variables';
    users bigint := 0;
    -- The query's own error message and detail, which may be long.
    words text;
    more text;
    advice text;
BEGIN
    IF NOT current_setting('transaction_read_only')::boolean THEN
        RAISE EXCEPTION 'audiences are read in read-only transactions only'
            USING ERRCODE = '42501', HINT = 'BEGIN READ ONLY.';
    END IF;
    BEGIN
        OPEN probe FOR EXECUTE format(E'SELECT FROM (%s\n) AS q (id, variables)', rtrim(query, E'; \t\r\n'));
        CLOSE probe;
    EXCEPTION WHEN invalid_column_reference THEN
        columns := 'id';
    END;
    FOR bucket, user_id, variables IN EXECUTE format(
        E'SELECT DISTINCT ON (1, 2) (''x'' || encode(substring(sha256(convert_to(%L || '':'' || q.id::text, ''UTF8'')), 1, 4), ''hex''))::bit(32)::bigint,
            q.id::text, %s FROM (%s\n) AS q (%s) ORDER BY 1 NULLS FIRST, 2, 3',
        seed, CASE WHEN columns = 'id' THEN 'NULL::jsonb' ELSE 'q.variables::jsonb' END, rtrim(query, E'; \t\r\n'), columns)
    LOOP
        users := users + 1;
        IF octet_length(user_id) > 2048 THEN
            RAISE EXCEPTION 'audience_sql gives a user''s id of more than 2048 bytes'
                USING ERRCODE = '54000', HINT = 'Select the ids that devices are registered with.';
        ELSIF octet_length(variables::text) > 4096 THEN
            RAISE EXCEPTION 'audience_sql gives more than 4096 bytes beside a user'
                USING ERRCODE = '54000', HINT = 'Select only what the message names.';
        ELSIF users > 50000000 THEN
            RAISE EXCEPTION 'audience_sql gives more than 50000000 users'
                USING ERRCODE = '54000', HINT = 'Select fewer, or write everyone: true.';
        END IF;
        RETURN NEXT;
    END LOOP;
EXCEPTION WHEN OTHERS OR assert_failure THEN
    GET STACKED DIAGNOSTICS words = MESSAGE_TEXT, more = PG_EXCEPTION_DETAIL, advice = PG_EXCEPTION_HINT;
    IF octet_length(words) + octet_length(more) + octet_length(advice) <= 8192 THEN
        RAISE;
    END IF;
    RAISE EXCEPTION USING ERRCODE = SQLSTATE, MESSAGE = left(words, 2000), DETAIL = left(more, 2000), HINT = left(advice, 2000);
END
$$;
ALTER FUNCTION fanfare.audience OWNER TO fanfare_sql;

-- Runs a campaign's payload_sql, which returns a JSON object for each event.
CREATE OR REPLACE FUNCTION fanfare.payloads(query text) RETURNS SETOF jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    payload jsonb;
    -- The query's own error message and detail, which may be long.
    words text;
    more text;
    advice text;
BEGIN
    IF NOT current_setting('transaction_read_only')::boolean THEN
        RAISE EXCEPTION 'payloads are read in read-only transactions only'
            USING ERRCODE = '42501', HINT = 'BEGIN READ ONLY.';
    END IF;
    FOR payload IN EXECUTE format(E'SELECT q.payload::jsonb FROM (%s\n) AS q (payload)', rtrim(query, E'; \t\r\n')) LOOP
        IF octet_length(payload::text) > 65536 THEN
            RAISE EXCEPTION 'payload_sql gives a payload of more than 65536 bytes'
                USING ERRCODE = '54000', HINT = 'Select only what rules and messages name.';
        END IF;
        RETURN NEXT payload;
    END LOOP;
EXCEPTION WHEN OTHERS OR assert_failure THEN
    GET STACKED DIAGNOSTICS words = MESSAGE_TEXT, more = PG_EXCEPTION_DETAIL, advice = PG_EXCEPTION_HINT;
    IF octet_length(words) + octet_length(more) + octet_length(advice) <= 8192 THEN
        RAISE;
    END IF;
    RAISE EXCEPTION USING ERRCODE = SQLSTATE, MESSAGE = left(words, 2000), DETAIL = left(more, 2000), HINT = left(advice, 2000);
END
$$;
ALTER FUNCTION fanfare.payloads OWNER TO fanfare_sql;

-- Like badge_sql_error: parsed and resolved with the rights with which it will run, and not executed.
CREATE OR REPLACE FUNCTION fanfare.campaign_sql_error(query text, is_audience boolean, OUT reason text, OUT hint text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET row_security = on AS $$
DECLARE
    example CONSTANT text := CASE WHEN is_audience
        THEN 'write SELECT user_id, jsonb_build_object(''first_name'', first_name) FROM public.lapsed'
        ELSE 'write SELECT jsonb_build_object(''user_id'', user_id) FROM public.lapsed' END;
    most CONSTANT int := CASE WHEN is_audience THEN 2 ELSE 1 END;
    -- One name more than allowed, which detects a query with too many columns.
    width int := most + 1;
    probe refcursor;
    state text;
BEGIN
    IF query IS NULL THEN
        RETURN;
    END IF;
    PERFORM set_config('transaction_read_only', 'on', true);
    LOOP
        BEGIN
            OPEN probe FOR EXECUTE format(E'SELECT FROM (%s\n) AS q (%s)', rtrim(query, E'; \t\r\n'),
                array_to_string(('{a,b,c}'::text[])[:width], ', '));
            CLOSE probe;
            EXIT;
        EXCEPTION WHEN invalid_column_reference THEN
            width := width - 1;
            -- Not for lack of columns, then: the OPEN below raises the error itself.
            EXIT WHEN width = 1;
        END;
    END LOOP;
    IF width > most THEN
        reason := CASE WHEN is_audience THEN 'has more than two columns' ELSE 'has more than one column' END;
        hint := CASE WHEN is_audience THEN 'select the user, and one JSON object with what the message says of that user' ELSE 'select one JSON object' END;
        RAISE SQLSTATE 'ZZ000';
    END IF;
    OPEN probe FOR EXECUTE format(E'SELECT %s FROM (%s\n) AS q (%s)',
        CASE WHEN NOT is_audience THEN 'q.a::jsonb' WHEN width = 1 THEN 'q.a::text' ELSE 'q.a::text, q.b::jsonb' END,
        rtrim(query, E'; \t\r\n'), CASE WHEN width = 1 THEN 'a' ELSE 'a, b' END);
    CLOSE probe;
    RAISE SQLSTATE 'ZZ000';
EXCEPTION
    WHEN SQLSTATE 'ZZ000' THEN
        NULL;
    WHEN data_exception OR syntax_error_or_access_rule_violation OR feature_not_supported OR program_limit_exceeded
        OR invalid_transaction_state OR invalid_cursor_definition OR raise_exception THEN
        GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, reason = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT;
        -- The missing rights may be granted later. Until then runs fail with this reason.
        IF state = '42501' THEN
            RAISE WARNING '%: %', CASE WHEN is_audience THEN 'audience_sql' ELSE 'payload_sql' END, reason
                USING HINT = 'GRANT what it reads to fanfare_sql.';
            reason := NULL;
            hint := NULL;
            RETURN;
        END IF;
        reason := CASE WHEN query ~* E'^\\s*(with\\y.*\\y)?(insert|update|delete|merge)\\y' THEN 'writes, but it must only read' ELSE reason END;
        hint := coalesce(nullif(hint, ''), example);
END
$$;
COMMENT ON FUNCTION fanfare.campaign_sql_error IS
    'Why a campaign cannot have this audience_sql or payload_sql, and how to fix it; null if it can.';
ALTER FUNCTION fanfare.campaign_sql_error OWNER TO fanfare_sql;
GRANT EXECUTE ON FUNCTION fanfare.campaign_sql_error TO fanfare_author;

-- The tables whose rows row-level security hides from a query; null if there are none, or if PostgreSQL cannot parse
-- the query. The query is opened twice, as in badge_sql_error: with row_security = off PostgreSQL raises an error
-- instead of hiding rows. The error names only one table, so every table that the query names counts, unless a policy
-- shows fanfare_sql every row.
CREATE OR REPLACE FUNCTION fanfare.hidden_tables(query text, parameter regtype) RETURNS text[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET row_security = on AS $$
DECLARE
    body CONSTANT text := format(E'SELECT FROM (%s\n) AS q', rtrim(query, E'; \t\r\n'));
    setting text;
    probe refcursor;
    refusal text;
BEGIN
    IF query IS NULL THEN
        RETURN NULL;
    END IF;
    FOREACH setting IN ARRAY '{on,off}'::text[] LOOP
        BEGIN
            PERFORM set_config('transaction_read_only', 'on', true), set_config('row_security', setting, true);
            IF parameter = 'jsonb'::regtype THEN
                OPEN probe FOR EXECUTE body USING '{}'::jsonb;
            ELSE
                OPEN probe FOR EXECUTE body USING '{}'::text[];
            END IF;
            CLOSE probe;
            RAISE SQLSTATE 'ZZ000';
        EXCEPTION
            WHEN SQLSTATE 'ZZ000' THEN
                NULL;
            WHEN data_exception OR syntax_error_or_access_rule_violation OR feature_not_supported OR program_limit_exceeded
                OR invalid_transaction_state OR invalid_cursor_definition OR raise_exception THEN
                GET STACKED DIAGNOSTICS refusal = MESSAGE_TEXT;
        END;
        EXIT WHEN refusal IS NOT NULL;
    END LOOP;
    IF refusal IS NULL OR setting = 'on' THEN
        RETURN NULL;
    END IF;
    RETURN (
        SELECT array_agg(c.oid::regclass::text ORDER BY c.oid::regclass::text)
        FROM pg_class AS c
        WHERE c.relrowsecurity AND row_security_active(c.oid) AND has_any_column_privilege(c.oid, 'SELECT')
            AND (lower(c.relname) = ANY (regexp_split_to_array(lower(regexp_replace(query, '"[^"]*"', ' ', 'g')), '[^[:alnum:]_$]+')) OR position(format('"%s"', c.relname) IN query || refusal) > 0)
            AND (SELECT count(*) FILTER (WHERE p.polpermissive AND pg_get_expr(p.polqual, c.oid) = 'true') = 0
                    OR bool_or(NOT p.polpermissive AND pg_get_expr(p.polqual, c.oid) IS DISTINCT FROM 'true')
                FROM pg_policy AS p
                WHERE p.polrelid = c.oid AND p.polcmd IN ('r', '*')
                    AND EXISTS (SELECT FROM unnest(p.polroles) AS r (role) WHERE CASE WHEN r.role = 0 THEN true ELSE pg_has_role(r.role, 'USAGE') END)));
END
$$;
COMMENT ON FUNCTION fanfare.hidden_tables IS 'The tables whose rows row-level security hides from an author''s query; null if there are none.';
ALTER FUNCTION fanfare.hidden_tables OWNER TO fanfare_sql;
GRANT EXECUTE ON FUNCTION fanfare.hidden_tables TO fanfare_author;

-- Only a warning, since a policy may be created later. Until then the query works, but returns fewer rows.
CREATE OR REPLACE FUNCTION fanfare.warn_of_hidden_tables(place text, query text, parameter regtype) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    hidden text;
BEGIN
    FOREACH hidden IN ARRAY coalesce(fanfare.hidden_tables(query, parameter), '{}') LOOP
        RAISE WARNING '%: row-level security of % hides rows from fanfare_sql', place, hidden
            USING HINT = format('CREATE POLICY fanfare ON %s FOR SELECT TO fanfare_sql USING (true).', hidden);
    END LOOP;
END
$$;
GRANT EXECUTE ON FUNCTION fanfare.warn_of_hidden_tables TO fanfare_author;

-- Includes the rule's name, because several rules may be stored one after the other.
CREATE OR REPLACE FUNCTION fanfare.place_of(definition jsonb, key text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN format('%s/%s: %s', definition ->> 'app', definition ->> 'name', key);
COMMENT ON FUNCTION fanfare.place_of IS 'A key of a rule or a campaign, for messages.';
GRANT EXECUTE ON FUNCTION fanfare.place_of TO fanfare_author;

-- For a type that a watched table emits, the payload's members are known: the table's columns, or those that the watch
-- includes.
CREATE OR REPLACE FUNCTION fanfare.warn_of_columns(rule jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    sample jsonb;
    lacking record;
BEGIN
    SELECT jsonb_build_object('new', c.columns, 'old', c.columns, 'op', NULL, 'table', NULL) INTO sample
    FROM (
        SELECT jsonb_object_agg(a.attname, NULL) AS columns
        FROM pg_trigger AS t JOIN pg_attribute AS a ON a.attrelid = t.tgrelid AND a.attnum > 0 AND NOT a.attisdropped
        WHERE t.tgname IN (SELECT fanfare.watch_trigger(rule ->> 'event', o) FROM unnest('{insert,update,delete}'::text[]) AS o)
    ) AS c
    WHERE c.columns IS NOT NULL;
    FOR lacking IN
        SELECT p.place, fanfare.missing_key(sample, p.path) AS words
        FROM (
            SELECT 'when' AS place, unnest(fanfare.when_parts(rule ->> 'when')) AS path WHERE rule ? 'when'
            UNION ALL
            SELECT 'to.users', rule #>> '{to,users}'
        ) AS p
        WHERE fanfare.missing_key(sample, p.path) ~ E'^(new|old)\\.'
    LOOP
        RAISE WARNING '%: % in what the watched table emits', fanfare.place_of(rule, lacking.place), split_part(lacking.words, '; ', 1)
            USING HINT = coalesce(upper(left(nullif(split_part(lacking.words, '; ', 2), ''), 1)) || substr(split_part(lacking.words, '; ', 2), 2),
                'Look at the table''s columns.');
    END LOOP;
END
$$;
COMMENT ON FUNCTION fanfare.warn_of_columns IS 'Warns if a rule reads a column that the tables watched for its event type do not have.';
GRANT EXECUTE ON FUNCTION fanfare.warn_of_columns TO fanfare_author;

CREATE OR REPLACE FUNCTION fanfare.warn_of_nights(rule jsonb) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    night interval;
    ttl CONSTANT interval := make_interval(secs => fanfare.span_seconds(rule ->> 'ttl'));
BEGIN
    IF ttl IS NULL OR ttl <= interval '0' OR rule ->> 'quiet_hours' = 'off' THEN
        RETURN;
    ELSIF jsonb_typeof(rule -> 'quiet_hours') = 'object' THEN
        night := CASE WHEN coalesce(rule #>> '{quiet_hours,mode}', 'hold') = 'hold'
            THEN (rule #>> '{quiet_hours,until}')::time - (rule #>> '{quiet_hours,from}')::time END;
    ELSIF coalesce(rule ->> 'lane', '') <> 'transactional' THEN
        SELECT o.quiet_until - o.quiet_from INTO night FROM fanfare.policies AS o JOIN fanfare.apps AS a ON a.id = o.app_id
        WHERE a.name = rule ->> 'app' AND o.quiet_mode = 'hold';
    END IF;
    night := night + CASE WHEN night < interval '0' THEN interval '24 hours' ELSE interval '0' END;
    IF ttl < night THEN
        RAISE WARNING '%: % is shorter than the quiet hours, which last %', fanfare.place_of(rule, 'ttl'), rule ->> 'ttl', fanfare.lasting(night)
            USING HINT = 'What comes early in the night ends as expired: give it a longer ttl, or quiet_hours: off.';
    END IF;
END
$$;
COMMENT ON FUNCTION fanfare.warn_of_nights IS 'Warns if a rule''s ttl is shorter than the quiet hours in which its pushes are held.';
GRANT EXECUTE ON FUNCTION fanfare.warn_of_nights TO fanfare_author;

REVOKE CREATE ON SCHEMA fanfare FROM fanfare_sql;

-- ---------------------------------------------------------------------------------------------------------------
-- 22. Functions: time
-- ---------------------------------------------------------------------------------------------------------------
-- When schedules, recipients and quiet hours are due. Every function takes the time as a parameter, and only this
-- server's zone data are used. A wall time is what a clock in a zone shows. If the clock skips a wall time, the wall
-- time moves later by the length of the gap; if it shows one twice, the first is meant (RFC 5545, 3.3.5).

CREATE OR REPLACE FUNCTION fanfare.zone(name text, fallback text) RETURNS text LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT CASE WHEN fanfare.is_time_zone(name) THEN name ELSE coalesce(fanfare.time_zone(name), fallback) END;
END;
COMMENT ON FUNCTION fanfare.zone IS 'The time zone of that name if this server knows it; otherwise, and for NULL, the fallback, unchecked.';
GRANT EXECUTE ON FUNCTION fanfare.zone TO fanfare_reader;

-- AT TIME ZONE alone takes the second of a wall time that is shown twice. The first follows from the offset of the day
-- before. Computed in UTC wall times, because adding an interval to a timestamptz depends on the session's zone and is
-- not immutable.
CREATE OR REPLACE FUNCTION fanfare.instant(wall timestamp, zone text) RETURNS timestamptz
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    late CONSTANT timestamptz := wall AT TIME ZONE zone;
    day_before CONSTANT timestamp := late AT TIME ZONE 'UTC' - interval '1 day';
    early CONSTANT timestamptz := (wall - (day_before AT TIME ZONE 'UTC' AT TIME ZONE zone - day_before)) AT TIME ZONE 'UTC';
BEGIN
    RETURN CASE WHEN early AT TIME ZONE zone = wall THEN early ELSE late END;
END
$$;
COMMENT ON FUNCTION fanfare.instant IS
    'The instant at which clocks in a zone show a wall time: the first of two, and later by the length of the gap if they skip it.';
GRANT EXECUTE ON FUNCTION fanfare.instant TO fanfare_author, fanfare_reader;

-- If the end of the quiet hours is a wall time that is shown twice, they end at the first. Otherwise a held push would
-- get a wake time that has already passed, and would be held again.
CREATE OR REPLACE FUNCTION fanfare.wakes_at(at timestamptz, zone text, quiet_from time, quiet_until time) RETURNS timestamptz
LANGUAGE plpgsql IMMUTABLE STRICT SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    wall CONSTANT timestamp := at AT TIME ZONE zone;
    asleep_since_yesterday CONSTANT boolean := quiet_from > quiet_until AND wall::time < quiet_until;
    wakes timestamptz;
BEGIN
    IF asleep_since_yesterday OR (quiet_from < quiet_until AND wall::time >= quiet_from AND wall::time < quiet_until) THEN
        wakes := fanfare.instant(wall::date + quiet_until, zone);
    ELSIF quiet_from > quiet_until AND wall::time >= quiet_from THEN
        wakes := fanfare.instant(wall::date + 1 + quiet_until, zone);
    END IF;
    IF wakes IS NULL OR wakes <= at THEN
        RETURN NULL;
    END IF;
    -- If clocks skip all the time between two nights, the first night continues into the second.
    RETURN coalesce(fanfare.wakes_at(wakes, zone, quiet_from, quiet_until), wakes);
END
$$;
COMMENT ON FUNCTION fanfare.wakes_at IS
    'When the quiet hours that contain a time end; NULL outside quiet hours. quiet_until itself is no longer quiet; '
    'quiet hours may span midnight.';
GRANT EXECUTE ON FUNCTION fanfare.wakes_at TO fanfare_reader;

-- Loops over numbers, without a query: a schedule that catches up computes its next time thousands of times.
CREATE OR REPLACE FUNCTION fanfare.next_wall(
    minutes int[], hours int[], days int[], months int[], weekdays int[], any_day boolean, after timestamp
) RETURNS timestamp
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    -- The first minute that may match; for later days, their midnight.
    start timestamp := date_trunc('minute', after) + interval '1 minute';
    horizon CONSTANT date := (after + interval '8 years')::date;
    first_of_month date := date_trunc('month', start)::date;
    day int := extract(day FROM start);
    hour int := extract(hour FROM start);
    minute int := extract(minute FROM start);
    weekday int;
    length int;
    found_hour int;
    found_minute int;
BEGIN
    WHILE first_of_month <= horizon AND isfinite(first_of_month) LOOP
        IF extract(month FROM first_of_month)::int = ANY (months) THEN
            length := (first_of_month + interval '1 month')::date - first_of_month;
            weekday := (extract(dow FROM first_of_month)::int + day - 1) % 7;
            WHILE day <= length LOOP
                IF (day = ANY (days) AND weekday = ANY (weekdays))
                    OR (any_day AND (day = ANY (days) OR weekday = ANY (weekdays)))
                THEN
                    FOREACH found_hour IN ARRAY hours LOOP
                        CONTINUE WHEN found_hour < hour;
                        IF found_hour > hour THEN
                            RETURN first_of_month + (day - 1) + make_time(found_hour, minutes[1], 0);
                        END IF;
                        FOREACH found_minute IN ARRAY minutes LOOP
                            IF found_minute >= minute THEN
                                RETURN first_of_month + (day - 1) + make_time(hour, found_minute, 0);
                            END IF;
                        END LOOP;
                    END LOOP;
                END IF;
                day := day + 1;
                weekday := (weekday + 1) % 7;
                hour := -1;
            END LOOP;
        END IF;
        first_of_month := (first_of_month + interval '1 month')::date;
        day := 1;
        hour := -1;
    END LOOP;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION fanfare.next_wall IS
    'The first minute after a wall time that matches a cron schedule; NULL if none does within 8 years. Its lists ascend.';
GRANT EXECUTE ON FUNCTION fanfare.next_wall TO fanfare_author, fanfare_reader;

-- Counts elapsed time: a schedule that fires every quarter of an hour also fires in an hour that is shown twice, and
-- has no times in a skipped one.
CREATE OR REPLACE FUNCTION fanfare.next_showing(
    minutes int[], hours int[], days int[], months int[], weekdays int[], any_day boolean, zone text, after timestamptz
) RETURNS timestamptz
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    shown CONSTANT timestamp := after AT TIME ZONE zone;
    day_after CONSTANT timestamp := after AT TIME ZONE 'UTC' + interval '1 day';
    offset_then CONSTANT interval := day_after AT TIME ZONE 'UTC' AT TIME ZONE zone - day_after;
    shown_by_then CONSTANT timestamp := after AT TIME ZONE 'UTC' + offset_then;
    wall timestamp := shown;
    found timestamptz;
    again timestamptz;
BEGIN
    LOOP
        wall := fanfare.next_wall(minutes, hours, days, months, weekdays, any_day, wall);
        found := fanfare.instant(wall, zone);
        IF found <= after THEN
            found := wall AT TIME ZONE zone;
        END IF;
        EXIT WHEN found IS NULL OR (found > after AND found AT TIME ZONE zone = wall);
        -- A schedule may match only wall times that are skipped.
        IF wall > shown + interval '8 years' THEN
            found := NULL;
            EXIT;
        END IF;
    END LOOP;
    -- Clocks go back by less than a day: wall times up to the present one, and some before it, may be shown again.
    wall := shown_by_then;
    WHILE shown_by_then < shown LOOP
        wall := fanfare.next_wall(minutes, hours, days, months, weekdays, any_day, wall);
        again := (wall - offset_then) AT TIME ZONE 'UTC';
        EXIT WHEN wall IS NULL OR wall > shown OR again >= found;
        IF again AT TIME ZONE zone = wall THEN
            RETURN again;
        END IF;
    END LOOP;
    RETURN found;
END
$$;
COMMENT ON FUNCTION fanfare.next_showing IS
    'The first time after another at which clocks in a zone show a minute that matches a cron schedule; NULL if there is none for 8 years.';
GRANT EXECUTE ON FUNCTION fanfare.next_showing TO fanfare_author, fanfare_reader;

CREATE OR REPLACE FUNCTION fanfare.next_time(
    minutes int[], hours int[], days int[], months int[], weekdays int[], any_day boolean, wild boolean, zone text,
    after timestamptz
) RETURNS timestamptz
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    day_before CONSTANT timestamp := after AT TIME ZONE 'UTC' - interval '1 day';
    shown_by_then CONSTANT timestamp :=
        after AT TIME ZONE 'UTC' + (day_before AT TIME ZONE 'UTC' AT TIME ZONE zone - day_before);
    wall timestamp := after AT TIME ZONE zone;
    found timestamptz;
    sooner timestamptz;
BEGIN
    IF wild THEN
        RETURN fanfare.next_showing(minutes, hours, days, months, weekdays, any_day, zone, after);
    END IF;
    -- Clocks skipped forward less than that ago: some of the skipped wall times, which moved later, are still to come.
    IF shown_by_then < wall AND fanfare.instant(shown_by_then, zone) = after THEN
        wall := shown_by_then;
    END IF;
    LOOP
        wall := fanfare.next_wall(minutes, hours, days, months, weekdays, any_day, wall);
        found := fanfare.instant(wall, zone);
        EXIT WHEN found IS NULL OR found > after;
    END LOOP;
    -- A skipped wall time moves later, and one that is not skipped may come before it.
    WHILE wall < found AT TIME ZONE zone LOOP
        wall := fanfare.next_wall(minutes, hours, days, months, weekdays, any_day, wall);
        sooner := fanfare.instant(wall, zone);
        IF sooner > after AND sooner < found THEN
            RETURN sooner;
        END IF;
    END LOOP;
    RETURN found;
END
$$;
COMMENT ON FUNCTION fanfare.next_time IS
    'When a cron schedule is next due after a time; NULL if it is not for 8 years. Schedules with a wildcard count '
    'elapsed time; for others, each wall time comes once.';
GRANT EXECUTE ON FUNCTION fanfare.next_time TO fanfare_author, fanfare_reader;

-- ---------------------------------------------------------------------------------------------------------------
-- 23. Functions: campaigns
-- ---------------------------------------------------------------------------------------------------------------
-- A campaign is a schedule with a rule. When it is due, it emits one event, which is then processed like any other
-- event. The database computes due times (part 22), and daemons parse cron expressions. Checks that only a daemon can
-- do are done within a second.

-- STABLE, although its body is immutable: convert_to is STABLE, and IMMUTABLE would prevent inlining.
CREATE OR REPLACE FUNCTION fanfare.bucket(seed text, who text) RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE
RETURN ('x' || encode(substring(sha256(convert_to(seed || ':' || who, 'UTF8')), 1, 4), 'hex'))::bit(32)::bigint;
COMMENT ON FUNCTION fanfare.bucket IS
    'A number from 0 to 2^32 - 1, the same for the same seed and person: the first 32 bits of SHA-256. A share of the '
    'people are those below that share of 2^32.';
GRANT EXECUTE ON FUNCTION fanfare.bucket TO fanfare_reader;

-- How a rule divides people into holdout and variants. The seeds derive from the rule's name, so that a campaign that
-- is dropped and stored again, and its test rule, divide people in the same way. Canary, holdout and variants have
-- separate seeds, so that the three divisions are independent. Daemons compute the same (RuleGroups), and a test
-- compares both. NULL if the rule has none.
--
--   seed     the prefix of both seeds
--   holdout  the bucket below which a person gets nothing; 2^32 is everyone
--   names    the names of the variants
--   upto     the cumulative sums of their weights
CREATE OR REPLACE FUNCTION fanfare.rule_groups(definition jsonb, OUT seed text, OUT holdout bigint, OUT names text[], OUT upto bigint[])
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT (definition ->> 'app') || '/' || regexp_replace(definition ->> 'name', '^campaign-test/', 'campaign/'),
        ceil(rtrim(definition ->> 'holdout', '%')::numeric * 10000 * 4294967296 / 1000000)::bigint, v.names, v.upto
    FROM (
        SELECT array_agg(w.name ORDER BY w.position) AS names, array_agg(w.upto ORDER BY w.position) AS upto
        FROM (
            SELECT u.position, u.variant ->> 'name' AS name,
                sum(coalesce((u.variant -> 'weight')::bigint, 1)) OVER (ORDER BY u.position)::bigint AS upto
            FROM jsonb_array_elements(definition -> 'variants') WITH ORDINALITY AS u (variant, position)
        ) AS w
    ) AS v;
END;
COMMENT ON FUNCTION fanfare.rule_groups IS
    'How a rule divides people: the seed, the bucket below which they get nothing, and the variants of its message '
    'with the cumulative sums of their weights.';
GRANT EXECUTE ON FUNCTION fanfare.rule_groups TO fanfare_reader;

CREATE OR REPLACE FUNCTION fanfare.group_of(seed text, holdout bigint, names text[], upto bigint[], who text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE WHEN holdout > 0 AND fanfare.bucket(seed || ':holdout', who) < holdout THEN 'holdout'
    WHEN names IS NOT NULL
    THEN names[1 + width_bucket(fanfare.bucket(seed || ':variant', who) * upto[cardinality(upto)] >> 32, upto)] END;
COMMENT ON FUNCTION fanfare.group_of IS
    'The variant that a person gets, by the result of rule_groups; `holdout` for a person who gets nothing, NULL if '
    'the rule has neither variants nor a holdout.';
GRANT EXECUTE ON FUNCTION fanfare.group_of TO fanfare_reader;

-- A device without a user counts as a person of its own.
CREATE OR REPLACE FUNCTION fanfare.variant_of(definition jsonb, user_id text, device_id bigint) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT fanfare.group_of(g.seed, g.holdout, g.names, g.upto, coalesce(user_id, 'device:' || device_id))
    FROM fanfare.rule_groups(definition) AS g;
END;
COMMENT ON FUNCTION fanfare.variant_of IS
    'The variant of a rule''s message that a user gets, or a device without one; `holdout` if it gets nothing, NULL '
    'if the rule has neither variants nor a holdout.';
GRANT EXECUTE ON FUNCTION fanfare.variant_of TO fanfare_reader;

-- The rule of a campaign, and its test rule (test_campaign). No user's rule can have such a name, since theirs contain
-- no "/".
CREATE OR REPLACE FUNCTION fanfare.campaign_rule(campaign jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT '{"lane": "bulk"}'::jsonb || (campaign - '{schedule,payload,rate,canary,experiment,audience_sql,payload_sql}'::text[])
        || CASE WHEN campaign ? 'audience_sql' THEN jsonb_build_object('to', coalesce(campaign -> 'to', '{}') || '{"staged": true}') ELSE '{}' END
        || jsonb_build_object(
            'name', 'campaign/' || (campaign ->> 'name'),
            'event', 'campaign.' || (campaign ->> 'app') || '.' || (campaign ->> 'name'));
END;
COMMENT ON FUNCTION fanfare.campaign_rule IS 'The rule that a campaign''s events match.';
GRANT EXECUTE ON FUNCTION fanfare.campaign_rule TO fanfare_author;

CREATE OR REPLACE FUNCTION fanfare.audience_seed(event_id bigint) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    SELECT event_id::text || ':audience';
END;
COMMENT ON FUNCTION fanfare.audience_seed IS 'The seed that assigns buckets to the users of an event''s audience.';

CREATE OR REPLACE FUNCTION fanfare.schedule_error(schedule jsonb, OUT place text, OUT reason text, OUT hint text)
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    SELECT f.* INTO place, reason, hint FROM (
        SELECT 'schedule', CASE WHEN schedule ? 'at' THEN 'has at and cron' ELSE 'has neither at nor cron' END,
            'give one of at and cron, or leave the schedule out to start it manually'
        WHERE (schedule ? 'at') = (schedule ? 'cron')
        UNION ALL
        SELECT 'schedule.default_time_zone', 'needs time_zone: recipient', 'it is the zone of devices that have none'
        WHERE schedule ? 'default_time_zone' AND schedule ->> 'time_zone' IS DISTINCT FROM 'recipient'
    ) AS f (place, reason, hint) LIMIT 1;
END
$$;
COMMENT ON FUNCTION fanfare.schedule_error IS
    'Why the keys of a campaign''s schedule do not fit each other; null if they do. A daemon parses the cron expression.';
GRANT EXECUTE ON FUNCTION fanfare.schedule_error TO fanfare_author;

CREATE OR REPLACE FUNCTION fanfare.campaign_error(campaign jsonb, OUT place text, OUT reason text, OUT hint text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    whom CONSTANT text[] := '{users,topic,condition,everyone,fcm_topic,fcm_condition,channel}';
BEGIN
    SELECT f.* INTO place, reason, hint FROM (
        SELECT k, 'is not for campaigns', 'a campaign makes its events itself: gather in a rule for events of others'
        FROM unnest('{digest,debounce}'::text[]) AS k WHERE campaign ? k
        UNION ALL
        SELECT d.place, d.reason, d.hint FROM fanfare.definition_error('campaign', campaign, '') AS d WHERE d.reason IS NOT NULL
        UNION ALL
        SELECT s.place, s.reason, s.hint FROM fanfare.schedule_error(campaign -> 'schedule') AS s WHERE campaign ? 'schedule' AND s.reason IS NOT NULL
        UNION ALL
        SELECT 'rate.ramp.from', format('%s is not below %s', campaign #>> '{rate,ramp,from}', campaign #>> '{rate,per}'),
            'a ramp grows from it to per: write less, or leave the ramp out'
        WHERE fanfare.per_second(campaign #>> '{rate,ramp,from}') >= fanfare.per_second(campaign #>> '{rate,per}')
        UNION ALL
        SELECT 'canary', CASE WHEN campaign -> 'canary' ? 'share' THEN 'has share and devices' ELSE 'has neither share nor devices' END,
            'give one of share and devices'
        WHERE (campaign -> 'canary' ? 'share') = (campaign -> 'canary' ? 'devices')
        UNION ALL
        SELECT 'to.' || k, 'is not for campaigns', 'use users, topic, condition or everyone'
        FROM unnest('{users_sql,tokens}'::text[]) AS k WHERE campaign -> 'to' ? k
        UNION ALL
        SELECT 'payload_sql', 'is beside audience_sql', 'give one of the two' WHERE campaign ?& '{audience_sql,payload_sql}'
        UNION ALL
        SELECT 'to.' || k, 'is beside audience_sql, which says who', 'leave it out; devices, provider, kind, permission and presents may be there'
        FROM unnest(whom) AS k WHERE campaign ? 'audience_sql' AND campaign -> 'to' ? k
        UNION ALL
        SELECT 'payload_sql', 'cannot be with to.' || k, 'each row is an event of its own: use audience_sql'
        FROM unnest('{fcm_topic,fcm_condition,channel}'::text[]) AS k WHERE campaign ? 'payload_sql' AND campaign -> 'to' ? k
        UNION ALL
        SELECT 'schedule.time_zone', 'cannot be recipient with payload_sql', 'each row is an event of its own: use audience_sql'
        WHERE campaign #>> '{schedule,time_zone}' = 'recipient' AND campaign ? 'payload_sql'
        UNION ALL
        SELECT 'schedule.time_zone', 'cannot be recipient for this audience', 'use topic, condition or everyone in to, or audience_sql'
        WHERE campaign #>> '{schedule,time_zone}' = 'recipient' AND NOT campaign ? 'audience_sql' AND NOT campaign -> 'to' ?| '{topic,condition,everyone}'
        UNION ALL
        SELECT k, q.reason, q.hint FROM unnest('{audience_sql,payload_sql}'::text[]) AS k
        CROSS JOIN LATERAL fanfare.campaign_sql_error(campaign ->> k, k = 'audience_sql') AS q WHERE q.reason IS NOT NULL
        UNION ALL
        SELECT 'canary', CASE WHEN campaign ? 'payload_sql' THEN 'cannot be with payload_sql' ELSE 'cannot be for this audience' END,
            CASE WHEN campaign ? 'payload_sql' THEN 'each row is an event of its own: use audience_sql'
                ELSE 'use topic, condition or everyone in to, or audience_sql' END
        WHERE campaign ? 'canary' AND (campaign ? 'payload_sql'
            OR NOT campaign ? 'audience_sql' AND NOT coalesce(campaign -> 'to' ?| '{topic,condition,everyone}', false))
        UNION ALL
        SELECT e.place, e.reason, e.hint FROM fanfare.experiment_error(campaign) AS e WHERE campaign ? 'experiment' AND e.reason IS NOT NULL
        UNION ALL
        SELECT r.place, r.reason, r.hint
        FROM fanfare.rule_error(fanfare.campaign_rule(campaign) || '{"name": "campaign"}'
            -- An audience_sql campaign has no audience that a user's rule may name, so its rule is checked as if for
            -- everyone.
            || CASE WHEN campaign ? 'audience_sql' AND jsonb_typeof(coalesce(campaign -> 'to', '{}')) = 'object'
                THEN jsonb_build_object('to', coalesce(campaign -> 'to', '{}') || '{"everyone": true}') ELSE '{}' END) AS r
        WHERE r.reason IS NOT NULL
    ) AS f (place, reason, hint) LIMIT 1;
    IF reason IS NULL THEN
        PERFORM fanfare.warn_of_hidden_tables(fanfare.place_of(campaign, k), campaign ->> k, 'text[]') FROM unnest('{audience_sql,payload_sql}'::text[]) AS k;
    END IF;
END
$$;
COMMENT ON FUNCTION fanfare.campaign_error IS
    'The error for which put_campaign refuses a campaign, with its place and how to fix it; null if there is none.';
GRANT EXECUTE ON FUNCTION fanfare.campaign_error TO fanfare_author;

-- When a schedule is next due. By recipients' time it is due an hour before the first zone is. A single wall time is
-- due even if it has passed: `catch_up` decides what happens then.
CREATE OR REPLACE FUNCTION fanfare.next_due(cron_fields jsonb, run_at timestamp, time_zone text, after timestamptz)
RETURNS timestamptz LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF time_zone = 'recipient' THEN
        RETURN fanfare.next_due(cron_fields, run_at, 'UTC', after + interval '15 hours') - interval '15 hours';
    ELSIF cron_fields IS NULL THEN
        RETURN fanfare.instant(run_at, time_zone);
    END IF;
    RETURN fanfare.next_time(
        translate(cron_fields ->> 'minutes', '[]', '{}')::int[], translate(cron_fields ->> 'hours', '[]', '{}')::int[],
        translate(cron_fields ->> 'days', '[]', '{}')::int[], translate(cron_fields ->> 'months', '[]', '{}')::int[],
        translate(cron_fields ->> 'weekdays', '[]', '{}')::int[], (cron_fields -> 'any_day')::boolean,
        (cron_fields -> 'wild')::boolean, time_zone, after);
END
$$;
COMMENT ON FUNCTION fanfare.next_due IS 'When a schedule is next due after a time; NULL if it has ended, and if there is none.';
GRANT EXECUTE ON FUNCTION fanfare.next_due TO fanfare_author, fanfare_reader;

CREATE OR REPLACE FUNCTION fanfare.shown_at(at timestamptz, time_zone text) RETURNS timestamp
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    SELECT CASE WHEN time_zone = 'recipient' THEN at AT TIME ZONE 'UTC' + interval '15 hours' ELSE at AT TIME ZONE time_zone END;
END;
COMMENT ON FUNCTION fanfare.shown_at IS 'The wall time of a schedule that is due at that time: the inverse of next_due.';
GRANT EXECUTE ON FUNCTION fanfare.shown_at TO fanfare_author, fanfare_reader;

-- False for the schedule in force: a deployment may store the same campaign again after its time has passed.
CREATE OR REPLACE FUNCTION fanfare.has_passed(campaign jsonb) RETURNS boolean
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    schedule CONSTANT jsonb := campaign -> 'schedule';
    wall CONSTANT timestamp := fanfare.wall_time(schedule ->> 'at');
BEGIN
    RETURN wall IS NOT NULL
        AND clock_timestamp() >= CASE WHEN schedule ->> 'time_zone' = 'recipient' THEN fanfare.instant(wall, 'UTC') + interval '12 hours'
            ELSE fanfare.instant(wall, coalesce(schedule ->> 'time_zone', 'UTC')) END
        AND NOT EXISTS (
            SELECT FROM fanfare.campaigns AS c JOIN fanfare.apps AS a ON a.id = c.app_id
            WHERE a.name = campaign ->> 'app' AND c.name = campaign ->> 'name' AND c.dropped_at IS NULL
                AND (coalesce(c.draft, c.definition)::jsonb = campaign OR c.definition::jsonb -> 'schedule' = schedule));
END
$$;
COMMENT ON FUNCTION fanfare.has_passed IS
    'Whether the single time of a campaign passed before it was stored; by recipients'' time, in the last zone.';
GRANT EXECUTE ON FUNCTION fanfare.has_passed TO fanfare_author, fanfare_reader;

CREATE OR REPLACE FUNCTION fanfare.put_campaign(campaign jsonb) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    problem record;
    the_app smallint;
    there fanfare.campaigns;
    put_version int;
BEGIN
    IF jsonb_typeof(campaign) IS DISTINCT FROM 'object' THEN
        RAISE EXCEPTION 'a campaign is a JSON object' USING ERRCODE = '22023', HINT = 'Pass {"app": …, "name": …, "schedule": …, "to": …, "message": …}.';
    ELSIF octet_length(campaign::text) > 65536 THEN
        RAISE EXCEPTION 'the campaign is % bytes long', octet_length(campaign::text) USING ERRCODE = '22023', HINT = 'A campaign has at most 64 KiB.';
    END IF;
    SELECT * INTO problem FROM fanfare.campaign_error(campaign);
    IF problem.reason IS NOT NULL THEN
        RAISE EXCEPTION '%: %', problem.place, problem.reason USING ERRCODE = '22023', HINT = problem.hint;
    END IF;
    the_app := fanfare.app_id_for(campaign ->> 'app');
    SELECT * INTO there FROM fanfare.campaigns AS c
    WHERE c.app_id = the_app AND c.name = campaign ->> 'name' AND c.dropped_at IS NULL;
    IF coalesce(there.draft, there.definition)::jsonb = campaign THEN
        RETURN there.version;
    END IF;
    IF fanfare.has_passed(campaign) THEN
        RAISE EXCEPTION 'schedule.at: % has passed', campaign #>> '{schedule,at}'
            USING ERRCODE = '22023', HINT = 'Write a time to come, or leave the schedule out and call fanfare.start_campaign.';
    END IF;
    INSERT INTO fanfare.campaigns AS c (app_id, name, version, draft) VALUES (the_app, campaign ->> 'name', 1, campaign::json)
    ON CONFLICT (app_id, name) WHERE dropped_at IS NULL DO UPDATE
    SET version = c.version + 1, draft = excluded.draft, reason = NULL,
        state = CASE WHEN c.state = 'refused' THEN 'unchecked' ELSE c.state END
    RETURNING c.version INTO put_version;
    RETURN put_version;
END
$$;
COMMENT ON FUNCTION fanfare.put_campaign IS
    'Stores a campaign and returns its version, or raises the errors that SQL finds. A daemon checks the rest within '
    'a second; until then the last valid version stays in force.';
GRANT EXECUTE ON FUNCTION fanfare.put_campaign TO fanfare_author;

-- Called by the daemon that checked a draft. A draft that was stored since is checked separately.
CREATE OR REPLACE FUNCTION fanfare.take_campaign(campaign_id int, version int, cron_fields jsonb, now timestamptz) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    c fanfare.campaigns;
    schedule jsonb;
    stored record;
    gate int;
    wall timestamp;
    zone text;
    due timestamptz;
BEGIN
    SELECT * INTO c FROM fanfare.campaigns AS x
    WHERE x.id = campaign_id AND x.version = take_campaign.version AND x.draft IS NOT NULL AND x.reason IS NULL AND x.dropped_at IS NULL
    FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    schedule := c.draft::jsonb -> 'schedule';
    wall := fanfare.wall_time(schedule ->> 'at');
    zone := CASE WHEN schedule IS NOT NULL THEN coalesce(schedule ->> 'time_zone', 'UTC') END;
    due := CASE
        -- With an unchanged schedule, a time that is due and not fired yet is kept.
        WHEN schedule IS NOT DISTINCT FROM c.definition::jsonb -> 'schedule' THEN c.next_at
        WHEN schedule IS NOT NULL THEN fanfare.next_due(cron_fields, wall, zone, now) END;
    IF cron_fields IS NOT NULL AND due IS NULL THEN
        UPDATE fanfare.campaigns AS x SET reason = 'schedule.cron: is not due within 8 years',
            state = CASE WHEN x.definition IS NULL THEN 'refused' ELSE x.state END
        WHERE x.id = campaign_id;
        RETURN false;
    END IF;
    SELECT * INTO stored FROM fanfare.store_rule(fanfare.campaign_rule(c.draft::jsonb));
    -- The gate for events without a run: those of the campaign's type that were not emitted by the campaign.
    SELECT g.id INTO gate FROM fanfare.gates AS g WHERE g.rule_id = stored.rule_id AND g.run_id IS NULL;
    gate := coalesce(gate, fanfare.make_gate(stored.rule_id));
    UPDATE fanfare.rule_versions AS v SET gate_id = gate
    WHERE v.rule_id = stored.rule_id AND v.version = stored.version AND v.gate_id <> gate;
    PERFORM fanfare.set_rate(stored.rule_id, fanfare.per_second(coalesce(r.rate ->> 'per', r.rate #>> '{}')),
        fanfare.per_second(r.rate #>> '{ramp,from}'), fanfare.span_seconds(r.rate #>> '{ramp,over}'))
    FROM (SELECT c.draft::jsonb -> 'rate' AS rate) AS r;
    UPDATE fanfare.campaigns AS x
    SET definition = x.draft, draft = NULL, rule_id = stored.rule_id, cron_fields = take_campaign.cron_fields, run_at = wall,
        time_zone = zone, default_time_zone = schedule ->> 'default_time_zone',
        catch_up = coalesce(schedule ->> 'catch_up', 'latest'), next_at = due,
        state = CASE WHEN x.state = 'paused' THEN 'paused' WHEN schedule IS NOT NULL AND due IS NULL THEN 'ended' ELSE 'active' END
    WHERE x.id = campaign_id;
    RETURN true;
END
$$;
COMMENT ON FUNCTION fanfare.take_campaign IS
    'Puts a checked campaign into force; false if another version was stored meanwhile, or if it is never due.';

-- Fires one run in the transaction of the caller, which has locked the campaign's row.
CREATE OR REPLACE FUNCTION fanfare.fire(c fanfare.campaigns, at timestamptz, payload jsonb DEFAULT '{}', wall timestamp DEFAULT NULL)
RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' AS $$
DECLARE
    refused text;
    event bigint;
    run bigint;
    the_experiment CONSTANT jsonb := c.definition::jsonb -> 'experiment';
    -- The sample of an experiment is a canary.
    canary CONSTANT jsonb := coalesce(c.definition::jsonb -> 'canary', '{"wait": "2h"}' || the_experiment);
    -- The campaign's one lane, so that claims search its gates only there.
    lane smallint := coalesce(array_position('{transactional,normal,bulk}', c.definition ->> 'lane') - 1, 2);
    has_query boolean := c.definition::jsonb ?| '{audience_sql,payload_sql}';
BEGIN
    PERFORM FROM fanfare.runs AS o WHERE o.campaign_id = c.id AND o.scheduled_at = at;
    IF FOUND THEN
        RETURN NULL;
    END IF;
    SELECT v.reason INTO refused FROM fanfare.rule_versions AS v
    WHERE v.rule_id = c.rule_id AND NOT EXISTS (
        SELECT FROM fanfare.rule_versions AS i
        WHERE i.rule_id = c.rule_id AND i.state IN ('active', 'unchecked') AND i.retired_at IS NULL)
    ORDER BY v.version DESC LIMIT 1;
    IF refused IS NOT NULL THEN
        INSERT INTO fanfare.runs (campaign_id, scheduled_at, state, detail, fired_at, ended_at)
        VALUES (c.id, at, 'failed', 'its rule is refused: ' || refused, clock_timestamp(), clock_timestamp()) RETURNING id INTO run;
        RETURN run;
    END IF;
    IF NOT has_query THEN
        INSERT INTO fanfare.outbox (type, key, payload, own)
        SELECT 'campaign.' || a.name || '.' || c.name, to_json(at) #>> '{}',
            coalesce(c.definition::jsonb -> 'payload', '{}') || fire.payload || jsonb_build_object('campaign', c.name, 'scheduled_at', at), true
        FROM fanfare.apps AS a WHERE a.id = c.app_id
        RETURNING id INTO event;
    END IF;
    INSERT INTO fanfare.runs (campaign_id, scheduled_at, wall, event_id, state, payload, fired_at)
    VALUES (c.id, at, fire.wall, event, CASE WHEN has_query THEN 'querying' ELSE 'running' END, CASE WHEN has_query THEN fire.payload END,
        clock_timestamp()) RETURNING id INTO run;
    -- The events of a payload_sql run cannot be told from others of their type, so they use the rule's gate. A run with
    -- one event gets its gate now, so that it can be paused while its query runs.
    IF NOT c.definition::jsonb ? 'payload_sql' THEN
        UPDATE fanfare.runs AS o SET gate_id = fanfare.make_gate(c.rule_id, run, lane, is_canary => canary IS NOT NULL)
        WHERE o.id = run;
    END IF;
    IF canary IS NOT NULL THEN
        UPDATE fanfare.runs AS o
        SET held_gate_id = fanfare.make_gate(c.rule_id, run, lane, 'held'), canary_share = fanfare.share(canary ->> 'share'),
            canary_devices = (canary ->> 'devices')::int, canary_wait = fanfare.span_seconds(coalesce(canary ->> 'wait', '10m')) * interval '1 second',
            canary_max_failed = fanfare.share(coalesce(canary ->> 'max_failed', '2%')),
            experiment = '{"by": "opened", "unclear": "hold"}' || (the_experiment - '{share,wait}'::text[])
        WHERE o.id = run;
    END IF;
    PERFORM fanfare.begin_ramp(c.rule_id);
    RETURN run;
END
$$;
COMMENT ON FUNCTION fanfare.fire IS 'Emits the event of one run and returns the run''s id; NULL if the run exists already.';

-- The last statement of the transaction that stored the result of a run's query: the result counts as a whole or not at
-- all. False if the run was aborted since, or another daemon runs its query; then the caller rolls back.
--
-- event_id is the event whose users are in audiences by now; NULL if each row was emitted as an event already. A test
-- run ends here, with its event.
CREATE OR REPLACE FUNCTION fanfare.end_query_run(run_id bigint, owner int, event_id bigint, sample jsonb DEFAULT NULL) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' AS $$
DECLARE
    o fanfare.runs;
BEGIN
    UPDATE fanfare.runs AS x
    SET state = CASE WHEN x.test_users IS NULL THEN 'running' ELSE 'done' END, owner = NULL, detail = NULL, event_id = end_query_run.event_id,
        emitted_xid = CASE WHEN end_query_run.event_id IS NULL THEN pg_current_xact_id() END,
        ended_at = CASE WHEN x.test_users IS NOT NULL THEN clock_timestamp() END
    WHERE x.id = run_id AND x.state = 'querying' AND x.owner = end_query_run.owner
    RETURNING * INTO o;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    IF o.event_id IS NOT NULL THEN
        INSERT INTO fanfare.outbox (id, own, type, key, payload)
        SELECT o.event_id, true, CASE WHEN o.test_users IS NULL THEN 'campaign.' ELSE 'campaign-test.' END || a.name || '.' || c.name,
            CASE WHEN o.test_users IS NULL THEN to_json(o.scheduled_at) #>> '{}' END,
            coalesce(c.definition::jsonb -> 'payload', '{}') || coalesce(o.payload, '{}') || coalesce(sample, '{}')
                || jsonb_build_object('campaign', c.name, 'scheduled_at', o.scheduled_at)
                || CASE WHEN o.test_users IS NULL THEN '{}' ELSE jsonb_build_object('users', o.test_users) END
        FROM fanfare.campaigns AS c JOIN fanfare.apps AS a ON a.id = c.app_id WHERE c.id = o.campaign_id;
    END IF;
    IF o.test_users IS NULL THEN
        PERFORM fanfare.begin_ramp(c.rule_id) FROM fanfare.campaigns AS c WHERE c.id = o.campaign_id;
    END IF;
    RETURN true;
END
$$;
COMMENT ON FUNCTION fanfare.end_query_run IS
    'Emits the event of a run whose query has finished, or records that its events were emitted; false if the caller '
    'no longer owns the run.';

-- Fires one campaign per call and skips campaigns that another session has locked. catch_up decides which missed times
-- are fired:
--
--   latest  the last one
--   all     each one, the oldest first, one per call
--   none    the last one if it is at most a minute late; by recipients' time an hour, before which no recipient was due
--
-- The last of the times that are passed over is stored as a skipped run.
CREATE OR REPLACE FUNCTION fanfare.fire_due(now timestamptz, OUT app text, OUT campaign text, OUT event_id bigint, OUT detail text,
    OUT skipped_at timestamptz)
RETURNS SETOF record LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    c fanfare.campaigns;
    at timestamptz;
    following timestamptz;
    run bigint;
    steps int := 0;
BEGIN
    SELECT * INTO c FROM fanfare.campaigns AS x
    WHERE x.state = 'active' AND x.dropped_at IS NULL AND x.next_at <= now
        -- Deliveries that are added behind an aborting gate would be cancelled with the rest.
        AND NOT EXISTS (SELECT FROM fanfare.gates AS g WHERE g.rule_id = x.rule_id AND g.state = 'aborting')
    ORDER BY x.next_at LIMIT 1 FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    SELECT a.name, c.name INTO app, campaign FROM fanfare.apps AS a WHERE a.id = c.app_id;
    at := c.next_at;
    following := CASE WHEN c.cron_fields IS NOT NULL THEN fanfare.next_due(c.cron_fields, NULL, c.time_zone, at) END;
    IF c.catch_up <> 'all' THEN
        -- Years of a minutely schedule take several calls.
        WHILE following <= now AND steps < 1000 LOOP
            skipped_at := at;
            at := following;
            following := fanfare.next_due(c.cron_fields, NULL, c.time_zone, at);
            steps := steps + 1;
        END LOOP;
        IF following <= now OR (c.catch_up = 'none' AND at < now - CASE WHEN c.time_zone = 'recipient' THEN interval '1 hour' ELSE interval '1 minute' END) THEN
            skipped_at := at;
            at := NULL;
        END IF;
    END IF;
    IF skipped_at IS NOT NULL THEN
        INSERT INTO fanfare.runs (campaign_id, scheduled_at, state, detail, ended_at)
        VALUES (c.id, skipped_at, 'skipped', 'it was missed', clock_timestamp())
        ON CONFLICT ON CONSTRAINT runs_campaign_id_scheduled_at_key DO NOTHING;
    END IF;
    UPDATE fanfare.campaigns AS x
    SET next_at = following, state = CASE WHEN following IS NULL THEN 'ended' ELSE x.state END WHERE x.id = c.id;
    IF at IS NOT NULL THEN
        run := fanfare.fire(c, at,
            wall => CASE WHEN c.time_zone = 'recipient' THEN fanfare.shown_at(at, c.time_zone) END);
        SELECT o.event_id, o.detail INTO event_id, detail FROM fanfare.runs AS o WHERE o.id = run;
    END IF;
    RETURN NEXT;
END
$$;
COMMENT ON FUNCTION fanfare.fire_due IS 'Fires one campaign that is due; no row if none is.';

-- While the clock was ahead, campaigns fired and their next times were computed from that clock. A time that has a run
-- is not fired again. Batches that were never tried become due at once; failed ones, and digests, wait for the same
-- length of time, counted from now. Deliveries for a time of their recipients (due_at), or held for quiet hours or a
-- snooze, wait for that time by the new clock.
CREATE OR REPLACE FUNCTION fanfare.reschedule(now timestamptz) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    c record;
    due timestamptz;
    moved bigint := 0;
    -- RetryHistory.Marks.held
    held CONSTANT int := 32 << 16;
BEGIN
    UPDATE fanfare.batches AS b
    SET not_before = CASE WHEN b.history = 0 THEN now ELSE now + (b.not_before - b.created_at) END
    FROM (
        SELECT x.id FROM fanfare.batches AS x
        WHERE x.lease_token IS NULL AND x.not_before > now AND x.due_at IS NULL AND x.history & held = 0
            AND (x.history = 0 OR x.created_at > now AND x.not_before >= x.created_at)
        ORDER BY x.id FOR UPDATE SKIP LOCKED
    ) AS w
    WHERE b.id = w.id;
    UPDATE fanfare.audience_queries AS q SET not_before = now + (q.not_before - q.created_at)
    WHERE q.created_at > now AND q.not_before >= q.created_at;
    -- The debt of a rate is limited to the time of one batch of 1,000.
    UPDATE fanfare.rates AS r
    SET next_free = least(r.next_free, now + interval '1 second' * (1000 / r.per_second)),
        ramp_began_at = CASE WHEN r.ramp_began_at > now THEN now ELSE r.ramp_began_at END
    WHERE r.next_free > now + interval '1 second' * (1000 / r.per_second) OR r.ramp_began_at > now;
    UPDATE fanfare.gates AS g SET began_at = now WHERE g.began_at > now;
    UPDATE fanfare.open_digests AS g
    SET began_at = now, due_at = g.due_at - (g.began_at - now), last_at = g.last_at - (g.began_at - now)
    WHERE g.began_at > now;
    FOR c IN
        SELECT x.id, x.cron_fields, x.time_zone, x.next_at FROM fanfare.campaigns AS x
        WHERE x.state = 'active' AND x.dropped_at IS NULL AND x.cron_fields IS NOT NULL AND x.next_at > now
        ORDER BY x.id FOR NO KEY UPDATE SKIP LOCKED
    LOOP
        due := fanfare.next_due(c.cron_fields, NULL, c.time_zone, now);
        WHILE due < c.next_at AND EXISTS (SELECT FROM fanfare.runs AS o WHERE o.campaign_id = c.id AND o.scheduled_at = due) LOOP
            due := fanfare.next_due(c.cron_fields, NULL, c.time_zone, due);
        END LOOP;
        IF due < c.next_at THEN
            UPDATE fanfare.campaigns AS x SET next_at = due WHERE x.id = c.id;
            moved := moved + 1;
        END IF;
    END LOOP;
    RETURN moved;
END
$$;
COMMENT ON FUNCTION fanfare.reschedule(timestamptz) IS 'Computes again, after the clock was set back, when waiting batches, rates, digests and campaigns are due; returns how many campaigns are due earlier.';

-- Unregistered tokens do not count as failures: old tokens are normal.
CREATE OR REPLACE FUNCTION fanfare.is_failure(outcome smallint) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN outcome IN (3, 9, 11, 12) OR outcome >= 96;
COMMENT ON FUNCTION fanfare.is_failure IS 'Whether a delivery with this outcome was tried and did not arrive.';
GRANT EXECUTE ON FUNCTION fanfare.is_failure TO fanfare_reader;
CREATE OR REPLACE FUNCTION fanfare.is_answer(outcome smallint) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN outcome NOT BETWEEN 32 AND 63 AND outcome <> ALL ('{4,5,6,7,8,10,13,14,15,16,17,18,19}'::smallint[]);
COMMENT ON FUNCTION fanfare.is_answer IS
    'Whether a provider responded and this was its response; false for outcomes that Fanfare decides itself.';
GRANT EXECUTE ON FUNCTION fanfare.is_answer TO fanfare_reader;

-- Judges a canary once, `canary_wait` after its first responses, and with at least 100 responses unless the canary is
-- over. Deliveries that were tried and did not arrive count as failures; unregistered tokens do not, since old tokens
-- are normal.
--
-- If it passes, the second gate opens. If it fails, both gates and the campaign are paused; resuming the campaign
-- overrides the verdict.
CREATE OR REPLACE FUNCTION fanfare.judge_canaries(now timestamptz, OUT app text, OUT campaign text, OUT event_id bigint, OUT verdict text,
    OUT detail text)
RETURNS SETOF record LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    o fanfare.runs;
    began timestamptz;
    failed bigint;
    answered bigint;
    is_over boolean;
BEGIN
    FOR o IN
        SELECT x.* FROM fanfare.runs AS x JOIN fanfare.campaigns AS c ON c.id = x.campaign_id
        WHERE x.state = 'running' AND x.held_gate_id IS NOT NULL AND x.verdict IS NULL
        ORDER BY x.id FOR NO KEY UPDATE OF c SKIP LOCKED
    LOOP
        -- An operator may have decided between the snapshot and the lock.
        CONTINUE WHEN NOT EXISTS (SELECT FROM fanfare.runs AS x WHERE x.id = o.id AND x.state = 'running' AND x.verdict IS NULL);
        SELECT coalesce(sum(t.deliveries) FILTER (WHERE fanfare.is_failure(t.outcome)), 0),
            coalesce(sum(t.deliveries) FILTER (WHERE fanfare.is_answer(t.outcome)), 0)
        INTO failed, answered
        FROM (
            SELECT s.outcome, s.deliveries FROM fanfare.gate_stats AS s WHERE s.gate_id = o.gate_id
            UNION ALL
            SELECT p.outcome, p.deliveries FROM fanfare.stats_pending AS p WHERE p.gate_id = o.gate_id
        ) AS t;
        is_over := EXISTS (SELECT FROM fanfare.event_log AS l WHERE l.day = fanfare.ring_day(o.event_id) AND l.id = o.event_id)
            AND NOT EXISTS (SELECT FROM fanfare.quarantine AS s WHERE s.id = o.event_id)
            AND NOT EXISTS (SELECT FROM fanfare.plans AS p WHERE p.event_id = o.event_id)
            AND NOT EXISTS (SELECT FROM fanfare.batches AS b WHERE b.lease_token IS NULL AND b.gate_id = o.gate_id)
            AND NOT EXISTS (SELECT FROM fanfare.batches AS b WHERE b.owner IS NOT NULL AND b.gate_id = o.gate_id);
        UPDATE fanfare.gates AS g SET began_at = now
        WHERE g.id = o.gate_id AND g.began_at IS NULL AND (answered > 0 OR is_over);
        SELECT g.began_at INTO began FROM fanfare.gates AS g
        WHERE g.id = o.gate_id AND g.state = 'open' AND NOT g.is_paused;
        -- An experiment ends when the whole sample was sent.
        CONTINUE WHEN began IS NULL OR now < began + o.canary_wait OR NOT (is_over OR answered >= 100 AND o.experiment IS NULL);
        verdict := CASE WHEN failed <= o.canary_max_failed::numeric * answered THEN 'passed' ELSE 'failed' END;
        SELECT a.name, c.name INTO app, campaign FROM fanfare.campaigns AS c JOIN fanfare.apps AS a ON a.id = c.app_id WHERE c.id = o.campaign_id;
        event_id := o.event_id;
        detail := format('%s of %s responses of its canary failed, at most %s%% may', failed, answered,
            trim_scale(round(o.canary_max_failed::numeric * 100, 4)));
        PERFORM FROM fanfare.gates AS g WHERE g.run_id = o.id ORDER BY g.id FOR NO KEY UPDATE;
        IF verdict = 'passed' AND o.experiment IS NOT NULL THEN
            UPDATE fanfare.runs AS x SET verdict = judge_canaries.verdict, look_at = now WHERE x.id = o.id;
            CONTINUE;
        ELSIF verdict = 'passed' THEN
            UPDATE fanfare.gates AS g SET state = 'open' WHERE g.id = o.held_gate_id AND g.state = 'held' AND NOT g.is_paused;
            PERFORM fanfare.begin_ramp(c.rule_id) FROM fanfare.campaigns AS c WHERE c.id = o.campaign_id;
        ELSIF NOT EXISTS (SELECT FROM fanfare.campaigns AS c WHERE c.id = o.campaign_id AND c.dropped_at IS NULL) THEN
            -- A dropped campaign cannot be resumed.
            detail := detail || '; it was dropped, so what is left is aborted';
            UPDATE fanfare.runs AS x SET state = 'aborting' WHERE x.id = o.id;
            UPDATE fanfare.gates AS g SET state = 'aborting', reason = detail WHERE g.run_id = o.id AND g.state IN ('open', 'held');
        ELSE
            PERFORM fanfare.set_gates((SELECT c.rule_id FROM fanfare.campaigns AS c WHERE c.id = o.campaign_id), 'pause', detail);
            UPDATE fanfare.campaigns AS c SET state = 'paused' WHERE c.id = o.campaign_id AND c.state = 'active';
            INSERT INTO fanfare.alarms (name, detail)
            VALUES ('canary/' || app || '/' || campaign, detail || format('; it is paused: `fanfare campaigns resume %s %s` sends to the others, `abort` ends it', app, campaign))
            ON CONFLICT (name) DO UPDATE SET detail = excluded.detail, since = excluded.since;
        END IF;
        UPDATE fanfare.runs AS x SET verdict = judge_canaries.verdict WHERE x.id = o.id;
        RETURN NEXT;
    END LOOP;
END
$$;
COMMENT ON FUNCTION fanfare.judge_canaries IS
    'Opens the second gate if few of the canary''s responses are failures, pauses the campaign if many are; a row for each canary judged.';

CREATE OR REPLACE FUNCTION fanfare.is_undecided(run fanfare.runs) RETURNS boolean LANGUAGE sql IMMUTABLE
BEGIN ATOMIC
    -- Until the sample is judged as a canary, there is no verdict.
    SELECT run.state = 'running' AND run.experiment IS NOT NULL AND (run.look_at IS NOT NULL OR run.verdict IS NULL);
END;
COMMENT ON FUNCTION fanfare.is_undecided IS 'Whether a run has an experiment that is not decided yet.';
GRANT EXECUTE ON FUNCTION fanfare.is_undecided TO fanfare_reader;

-- All batches behind the held gate have one rule version, since a run is one event.
CREATE OR REPLACE FUNCTION fanfare.experiment_version(run_id bigint) RETURNS int LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT b.rule_version FROM fanfare.runs AS o JOIN fanfare.batches AS b ON b.gate_id = o.held_gate_id AND b.lease_token IS NULL
    WHERE o.id = experiment_version.run_id LIMIT 1;
END;
COMMENT ON FUNCTION fanfare.experiment_version IS 'The rule version that the sample of an experiment was sent with; null if no more recipients wait.';

-- Its name is the same, so the holdout stays as it is.
CREATE OR REPLACE FUNCTION fanfare.winner_version(rule_version int, winner text) RETURNS int
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    made int;
BEGIN
    PERFORM FROM fanfare.rules AS r
    WHERE r.id = (SELECT v.rule_id FROM fanfare.rule_versions AS v WHERE v.id = winner_version.rule_version) FOR NO KEY UPDATE;
    INSERT INTO fanfare.rule_versions (rule_id, version, definition, state, checked_at, retired_at, winner_of, app_id, event_type, rule_created_at,
        rule_event_number, audience, audience_path, devices_path, kind, provider, lane, ttl, supersede, enabled, gate_id, permissions, presents,
        conversion_event, conversion_user, conversion_value, conversion_within)
    SELECT v.rule_id, 1 + (SELECT max(x.version) FROM fanfare.rule_versions AS x WHERE x.rule_id = v.rule_id), (
            v.definition::jsonb || jsonb_build_object('variants', (
                SELECT jsonb_agg(u.variant || jsonb_build_object('weight', (u.variant ->> 'name' = winner_version.winner)::int) ORDER BY u.place)
                FROM jsonb_array_elements(v.definition::jsonb -> 'variants') WITH ORDINALITY AS u (variant, place))))::json,
        'active', clock_timestamp(), clock_timestamp(), v.id, v.app_id, v.event_type, v.rule_created_at, v.rule_event_number,
        v.audience, v.audience_path, v.devices_path, v.kind, v.provider, v.lane, v.ttl, v.supersede, v.enabled, v.gate_id, v.permissions, v.presents,
        v.conversion_event, v.conversion_user, v.conversion_value, v.conversion_within
    FROM fanfare.rule_versions AS v WHERE v.id = winner_version.rule_version
    RETURNING id INTO made;
    RETURN made;
END
$$;
COMMENT ON FUNCTION fanfare.winner_version IS 'Makes the version of a rule in which one variant has all the weight, and returns its id.';

-- Ends an experiment: the others get the winner, or without one each their own variant. False if it has ended already. The
-- caller has locked the campaign's row, or locks it here.
CREATE OR REPLACE FUNCTION fanfare.settle_experiment(run_id bigint, winner text, figures jsonb) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_variable
DECLARE
    o fanfare.runs;
    c fanfare.campaigns;
    sampled CONSTANT int := fanfare.experiment_version(run_id);
    made int;
BEGIN
    SELECT x.* INTO c FROM fanfare.campaigns AS x JOIN fanfare.runs AS r ON r.campaign_id = x.id WHERE r.id = run_id FOR NO KEY UPDATE OF x;
    SELECT x.* INTO o FROM fanfare.runs AS x WHERE x.id = run_id;
    PERFORM FROM fanfare.gates AS g WHERE g.run_id = o.id ORDER BY g.id FOR NO KEY UPDATE;
    IF NOT fanfare.is_undecided(o) THEN
        RETURN false;
    END IF;
    IF winner IS NOT NULL AND sampled IS NOT NULL THEN
        made := fanfare.winner_version(sampled, winner);
        UPDATE fanfare.batches AS b SET rule_version = made WHERE b.gate_id = o.held_gate_id AND b.lease_token IS NULL;
    END IF;
    UPDATE fanfare.gates AS g SET state = 'open' WHERE g.id = o.held_gate_id AND g.state = 'held';
    UPDATE fanfare.runs AS x SET winner = winner, figures = figures, look_at = NULL, looks = o.looks + 1, verdict = coalesce(o.verdict, 'passed')
    WHERE x.id = o.id;
    PERFORM fanfare.begin_ramp(c.rule_id);
    -- Another run of the campaign may wait, too.
    DELETE FROM fanfare.alarms AS x
    WHERE NOT EXISTS (SELECT FROM fanfare.runs AS y WHERE y.campaign_id = c.id AND y.state = 'running' AND y.look_at IS NOT NULL)
        AND x.name = 'experiment/' || (SELECT a.name FROM fanfare.apps AS a WHERE a.id = c.app_id) || '/' || c.name;
    RETURN true;
END
$$;
COMMENT ON FUNCTION fanfare.settle_experiment IS 'Ends an experiment and opens the gate of the other recipients; returns whether it had not ended.';

-- The rest stays held. The experiment is evaluated 20 times, and then waits for an operator.
CREATE OR REPLACE FUNCTION fanfare.hold_experiment(run_id bigint, figures jsonb, detail text, now timestamptz) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_variable
DECLARE
    o fanfare.runs;
BEGIN
    UPDATE fanfare.runs AS x
    SET figures = figures, looks = x.looks + 1,
        look_at = CASE WHEN x.looks < 19 THEN now + greatest(x.canary_wait / 4, interval '15 seconds') ELSE 'infinity' END
    WHERE x.id = run_id AND x.state = 'running' AND x.look_at <= now RETURNING x.* INTO o;
    IF o.id IS NOT NULL THEN
        INSERT INTO fanfare.alarms (name, detail)
        SELECT 'experiment/' || a.name || '/' || c.name, detail || format('; the others wait: `fanfare campaigns resume %s %s` sends to them, with --winner one variant', a.name, c.name)
        FROM fanfare.campaigns AS c JOIN fanfare.apps AS a ON a.id = c.app_id WHERE c.id = o.campaign_id
        ON CONFLICT (name) DO UPDATE SET detail = excluded.detail;
    END IF;
END
$$;
COMMENT ON FUNCTION fanfare.hold_experiment IS 'Stores the figures of an evaluation that was not clear, and when the next one is.';

CREATE OR REPLACE FUNCTION fanfare.campaign_named(app text, name text) RETURNS fanfare.campaigns
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    c fanfare.campaigns;
BEGIN
    SELECT x.* INTO c FROM fanfare.campaigns AS x JOIN fanfare.apps AS a ON a.id = x.app_id
    WHERE a.name = campaign_named.app AND x.name = campaign_named.name AND x.dropped_at IS NULL FOR UPDATE OF x;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'app % has no campaign %', campaign_named.app, campaign_named.name
            USING ERRCODE = 'P0002', HINT = 'fanfare.campaigns has them, and `fanfare campaigns list` shows them.';
    END IF;
    RETURN c;
END
$$;
COMMENT ON FUNCTION fanfare.campaign_named IS 'The campaign of that name, locked; an error if there is none.';

CREATE OR REPLACE FUNCTION fanfare.start_campaign(app text, name text, payload jsonb DEFAULT '{}') RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    c fanfare.campaigns := fanfare.campaign_named(app, name);
    running fanfare.runs;
BEGIN
    IF jsonb_typeof(payload) IS DISTINCT FROM 'object' THEN
        RAISE EXCEPTION 'payload: is not an object' USING ERRCODE = '22023', HINT = 'Pass {"sale": "winter"}, or nothing.';
    ELSIF c.definition IS NULL THEN
        RAISE EXCEPTION 'campaign % %', c.name, coalesce('is refused: ' || c.reason, 'is not checked yet')
            USING ERRCODE = '55000', HINT = CASE WHEN c.reason IS NULL THEN 'A running daemon does so within a second.' ELSE 'Apply a fixed version.' END;
    ELSIF c.state = 'paused' THEN
        RAISE EXCEPTION 'campaign % is paused', c.name USING ERRCODE = '55000', HINT = 'Call fanfare.resume_campaign first.';
    END IF;
    SELECT * INTO running FROM fanfare.runs AS o
    WHERE o.campaign_id = c.id AND o.state IN ('querying', 'running', 'aborting') AND o.test_users IS NULL ORDER BY o.id DESC LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'campaign % is running since %', c.name, date_trunc('second', running.fired_at)
            USING ERRCODE = '55000', HINT = 'Wait until it is done, or call fanfare.abort_campaign.';
    END IF;
    RETURN fanfare.fire(c, clock_timestamp(), payload);
END
$$;
COMMENT ON FUNCTION fanfare.start_campaign IS
    'Starts a campaign now, in the caller''s transaction, with a payload merged over its own; returns the run''s id.';
GRANT EXECUTE ON FUNCTION fanfare.start_campaign TO fanfare_author, fanfare_operator;

CREATE OR REPLACE FUNCTION fanfare.pause_campaign(app text, name text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    c fanfare.campaigns := fanfare.campaign_named(app, name);
    has_held boolean := fanfare.set_gates(c.rule_id, 'pause', 'campaign ' || c.name || ' is paused');
BEGIN
    UPDATE fanfare.campaigns AS x SET state = 'paused' WHERE x.id = c.id AND x.state = 'active';
    RETURN FOUND OR has_held;
END
$$;
COMMENT ON FUNCTION fanfare.pause_campaign IS
    'Stops a campaign''s schedule and holds its unsent deliveries; no push of it starts later than 1 s after the '
    'commit. Returns whether anything changed.';
GRANT EXECUTE ON FUNCTION fanfare.pause_campaign TO fanfare_author, fanfare_operator;

-- Times that came due during a pause do not count as missed, since the pause was intended.
CREATE OR REPLACE FUNCTION fanfare.activate_campaign(id int) RETURNS boolean LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE fanfare.campaigns AS x
    SET state = 'active', next_at = CASE WHEN x.cron_fields IS NULL THEN x.next_at
        ELSE fanfare.next_due(x.cron_fields, NULL, x.time_zone, clock_timestamp()) END
    WHERE x.id = activate_campaign.id AND x.state = 'paused';
    RETURN FOUND;
END
$$;
COMMENT ON FUNCTION fanfare.activate_campaign IS 'Resumes the schedule of a paused campaign; returns whether it was paused.';

CREATE OR REPLACE FUNCTION fanfare.override_experiment(campaign_id int, winner text) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    waiting CONSTANT fanfare.runs[] := ARRAY(
        SELECT o FROM fanfare.runs AS o
        WHERE o.campaign_id = override_experiment.campaign_id AND fanfare.is_undecided(o)
            -- Until the sample is judged, only a winner ends the experiment: resuming twice must not.
            AND (o.verdict IS NOT NULL OR override_experiment.winner IS NOT NULL)
            AND EXISTS (SELECT FROM fanfare.event_log AS l WHERE l.day = fanfare.ring_day(o.event_id) AND l.id = o.event_id)
            AND NOT EXISTS (SELECT FROM fanfare.plans AS p WHERE p.event_id = o.event_id)
        ORDER BY o.id);
    names text[];
    is_settled boolean := false;
    o fanfare.runs;
BEGIN
    IF override_experiment.winner IS NOT NULL AND waiting = '{}' THEN
        RAISE EXCEPTION 'no experiment of the campaign waits to be decided' USING ERRCODE = '55000',
            HINT = 'An experiment waits from when its audience is planned until it is decided; fanfare.campaign_runs shows it.';
    END IF;
    FOREACH o IN ARRAY waiting LOOP
        -- Those that the sample got: the campaign may have others by now.
        names := ARRAY(
            SELECT v.variant ->> 'name'
            FROM jsonb_array_elements(coalesce(
                (SELECT r.definition::jsonb FROM fanfare.rule_versions AS r WHERE r.id = fanfare.experiment_version(o.id)),
                (SELECT c.definition::jsonb FROM fanfare.campaigns AS c WHERE c.id = o.campaign_id)) -> 'variants') AS v (variant));
        IF override_experiment.winner IS NOT NULL AND override_experiment.winner <> ALL (names) THEN
            RAISE EXCEPTION 'the campaign has no variant %', override_experiment.winner USING ERRCODE = '22023',
                HINT = format('The variants of its run %s are %s.', o.id, array_to_string(names, ', '));
        END IF;
        is_settled := fanfare.settle_experiment(o.id, override_experiment.winner, coalesce(o.figures, '{}') || '{"decided_by": "operator"}') OR is_settled;
    END LOOP;
    RETURN is_settled;
END
$$;
COMMENT ON FUNCTION fanfare.override_experiment IS 'Ends the experiments of a campaign''s runs by an operator''s decision; returns whether there was one.';

CREATE OR REPLACE FUNCTION fanfare.resume_campaign(app text, name text, winner text DEFAULT NULL) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    c fanfare.campaigns := fanfare.campaign_named(app, name);
    has_let_go boolean := fanfare.set_gates(c.rule_id, 'resume');
    is_settled boolean := false;
BEGIN
    IF resume_campaign.winner IS NOT NULL OR NOT has_let_go AND c.state <> 'paused' THEN
        is_settled := fanfare.override_experiment(c.id, resume_campaign.winner);
    END IF;
    -- Resuming after a failed canary sends to the other recipients: an operator has decided so.
    UPDATE fanfare.gates AS g SET state = 'open'
    FROM fanfare.runs AS o
    WHERE o.campaign_id = c.id AND o.state = 'running' AND o.verdict = 'failed' AND g.id = o.held_gate_id AND g.state = 'held';
    IF FOUND THEN
        PERFORM fanfare.begin_ramp(c.rule_id);
    END IF;
    DELETE FROM fanfare.alarms AS x WHERE x.name = 'canary/' || resume_campaign.app || '/' || c.name;
    RETURN fanfare.activate_campaign(c.id) OR has_let_go OR is_settled;
END
$$;
COMMENT ON FUNCTION fanfare.resume_campaign IS
    'Resumes a paused campaign: its unsent deliveries, and its future times. If it waits for an experiment instead, the others get the named '
    'variant, or each their own. Returns whether anything changed.';
GRANT EXECUTE ON FUNCTION fanfare.resume_campaign TO fanfare_author, fanfare_operator;

-- These runs have stored no result, so nothing else has to end; the daemon that runs the query finds the run aborted.
CREATE OR REPLACE FUNCTION fanfare.abort_query_runs(campaign_id int) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    aborted bigint[];
BEGIN
    WITH ended AS (
        UPDATE fanfare.runs AS o SET state = 'aborted', owner = NULL, ended_at = clock_timestamp()
        WHERE o.campaign_id = abort_query_runs.campaign_id AND o.state = 'querying' RETURNING o.id
    )
    SELECT array_agg(e.id) INTO aborted FROM ended AS e;
    UPDATE fanfare.gates AS g SET state = 'done', ended_at = clock_timestamp(), is_paused = false WHERE g.run_id = ANY (aborted);
    RETURN aborted IS NOT NULL;
END
$$;
COMMENT ON FUNCTION fanfare.abort_query_runs IS
    'Ends the runs of a campaign whose query is being executed, test runs included; returns whether there were any.';

CREATE OR REPLACE FUNCTION fanfare.abort_campaign(app text, name text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    c fanfare.campaigns := fanfare.campaign_named(app, name);
    has_failed CONSTANT boolean := EXISTS (SELECT FROM fanfare.runs AS o WHERE o.campaign_id = c.id AND o.state = 'running' AND o.verdict = 'failed');
    was_read boolean;
BEGIN
    was_read := fanfare.abort_query_runs(c.id);
    UPDATE fanfare.runs AS o SET state = 'aborting' WHERE o.campaign_id = c.id AND o.state = 'running';
    IF NOT FOUND AND NOT was_read THEN
        RETURN false;
    END IF;
    PERFORM fanfare.set_gates(c.rule_id, 'abort', 'campaign ' || c.name || ' is aborted');
    DELETE FROM fanfare.alarms AS x WHERE x.name IN ('canary/' || abort_campaign.app || '/' || c.name, 'experiment/' || abort_campaign.app || '/' || c.name);
    IF has_failed THEN
        -- The failed canary paused the campaign, so the pause ends with the aborted run.
        PERFORM fanfare.activate_campaign(c.id);
    ELSIF c.state = 'paused' THEN
        RAISE NOTICE 'campaign % stays paused', c.name USING HINT = 'Call fanfare.resume_campaign for its schedule to go on.';
    END IF;
    RETURN true;
END
$$;
COMMENT ON FUNCTION fanfare.abort_campaign IS
    'Ends the unsent deliveries of a campaign: each remaining recipient is recorded as cancelled. Its schedule goes '
    'on, unless an operator paused it. Returns whether there was a run to abort.';
GRANT EXECUTE ON FUNCTION fanfare.abort_campaign TO fanfare_author, fanfare_operator;

-- Uses a separate rule, replaced at each test: the campaign's rule with another audience. Its events and pushes are
-- distinguished from the campaign's by the rule's name and the events' type.
CREATE OR REPLACE FUNCTION fanfare.test_campaign(app text, name text, user_ids text[]) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' AS $$
DECLARE
    c fanfare.campaigns := fanfare.campaign_named(app, name);
    rule jsonb := fanfare.campaign_rule(c.definition::jsonb);
    event bigint;
BEGIN
    IF c.definition IS NULL THEN
        RAISE EXCEPTION 'campaign % %', c.name, coalesce('is refused: ' || c.reason, 'is not checked yet')
            USING ERRCODE = '55000', HINT = CASE WHEN c.reason IS NULL THEN 'A running daemon does so within a second.' ELSE 'Apply a fixed version.' END;
    ELSIF coalesce(cardinality(user_ids), 0) = 0 OR array_position(user_ids, NULL) IS NOT NULL THEN
        RAISE EXCEPTION 'user_ids: names nobody' USING ERRCODE = '22023', HINT = 'Name the users that shall get it, as in ARRAY[''ann''].';
    END IF;
    -- A test ignores quiet hours, category and caps, so that it arrives each time.
    rule := rule - '{category,caps,holdout,conversion,conversion_sql}'::text[] || jsonb_build_object('quiet_hours', 'off', 'name', 'campaign-test/' || c.name, 'event', 'campaign-test.' || test_campaign.app || '.' || c.name,
        'lane', 'normal', 'to', '{"users": "$.users"}'::jsonb || (rule -> 'to') - '{users,topic,condition,everyone,fcm_topic,fcm_condition,channel,staged}'::text[]);
    PERFORM fanfare.store_rule(rule);
    -- A daemon runs the query: here it could change the caller's session.
    IF c.definition::jsonb ?| '{audience_sql,payload_sql}' THEN
        INSERT INTO fanfare.runs (campaign_id, scheduled_at, event_id, state, fired_at, test_users)
        VALUES (c.id, clock_timestamp(), fanfare.new_event_id(), 'querying', clock_timestamp(), user_ids)
        RETURNING runs.event_id INTO event;
        RETURN event;
    END IF;
    INSERT INTO fanfare.outbox (own, type, payload) VALUES (true, rule ->> 'event', coalesce(c.definition::jsonb -> 'payload', '{}')
        || jsonb_build_object('campaign', c.name, 'scheduled_at', clock_timestamp(), 'users', to_jsonb(user_ids)))
    RETURNING id INTO event;
    RETURN event;
END
$$;
COMMENT ON FUNCTION fanfare.test_campaign IS
    'Sends a campaign''s message to named users only, at once, or as soon as its query has run; returns the event''s id.';
GRANT EXECUTE ON FUNCTION fanfare.test_campaign TO fanfare_author, fanfare_operator;

CREATE OR REPLACE FUNCTION fanfare.drop_campaign(app text, name text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    dropped fanfare.campaigns;
BEGIN
    UPDATE fanfare.campaigns AS x SET dropped_at = clock_timestamp(), next_at = NULL
    WHERE x.app_id = (SELECT a.id FROM fanfare.apps AS a WHERE a.name = drop_campaign.app) AND x.name = drop_campaign.name AND x.dropped_at IS NULL
    RETURNING * INTO dropped;
    IF dropped.id IS NULL THEN
        RETURN false;
    END IF;
    PERFORM fanfare.abort_query_runs(dropped.id);
    -- A dropped campaign cannot be resumed, so held deliveries would wait for ever.
    IF dropped.state = 'paused' OR EXISTS (
        SELECT FROM fanfare.runs AS o JOIN fanfare.gates AS g ON g.id = o.held_gate_id AND g.state = 'held'
        WHERE o.campaign_id = dropped.id AND o.state = 'running' AND o.experiment IS NOT NULL)
    THEN
        UPDATE fanfare.runs AS o SET state = 'aborting', look_at = NULL WHERE o.campaign_id = dropped.id AND o.state = 'running';
        PERFORM fanfare.set_gates(dropped.rule_id, 'abort', format('campaign %s was %s when it was dropped', dropped.name,
            CASE WHEN dropped.state = 'paused' THEN 'paused' ELSE 'held for its experiment' END));
    END IF;
    PERFORM fanfare.drop_rule(drop_campaign.app, 'campaign/' || dropped.name);
    PERFORM fanfare.drop_rule(drop_campaign.app, 'campaign-test/' || dropped.name);
    DELETE FROM fanfare.alarms AS x WHERE x.name IN ('canary/' || drop_campaign.app || '/' || dropped.name, 'experiment/' || drop_campaign.app || '/' || dropped.name);
    RETURN true;
END
$$;
COMMENT ON FUNCTION fanfare.drop_campaign IS
    'Ends a campaign. Planned deliveries are still sent, unless it is paused or waits for its experiment: then they are aborted.';
GRANT EXECUTE ON FUNCTION fanfare.drop_campaign TO fanfare_author;

CREATE OR REPLACE FUNCTION fanfare.campaign_from_file(app text, name text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
BEGIN
    UPDATE fanfare.campaigns AS x SET from_file = true
    WHERE x.app_id = (SELECT a.id FROM fanfare.apps AS a WHERE a.name = campaign_from_file.app) AND x.name = campaign_from_file.name AND x.dropped_at IS NULL AND NOT x.from_file;
    RETURN FOUND;
END
$$;
COMMENT ON FUNCTION fanfare.campaign_from_file IS
    'Records that a campaign comes from a file, so that `campaigns apply --prune` may drop it once it is gone from '
    'the file; returns whether that is new.';
GRANT EXECUTE ON FUNCTION fanfare.campaign_from_file TO fanfare_author;

-- Emits some of the due digests, the oldest first, as events of type `digest.<app>.<rule>`: the newest payload with the
-- gathered ones in `events`. Concurrent calls skip each other's digests, and those that a planner is adding to. The
-- digests of a dropped rule are discarded.
CREATE OR REPLACE FUNCTION fanfare.emit_digests(now timestamptz, OUT app text, OUT rule text, OUT emitted int, OUT left_out int, OUT events bigint)
RETURNS SETOF record LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET timezone = 'UTC'
-- Reads in index order, however many are due.
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    rules int[];
    keys text[];
BEGIN
    -- Locked by a separate statement: events that were added while this one waited are visible only to the next
    -- statement's snapshot. At most 2,000 events, whose payloads may be large, but at least one digest.
    SELECT array_agg(x.rule_id), array_agg(x.key) INTO rules, keys FROM (
        SELECT d.rule_id, d.key, sum(d.named) OVER (ORDER BY d.due_at, d.rule_id, d.key) - d.named AS before
        FROM (
            SELECT g.rule_id, g.key, g.due_at, cardinality(g.event_ids) AS named FROM fanfare.open_digests AS g
            WHERE g.due_at <= emit_digests.now ORDER BY g.due_at LIMIT 500 FOR UPDATE SKIP LOCKED
        ) AS d
    ) AS x
    WHERE x.before < 2000;
    IF rules IS NULL THEN
        RETURN;
    END IF;
    RETURN QUERY
    WITH due AS (
        DELETE FROM fanfare.open_digests AS g USING unnest(rules, keys) AS u (rule_id, key)
        WHERE g.rule_id = u.rule_id AND g.key = u.key
        RETURNING g.rule_id, g.began_at, g.due_at, g.count, g.event_ids
    ),
    made AS MATERIALIZED (
        SELECT a.name AS app, substr(r.name, length('gather/') + 1) AS rule, d.due_at, d.count,
            p.newest || jsonb_build_object('events', p.list, 'count', d.count, 'since', d.began_at) AS payload
        FROM due AS d
        JOIN fanfare.rules AS r ON r.id = d.rule_id
        JOIN fanfare.apps AS a ON a.id = r.app_id
        LEFT JOIN LATERAL (
            -- The newest events that fit beside the newest payload in an event of 64 KiB and 32 levels.
            SELECT (array_agg(x.payload ORDER BY x.id DESC))[1] AS newest, coalesce(jsonb_agg(x.payload ORDER BY x.id)
                FILTER (WHERE x.bytes + x.head <= 61440 AND NOT jsonb_path_exists(x.payload, '$.**{31}')), '[]') AS list
            FROM (
                SELECT l.id, l.payload, sum(l.bytes + 2) OVER w AS bytes, first_value(l.bytes) OVER w AS head
                FROM unnest(d.event_ids) AS u (id)
                CROSS JOIN LATERAL (
                    SELECT e.id, e.payload, octet_length(e.payload::text) AS bytes, e.type, e.key, e.created_at
                    FROM fanfare.event_log AS e WHERE e.day = fanfare.ring_day(u.id) AND e.id = u.id
                    OFFSET 0
                ) AS l
                WHERE NOT EXISTS (SELECT FROM fanfare.cancels AS c WHERE c.event_id = l.id OFFSET 0)
                    AND (l.key IS NULL OR NOT EXISTS (
                        SELECT FROM fanfare.cancels AS c
                        WHERE c.type = l.type AND c.key = l.key AND NOT fanfare.is_emitted_after(l.id, c.event_number) OFFSET 0))
                WINDOW w AS (ORDER BY l.id DESC)
            ) AS x
        ) AS p ON r.dropped_at IS NULL
    ),
    sent AS (
        -- Dated when it was due: a digest that no daemon could emit for a day is as late as any event.
        INSERT INTO fanfare.outbox (created_at, own, type, payload)
        SELECT least(m.due_at, clock_timestamp()), true, concat('digest.', m.app, '.', m.rule), m.payload FROM made AS m WHERE m.payload IS NOT NULL
    )
    SELECT m.app, m.rule, count(m.payload)::int, (count(*) - count(m.payload))::int, sum(m.count)::bigint FROM made AS m GROUP BY m.app, m.rule;
END
$$;
COMMENT ON FUNCTION fanfare.emit_digests IS 'Emits one event for each of some due digests; no row if none is due.';

-- ---------------------------------------------------------------------------------------------------------------
-- 23a. Functions: retract
-- ---------------------------------------------------------------------------------------------------------------
-- A retraction is a row that claims and one daemon read. The daemon's scheduler finds the devices that accepted the
-- event, and queues one silent push for each that lists what was taken back from it.

CREATE OR REPLACE FUNCTION fanfare.retract(event_id bigint, user_id text DEFAULT NULL) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    is_known boolean;
BEGIN
    IF retract.user_id IS NOT NULL AND fanfare.given(retract.user_id, 'a user''s id', 'Leave the user out to take the event back for all.') IS NULL THEN
        RAISE EXCEPTION 'user_id: names nobody' USING ERRCODE = '22023', HINT = 'Pass the id that the user''s devices are registered with, or null for all whom the event is for.';
    END IF;
    IF fanfare.is_scheduled_id(retract.event_id) THEN
        -- Nothing of it was sent yet. The payload may name other users too, so for one user it stays.
        IF retract.user_id IS NULL THEN
            DELETE FROM fanfare.scheduled AS s WHERE s.id = retract.event_id;
            IF FOUND THEN
                RETURN true;
            END IF;
        END IF;
        event_id := fanfare.event_of(retract.event_id);
    END IF;
    is_known := EXISTS (SELECT FROM fanfare.event_log AS l WHERE l.day = fanfare.ring_day(retract.event_id) AND l.id = retract.event_id)
        OR EXISTS (SELECT FROM fanfare.outbox AS o WHERE o.id = retract.event_id)
        OR EXISTS (SELECT FROM fanfare.quarantine AS o WHERE o.id = retract.event_id);
    IF NOT is_known THEN
        RETURN false;
    END IF;
    IF retract.user_id IS NULL THEN
        INSERT INTO fanfare.cancels (event_id, taken_back) VALUES (retract.event_id, true);
    END IF;
    -- A repetition adds nothing until the first call is carried out.
    INSERT INTO fanfare.retractions (event_id, user_id)
    SELECT retract.event_id, retract.user_id
    WHERE NOT EXISTS (
        SELECT FROM fanfare.retractions AS r
        WHERE r.event_id = retract.event_id AND r.user_id IS NOT DISTINCT FROM retract.user_id AND r.rule_id IS NULL
            AND r.due_at IS NOT NULL AND r.cursor = 0);
    RETURN true;
END
$$;
COMMENT ON FUNCTION fanfare.retract(bigint, text) IS
    'Takes an event back, for all or for one user: stops what waits, and tells devices that accepted it to remove the '
    'notification. Returns whether the event is known.';
GRANT EXECUTE ON FUNCTION fanfare.retract(bigint, text) TO fanfare_emitter;

CREATE OR REPLACE FUNCTION fanfare.retract(type text, key text, user_id text DEFAULT NULL) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    known CONSTANT bigint[] := ARRAY(
        SELECT k.event_id FROM fanfare.event_keys AS k WHERE k.type = retract.type AND k.key = retract.key
        UNION
        SELECT o.id FROM fanfare.outbox AS o WHERE o.type = retract.type AND o.key = retract.key
        UNION
        SELECT o.id FROM fanfare.quarantine AS o WHERE o.type = retract.type AND o.key = retract.key);
    is_known boolean := false;
    id bigint;
BEGIN
    IF fanfare.given(retract.key, 'an event''s key', 'Pass the key that the events have.') IS NULL THEN
        RAISE EXCEPTION 'the key is empty' USING ERRCODE = '22023', HINT = 'Pass the key that the events have, or an event''s id.';
    END IF;
    FOREACH id IN ARRAY known LOOP
        is_known := fanfare.retract(id, retract.user_id) OR is_known;
    END LOOP;
    -- Also what is scheduled, and what no key names yet.
    IF retract.user_id IS NULL THEN
        is_known := fanfare.cancel(retract.type, retract.key) OR is_known;
    END IF;
    RETURN is_known;
END
$$;
COMMENT ON FUNCTION fanfare.retract(text, text, text) IS
    'Takes back the events emitted or scheduled so far under this type and key, for all or for one user; returns whether there is one.';
GRANT EXECUTE ON FUNCTION fanfare.retract(text, text, text) TO fanfare_emitter;

-- Some logged batches of an event after one, in the order of their ids, and the devices in them that accepted it; all
-- batches at once if devices are named.
CREATE OR REPLACE FUNCTION fanfare.accepted_devices(event_id bigint, devices bigint[], after bigint, count int)
RETURNS TABLE (batch_id bigint, rule_version int, target_id smallint, device_ids bigint[])
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    last_day CONSTANT bigint := (clock_timestamp() AT TIME ZONE 'UTC')::date - DATE '2020-01-01';
    first_day CONSTANT bigint := greatest(accepted_devices.event_id >> 32, last_day - 31);
    days CONSTANT smallint[] := ARRAY(SELECT DISTINCT (d % 32)::smallint FROM generate_series(first_day, greatest(first_day, last_day)) AS d);
    -- One index scan for all devices.
    places CONSTANT int8multirange := (SELECT range_agg(int8range(d, d, '[]')) FROM unnest(accepted_devices.devices) AS d);
BEGIN
    IF accepted_devices.devices IS NULL THEN
        RETURN QUERY
        SELECT b.id, b.rule_version, b.target_id, ARRAY(
            SELECT u.device_id FROM unnest(b.device_ids, b.event_ids) WITH ORDINALITY AS u (device_id, event_id, position)
            WHERE (b.event_ids IS NULL OR u.event_id = accepted_devices.event_id) AND u.device_id > 0
                AND get_byte(b.outcomes, u.position::int - 1) = 1)
        FROM (
            -- Concatenated to decompress the outcomes once.
            SELECT x.id, x.rule_version, x.target_id, x.device_ids, x.event_ids, x.outcomes || ''::bytea AS outcomes FROM (
                (SELECT l.* FROM fanfare.batch_log AS l
                WHERE l.event_id = accepted_devices.event_id AND l.day = ANY (days) AND l.id > accepted_devices.after
                ORDER BY l.id LIMIT accepted_devices.count)
                UNION ALL
                (SELECT l.* FROM fanfare.batch_log AS l
                WHERE l.event_id IS NULL AND int8range(l.first_event, l.last_event, '[]') @> accepted_devices.event_id AND l.day = ANY (days)
                    AND l.id > accepted_devices.after
                ORDER BY l.id LIMIT accepted_devices.count)
            ) AS x
            ORDER BY x.id LIMIT accepted_devices.count
            OFFSET 0
        ) AS b;
    ELSE
        RETURN QUERY
        SELECT b.id, b.rule_version, b.target_id, array_agg(d.id ORDER BY d.id)
        FROM (
            SELECT l.* FROM fanfare.batch_log AS l
            WHERE l.event_id = accepted_devices.event_id AND l.day = ANY (days) AND int8range(l.first_device, l.last_device, '[]') && places
            UNION ALL
            SELECT l.* FROM fanfare.batch_log AS l
            WHERE l.event_id IS NULL AND l.day = ANY (days) AND int8range(l.first_event, l.last_event, '[]') @> accepted_devices.event_id
                AND int8range(l.first_device, l.last_device, '[]') && places
        ) AS b
        JOIN unnest(accepted_devices.devices) AS d (id) ON d.id BETWEEN b.first_device AND b.last_device
            AND (b.event_ids IS NULL OR fanfare.may_hold(b.device_marks, d.id))
        WHERE EXISTS (
            SELECT FROM unnest(array_positions(b.device_ids, d.id)) AS y (position)
            WHERE (b.event_ids IS NULL OR b.event_ids[y.position] = accepted_devices.event_id) AND get_byte(b.outcomes, y.position - 1) = 1)
        GROUP BY 1, 2, 3;
    END IF;
END
$$;
COMMENT ON FUNCTION fanfare.accepted_devices IS 'Batches of an event, and the devices in them that accepted it.';

-- The rule version of the silent pushes that take back what a version sent: internal, never in force, and made once. It
-- has the version's badge_sql. Its rule is `retract/<name>`, a name that no author can give.
CREATE OR REPLACE FUNCTION fanfare.retraction_rule(rule_version int) RETURNS int
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    made int;
    of fanfare.rule_versions;
    rule fanfare.rules;
    app text;
    own_rule int;
BEGIN
    SELECT v.* INTO of FROM fanfare.rule_versions AS v WHERE v.id = retraction_rule.rule_version FOR UPDATE;
    IF of.retract_version IS NOT NULL OR of.id IS NULL THEN
        RETURN of.retract_version;
    END IF;
    SELECT r.* INTO rule FROM fanfare.rules AS r WHERE r.id = of.rule_id FOR UPDATE;
    SELECT a.name INTO app FROM fanfare.apps AS a WHERE a.id = rule.app_id;
    SELECT r.id INTO own_rule FROM fanfare.rules AS r WHERE r.app_id = rule.app_id AND r.name = 'retract/' || rule.name;
    IF own_rule IS NULL THEN
        -- Dropped from the beginning, so that no list of rules has it.
        INSERT INTO fanfare.rules (app_id, name, dropped_at) VALUES (rule.app_id, 'retract/' || rule.name, clock_timestamp()) RETURNING id INTO own_rule;
    END IF;
    INSERT INTO fanfare.rule_versions (rule_id, version, definition, state, checked_at, retired_at, app_id, event_type, rule_created_at,
        audience, kind, lane, ttl, enabled)
    SELECT own_rule, 1 + coalesce((SELECT max(v.version) FROM fanfare.rule_versions AS v WHERE v.rule_id = own_rule), 0),
        json_strip_nulls(json_build_object(
            'name', rule.name, 'app', app, 'event', 'retract.' || app, 'to', json_build_object('users', '$.none'),
            'message', json_build_object(
                'data', json_build_object('fanfare_retracted', '{{json(retracted)}}'),
                'apns', json_build_object(
                    'headers', json_build_object('apns-push-type', 'background', 'apns-priority', '5'),
                    'payload', json_build_object('aps', json_build_object('content-available', 1), 'fanfare_retracted', '{{retracted}}'))),
            'ttl', '1d', 'lane', 'bulk', 'quiet_hours', 'off', 'badge_sql', of.definition ->> 'badge_sql')),
        'active', clock_timestamp(), clock_timestamp(), rule.app_id, 'retract.' || app, clock_timestamp(), 'users', 'device', 2, interval '1 day', false
    RETURNING id INTO made;
    UPDATE fanfare.rule_versions AS v SET retract_version = made WHERE v.id = of.id;
    RETURN made;
END
$$;
COMMENT ON FUNCTION fanfare.retraction_rule IS 'The version of the silent pushes that take back what a rule version sent; made if there is none.';

-- What was done to take back a delivery that was accepted.
CREATE OR REPLACE FUNCTION fanfare.taken_back(event_id bigint, rule_version int, device_id bigint) RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    taken fanfare.retractions;
    device fanfare.devices;
    noted fanfare.retracted_devices;
    version fanfare.rule_versions;
BEGIN
    IF NOT EXISTS (SELECT FROM fanfare.retractions AS r WHERE r.event_id = taken_back.event_id) THEN
        RETURN NULL;
    END IF;
    SELECT d.* INTO device FROM fanfare.devices AS d WHERE d.id = taken_back.device_id;
    SELECT v.* INTO version FROM fanfare.rule_versions AS v WHERE v.id = taken_back.rule_version;
    SELECT r.* INTO taken FROM fanfare.retractions AS r
    WHERE r.event_id = taken_back.event_id AND (r.user_id IS NULL OR r.user_id = device.user_id)
        AND (r.rule_id IS NULL OR r.rule_id = version.rule_id)
    ORDER BY r.id LIMIT 1;
    IF taken.id IS NULL THEN
        RETURN NULL;
    END IF;
    SELECT x.* INTO noted FROM fanfare.retracted_devices AS x WHERE x.device_id = taken_back.device_id;
    RETURN format('Accepted, and taken back at %s: ', fanfare.utc(taken.created_at)) || CASE
        WHEN version.definition ->> 'collapse' IS NULL THEN 'the rule has no collapse, so the device knows it by no identifier.'
        WHEN version.kind <> 'device' OR taken_back.device_id = 0 THEN 'pushes of this kind cannot be removed.'
        WHEN taken.due_at IS NOT NULL AND coalesce(noted.changed_at < taken.created_at, true) THEN 'the devices that accepted it are being found.'
        WHEN noted.device_id IS NULL OR noted.changed_at < taken.created_at THEN 'the device knows it by no identifier.'
        WHEN device.provider NOT IN ('apns', 'fcm') THEN 'the device learns it when it asks at its start.'
        WHEN noted.pending > 0 THEN format('a silent push is due at %s.', fanfare.utc(noted.due_at))
        ELSE format('a silent push was queued by %s.', fanfare.utc(noted.sent_at)) END;
END
$$;
COMMENT ON FUNCTION fanfare.taken_back IS 'What was done to take back an accepted delivery; null if it was not taken back.';
GRANT EXECUTE ON FUNCTION fanfare.taken_back TO fanfare_reader;

-- The identifiers of a device that has news since then are all returned: each has its time, and one that was taken back
-- earlier may have been noted later. The overlap is for a transaction that was not committed at the last call.
CREATE OR REPLACE FUNCTION fanfare.retracted(app text, user_id text, since timestamptz DEFAULT '-infinity', count int DEFAULT 500)
RETURNS TABLE (provider text, id text, retracted_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
SELECT d.provider, u.id, max(to_timestamp(u.at))
FROM (
    SELECT x.id, x.provider FROM fanfare.devices AS x
    WHERE x.app_id = (SELECT a.id FROM fanfare.apps AS a WHERE a.name = $1) AND x.user_id = $2 ORDER BY x.id DESC LIMIT 200
) AS d
JOIN fanfare.retracted_devices AS x ON x.device_id = d.id
CROSS JOIN LATERAL unnest(x.ids, x.times) AS u (id, at)
WHERE x.changed_at >= $3 - interval '1 minute'
GROUP BY 1, 2
ORDER BY 3 DESC, 1, 2 LIMIT $4
$$;
COMMENT ON FUNCTION fanfare.retracted IS
    'The identifiers taken back from the last 200 devices of a user, the newest first: at most 50 of each device for which '
    'something was taken back since a time.';
GRANT EXECUTE ON FUNCTION fanfare.retracted TO fanfare_reader;

-- ---------------------------------------------------------------------------------------------------------------
-- 24. Functions: policies
-- ---------------------------------------------------------------------------------------------------------------
-- What applies to all pushes of an app, whichever rule sends them. All of it is checked here; daemons read only the
-- resulting rows.

-- What fits each other, and what the server knows; the rest is in definition_keys.
CREATE OR REPLACE FUNCTION fanfare.policy_error(policy jsonb, OUT place text, OUT reason text, OUT hint text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF jsonb_typeof(policy) IS DISTINCT FROM 'object' THEN
        place := 'policy';
        reason := CASE WHEN policy IS NULL THEN 'is missing' ELSE 'is not an object' END;
        hint := 'write {"rate": "1000/s"}, or {} for none';
        RETURN;
    END IF;
    SELECT f.* INTO place, reason, hint FROM fanfare.definition_error('policy', policy, '') AS f;
    IF reason IS NULL THEN
        SELECT q.* INTO place, reason, hint FROM fanfare.quiet_error(policy -> 'quiet_hours') AS q;
    END IF;
END
$$;
COMMENT ON FUNCTION fanfare.policy_error IS
    'The error for which put_policy refuses a policy, with its place and how to fix it; null if there is none.';
GRANT EXECUTE ON FUNCTION fanfare.policy_error TO fanfare_author;

-- Unchanged rates keep what was claimed of them, as in set_rate. Locked in the order in which claims lock them.
CREATE OR REPLACE FUNCTION fanfare.set_app_rates(app_id smallint, policy jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    PERFORM FROM fanfare.rates AS r WHERE r.app_id = set_app_rates.app_id ORDER BY r.id FOR UPDATE;
    DELETE FROM fanfare.rates AS r
    WHERE r.app_id = set_app_rates.app_id
        AND CASE WHEN r.provider IS NULL THEN policy -> 'rate' ELSE policy #> ARRAY['providers', r.provider, 'rate'] END IS NULL;
    INSERT INTO fanfare.rates AS r (app_id, provider, per_second)
    SELECT set_app_rates.app_id, w.provider, fanfare.per_second(w.speed)
    FROM (
        SELECT NULL, policy ->> 'rate'
        UNION ALL
        SELECT p.key, p.value ->> 'rate' FROM jsonb_each(coalesce(policy -> 'providers', '{}')) AS p
    ) AS w (provider, speed)
    WHERE w.speed IS NOT NULL
    ON CONFLICT (app_id, provider) WHERE app_id IS NOT NULL DO UPDATE
    SET per_second = excluded.per_second,
        next_free = r.next_free + greatest(r.next_free - clock_timestamp(), interval '0') * (r.per_second / excluded.per_second - 1)
    WHERE r.per_second <> excluded.per_second;
END
$$;
COMMENT ON FUNCTION fanfare.set_app_rates IS
    'Sets the rates at which an app''s pushes are claimed, in total and by provider; put_policy calls it after its checks.';

-- A bit is reused for another name only once all bits are assigned, the longest retired one first: a daemon may briefly
-- still count under the old name.
CREATE OR REPLACE FUNCTION fanfare.set_caps(app_id smallint, policy jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    wanted record;
BEGIN
    UPDATE fanfare.caps AS c SET retired_at = clock_timestamp()
    WHERE c.app_id = set_caps.app_id AND c.retired_at IS NULL AND (policy -> 'caps' ? c.name) IS NOT TRUE;
    FOR wanted IN
        SELECT w.key AS name, (w.value ->> 'max')::int AS max_count, make_interval(secs => fanfare.span_seconds(w.value ->> 'per')) AS period
        FROM jsonb_each(coalesce(policy -> 'caps', '{}')) AS w
    LOOP
        UPDATE fanfare.caps AS c SET max_count = wanted.max_count, period = wanted.period, retired_at = NULL
        WHERE c.app_id = set_caps.app_id AND c.name = wanted.name;
        CONTINUE WHEN FOUND;
        INSERT INTO fanfare.caps AS c (app_id, bit, name, max_count, period)
        SELECT set_caps.app_id, b.bit, wanted.name, wanted.max_count, wanted.period
        FROM generate_series(0, 15) AS b (bit) LEFT JOIN fanfare.caps AS t ON t.app_id = set_caps.app_id AND t.bit = b.bit
        WHERE t.bit IS NULL OR t.retired_at IS NOT NULL ORDER BY t.retired_at NULLS FIRST, b.bit LIMIT 1
        ON CONFLICT (app_id, bit) DO UPDATE
        SET name = excluded.name, max_count = excluded.max_count, period = excluded.period, since = clock_timestamp(), retired_at = NULL;
    END LOOP;
    FOR wanted IN
        SELECT r.name, cap.name AS cap
        FROM fanfare.rules AS r JOIN fanfare.rule_versions AS v ON v.rule_id = r.id
        CROSS JOIN LATERAL jsonb_array_elements_text(v.definition::jsonb -> 'caps') AS cap (name)
        WHERE r.app_id = set_caps.app_id AND v.state = 'active' AND v.retired_at IS NULL AND v.audience <> 'gather' AND jsonb_typeof(v.definition::jsonb -> 'caps') = 'array'
            AND NOT EXISTS (
                SELECT FROM fanfare.caps AS c WHERE c.app_id = set_caps.app_id AND c.name = cap.name AND c.retired_at IS NULL)
    LOOP
        RAISE NOTICE 'the rule "%" names the cap "%", which the app has no more', wanted.name, wanted.cap
            USING HINT = 'Nothing holds it back by that now. Take it out of the rule, or put it into the policy again.';
    END LOOP;
END
$$;
COMMENT ON FUNCTION fanfare.set_caps IS 'Sets the caps of an app to those of a policy; put_policy calls it after its checks.';

-- How long a decision for a user and an event applies to the user's other devices: an hour from the decision's own
-- time, since a rate may delay them that much; a minute for a user with very many grants.
CREATE OR REPLACE FUNCTION fanfare.decided_since(grants bigint[], asked bigint[]) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (asked[2] >> 16) - CASE WHEN cardinality(grants) > 256 THEN 60000 ELSE 3600000 END;
COMMENT ON FUNCTION fanfare.decided_since IS 'Since when decisions about a user are kept regardless of caps, in milliseconds since 1970.';
GRANT EXECUTE ON FUNCTION fanfare.decided_since TO fanfare_reader;

-- max_counts and floors have an element for each bit from 0 on: how many grants a cap allows, and since when it counts
-- them, in milliseconds since 1970. An event that is stored already is granted again, for another device or another
-- attempt; caps that did not count it yet count it now. A retry is counted again if its grant is older than a cap's
-- period, since other events may have been granted meanwhile. A refused event is stored with a negative id, and is
-- refused again.
--
-- It has no search_path of its own, which would double its time: only daemons may call it, twice for each recipient.
CREATE OR REPLACE FUNCTION fanfare.take(grants bigint[], asked bigint[], max_counts int[], floors bigint[], is_retry boolean) RETURNS bigint[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    bits int := asked[2] & 65535;
    place CONSTANT int := array_position(grants, asked[1]);
    refusal CONSTANT int := array_position(grants, -asked[1]);
    since CONSTANT bigint := fanfare.decided_since(grants, asked);
    kept bigint[] := '{}';
    others int;
    old int := 0;
BEGIN
    IF refusal IS NOT NULL AND (grants[refusal + 1] & 65535 & (~bits)) = 0 THEN
        RETURN NULL;
    END IF;
    IF place IS NOT NULL THEN
        IF is_retry THEN
            FOR bit IN 0 .. cardinality(floors) - 1 LOOP
                old := old | CASE WHEN bits & (1 << bit) <> 0 AND grants[place + 1] >> 16 < floors[bit + 1] THEN 1 << bit ELSE 0 END;
            END LOOP;
        END IF;
        bits := bits & (~(grants[place + 1] & 65535)::int | old);
        IF bits = 0 THEN
            RETURN grants;
        END IF;
    END IF;
    FOR bit IN 0 .. cardinality(floors) - 1 LOOP
        CONTINUE WHEN bits & (1 << bit) = 0;
        others := 0;
        FOR n IN 2 .. cardinality(grants) BY 2 LOOP
            IF grants[n] & (1 << bit) <> 0 AND grants[n] >> 16 >= floors[bit + 1] AND grants[n - 1] > 0 THEN
                others := others + 1;
            END IF;
        END LOOP;
        IF others >= max_counts[bit + 1] THEN
            RETURN NULL;
        END IF;
    END LOOP;
    IF place IS NOT NULL THEN
        grants[place + 1] := CASE WHEN old = 0 THEN grants[place + 1] ELSE (asked[2] >> 16 << 16) | (grants[place + 1] & 65535) END | bits;
    ELSE
        grants := grants || asked;
    END IF;
    -- Removes grants that no cap counts any more, once no other device of the user is likely to ask for them.
    FOR n IN 2 .. cardinality(grants) BY 2 LOOP
        IF grants[n] >> 16 >= since THEN
            kept := kept || grants[n - 1 : n];
            CONTINUE;
        END IF;
        FOR bit IN 0 .. cardinality(floors) - 1 LOOP
            IF grants[n] & (1 << bit) <> 0 AND grants[n] >> 16 >= floors[bit + 1] AND grants[n - 1] > 0 THEN
                kept := kept || grants[n - 1 : n];
                EXIT;
            END IF;
        END LOOP;
    END LOOP;
    RETURN kept;
END
$$;
COMMENT ON FUNCTION fanfare.take IS 'The grants of a user with one more, {event, stamp}; NULL if one of the caps that count it is used up.';
GRANT EXECUTE ON FUNCTION fanfare.take TO fanfare_reader;

CREATE OR REPLACE FUNCTION fanfare.refuse(grants bigint[], asked bigint[]) RETURNS bigint[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    since CONSTANT bigint := fanfare.decided_since(grants, asked);
    kept bigint[] := '{}';
BEGIN
    FOR n IN 2 .. cardinality(grants) BY 2 LOOP
        IF grants[n - 1] > 0 OR grants[n] >> 16 >= since THEN
            kept := kept || grants[n - 1 : n];
        END IF;
    END LOOP;
    RETURN kept || ARRAY[-asked[1], asked[2]];
END
$$;
COMMENT ON FUNCTION fanfare.refuse IS
    'The grants of a user with one refusal, {event, stamp}, which applies to the user''s other devices; refusals that '
    'are too old are removed.';

-- A grant counts from the time of sending, not of the claim.
CREATE OR REPLACE FUNCTION fanfare.settle(grants bigint[], event_ids bigint[], sent_at bigint[]) RETURNS bigint[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    place int;
BEGIN
    FOR n IN 1 .. cardinality(event_ids) LOOP
        place := array_position(grants, event_ids[n]);
        CONTINUE WHEN place IS NULL;
        IF sent_at[n] IS NULL THEN
            grants := grants[: place - 1] || grants[place + 2 :];
        ELSE
            grants[place + 1] := (greatest(grants[place + 1] >> 16, sent_at[n]) << 16) | (grants[place + 1] & 65535);
        END IF;
    END LOOP;
    RETURN grants;
END
$$;
COMMENT ON FUNCTION fanfare.settle IS
    'The grants of a user with the times at which events were sent, in milliseconds since 1970; events with a NULL '
    'time were not sent, and are removed.';

CREATE OR REPLACE FUNCTION fanfare.put_policy(app text, policy jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    problem record;
    the_app smallint;
BEGIN
    IF octet_length(put_policy.policy::text) > 65536 THEN
        RAISE EXCEPTION 'the policy is % bytes long', octet_length(put_policy.policy::text)
            USING ERRCODE = '22023', HINT = 'A policy has at most 64 KiB.';
    END IF;
    SELECT * INTO problem FROM fanfare.policy_error(put_policy.policy);
    IF problem.reason IS NOT NULL THEN
        RAISE EXCEPTION '%: %', problem.place, problem.reason USING ERRCODE = '22023', HINT = problem.hint;
    END IF;
    the_app := fanfare.app_id_for(put_policy.app);
    IF put_policy.policy = '{}' THEN
        DELETE FROM fanfare.policies AS p WHERE p.app_id = the_app;
    ELSE
        INSERT INTO fanfare.policies AS p (app_id, definition, time_zone, quiet_from, quiet_until, quiet_mode)
        SELECT the_app, put_policy.policy::json, put_policy.policy ->> 'time_zone', (q.quiet ->> 'from')::time, (q.quiet ->> 'until')::time,
            CASE WHEN q.quiet IS NOT NULL THEN coalesce(q.quiet ->> 'mode', 'hold') END
        FROM (SELECT put_policy.policy -> 'quiet_hours' AS quiet) AS q
        ON CONFLICT (app_id) DO UPDATE
        SET definition = excluded.definition, time_zone = excluded.time_zone, quiet_from = excluded.quiet_from,
            quiet_until = excluded.quiet_until, quiet_mode = excluded.quiet_mode
        WHERE p.definition::jsonb <> excluded.definition::jsonb;
    END IF;
    IF FOUND THEN
        PERFORM fanfare.set_app_rates(the_app, put_policy.policy);
        PERFORM fanfare.set_caps(the_app, put_policy.policy);
    END IF;
END
$$;
COMMENT ON FUNCTION fanfare.put_policy IS 'Replaces an app''s policy, or refuses it; {} removes the policy.';
GRANT EXECUTE ON FUNCTION fanfare.put_policy TO fanfare_author;

-- ---------------------------------------------------------------------------------------------------------------
-- 25. Views: queue and log together
-- ---------------------------------------------------------------------------------------------------------------

-- Whether a device may be in a batch of many events. The batch's marks (see DeviceMarks) have three bits for each of
-- its devices: the id modulo three numbers that are pairwise coprime. They nearly always exclude a device without
-- reading the ids.
CREATE OR REPLACE FUNCTION fanfare.may_hold(marks bytea, device_id bigint) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT marks IS NULL OR (
        get_bit(marks, device_id % (octet_length(marks) * 8 / 3 - 1 | 1)) = 1
        AND get_bit(marks, (octet_length(marks) * 8 / 3 - 1 | 1) + device_id % ((octet_length(marks) * 8 / 3 - 1 | 1) - 1)) = 1
        AND get_bit(marks, 2 * (octet_length(marks) * 8 / 3 - 1 | 1) - 1 + device_id % ((octet_length(marks) * 8 / 3 - 1 | 1) - 2)) = 1);
END;
COMMENT ON FUNCTION fanfare.may_hold IS 'Whether a batch with these marks may hold this device: false is certain.';
GRANT EXECUTE ON FUNCTION fanfare.may_hold TO fanfare_reader;

-- Deliveries are counted when the column is selected: omit it in queries over many events.
SELECT fanfare.create_view('upcoming', 'Events that are scheduled and not emitted yet, without their payloads.', $view$
SELECT s.id, s.at, s.wall, s.type, s.key, s.ttl, a.name AS app
FROM fanfare.scheduled AS s LEFT JOIN fanfare.apps AS a ON a.id = s.app_id
$view$);
GRANT SELECT ON fanfare.upcoming TO fanfare_author, fanfare_reader;

SELECT fanfare.create_view('events', 'Every event, waiting or done, and what became of it.', $view$
SELECT e.id, e.type, e.key, e.created_at, f.name AS fate,
    -- One subquery for all waiting events, if any, showing an event's first rule: with a subquery for each event, the
    -- planner estimates enough work for parallel workers.
    CASE WHEN f.fate = e.fate THEN e.detail ELSE concat_ws('; ', e.detail, 'waits for users_sql of rule ' || ((
        SELECT jsonb_object_agg(q.event_id, r.name || CASE WHEN q.tries > 0 THEN coalesce(', which failed: ' || f.error, '') ELSE '' END
            ORDER BY q.rule_version DESC)
        FROM fanfare.audience_queries AS q
        JOIN fanfare.rule_versions AS v ON v.id = q.rule_version JOIN fanfare.rules AS r ON r.id = v.rule_id
        LEFT JOIN fanfare.audience_failures AS f ON f.rule_version = q.rule_version
    ) ->> e.id::text)) END AS detail,
    e.payload,
    CASE WHEN e.fate <> 1 THEN 0 ELSE (
        SELECT coalesce(sum(CASE WHEN b.event_id IS NOT NULL THEN cardinality(b.device_ids)
            ELSE cardinality(array_positions(b.event_ids, e.id)) END), 0)
        FROM (
            SELECT event_id, event_ids, device_ids, attempt FROM fanfare.batches AS b WHERE b.event_id = e.id
            UNION ALL
            SELECT event_id, event_ids, device_ids, attempt FROM fanfare.batches AS b WHERE b.event_id IS NULL
            UNION ALL
            SELECT event_id, event_ids, device_ids, attempt FROM fanfare.batch_log AS b WHERE b.event_id = e.id
            UNION ALL
            SELECT event_id, event_ids, device_ids, attempt FROM fanfare.batch_log AS b
            WHERE b.event_id IS NULL AND int8range(b.first_event, b.last_event, '[]') @> e.id
        ) AS b
        WHERE b.attempt = 1
    ) END::bigint AS deliveries,
    e.replay_of, encode(substr(e.trace, 1, 16), 'hex') AS trace_id
FROM (
    SELECT o.id, o.type, o.key, o.created_at, 0::smallint AS fate, (
        SELECT 'waits for a daemon to check ' || CASE WHEN r.name LIKE 'send/%' THEN 'its message' ELSE 'rule ' || a.name || '/' || r.name END
        FROM fanfare.rule_versions AS v JOIN fanfare.rules AS r ON r.id = v.rule_id JOIN fanfare.apps AS a ON a.id = r.app_id
        WHERE v.state = 'unchecked' AND v.retired_at IS NULL AND v.event_type = o.type
            AND (v.rule_created_at <= o.created_at OR fanfare.is_emitted_after(o.id, v.rule_event_number))
            AND NOT EXISTS (SELECT FROM fanfare.rule_versions AS i WHERE i.rule_id = v.rule_id AND i.state = 'active' AND i.retired_at IS NULL)
            AND (r.name NOT LIKE 'send/%' OR r.name = 'send/' || (o.payload ->> 'shape'))
        ORDER BY v.id LIMIT 1
    ) AS detail, o.payload, o.replay_of, o.trace
    FROM fanfare.outbox AS o
    UNION ALL
    SELECT id, type, key, created_at, 0::smallint, 'is planned alone, because it may take long or fail', payload, replay_of, trace FROM fanfare.quarantine
    UNION ALL
    -- With the list of all days, an id is found through the primary key, which begins with the day.
    SELECT id, type, key, created_at, fate, left(detail, 2000), payload, replay_of, trace FROM fanfare.event_log
    WHERE day = ANY ('{0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31}')
) AS e
-- An event that is planned for one rule may still wait for the query of another.
JOIN fanfare.event_fates AS f ON f.fate = CASE WHEN e.fate = 1 AND e.id IN (SELECT q.event_id FROM fanfare.audience_queries AS q) THEN 0 ELSE e.fate END
$view$);
GRANT SELECT ON fanfare.events TO fanfare_reader;

-- Queries by event and by user use indexes (10 ms among 10,000,000 deliveries), which depends on the following:
-- * The planner propagates `event_id = …` to columns that are joined by equality, never into a condition like `span @>
--   event_id`. So event_log is joined, and the span of a batch of many events is compared with the id of one row. Its
--   key begins with the day, hence the list of all days: one probe each, if the day does not follow from the delivery.
-- * devices is joined with the span that must contain it, so that devices can come first in the join if the user is
--   known. The condition adds nothing for a delivery: the span is in the query twice because the planner estimates that
--   each condition selects one batch in 200.
-- * The day of a delivery is compared as an array. With equality, the planner would hash all deliveries by their day,
--   and a query over all of them would look up each one as if there were 200 different days (memoized).
-- * pg_my_temp_schema() is never null. It keeps the planner from using parallel workers, which take longer to start
--   than the rest of the query.
-- A code that only a newer daemon knows is shown with the meaning of its range, since the daemon that wrote it acted on
-- that.
SELECT fanfare.create_view('deliveries', 'One row per delivery and attempt, in flight ones included.', $view$
WITH deliveries AS (
    -- 1. Batches of one event.
    SELECT b.event_id, b.rule_version, b.target_id, u.device_id, d.user_id, b.attempt,
        CASE WHEN octet_length(b.outcomes) = 0 THEN 0 ELSE get_byte(b.outcomes, (u.position - 1)::int) END AS code,
        b.at, b.id AS batch_id, b.details, u.position
    FROM (
        SELECT id, event_id, rule_version, target_id, attempt, device_ids, outcomes, NULL::timestamptz AS at, NULL::jsonb AS details,
            int8range(device_ids[1], device_ids[cardinality(device_ids)], '[]') AS span
        FROM fanfare.batches
        UNION ALL
        SELECT id, event_id, rule_version, target_id, attempt, device_ids, outcomes, closed_at, details,
            int8range(first_device, last_device, '[]')
        FROM fanfare.batch_log
    ) AS b
    CROSS JOIN LATERAL unnest(b.device_ids) WITH ORDINALITY AS u (device_id, position)
    LEFT JOIN fanfare.devices AS d ON d.id = u.device_id AND d.app_id = ANY (ARRAY(SELECT id FROM fanfare.apps))
        AND b.span @> d.id AND b.span && int8range(d.id, d.id, '[]') AND pg_my_temp_schema() IS NOT NULL
    WHERE b.event_id IS NOT NULL
    UNION ALL
    -- 2. Batches of many events.
    SELECT u.event_id, b.rule_version, b.target_id, u.device_id, d.user_id, b.attempt,
        CASE WHEN octet_length(b.outcomes) = 0 THEN 0 ELSE get_byte(b.outcomes, (u.position - 1)::int) END,
        b.closed_at, b.id, b.details, u.position
    FROM fanfare.batch_log AS b
    CROSS JOIN LATERAL unnest(b.event_ids, b.device_ids) WITH ORDINALITY AS u (event_id, device_id, position)
    JOIN fanfare.event_log AS e ON e.id = u.event_id AND int8range(b.first_event, b.last_event, '[]') @> e.id
        AND e.day = ANY (ARRAY[fanfare.ring_day(u.event_id)])
        AND e.day = ANY ('{0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31}'::smallint[])
    LEFT JOIN fanfare.devices AS d ON d.id = u.device_id AND d.app_id = ANY (ARRAY(SELECT id FROM fanfare.apps))
        AND int8range(b.first_device, b.last_device, '[]') @> d.id
        AND int8range(b.first_device, b.last_device, '[]') && int8range(d.id, d.id, '[]')
        AND fanfare.may_hold(b.device_marks, d.id) AND pg_my_temp_schema() IS NOT NULL
    WHERE b.event_id IS NULL
    UNION ALL
    -- 3. Unsent batches of many events: few, and scanned.
    SELECT u.event_id, b.rule_version, b.target_id, u.device_id, d.user_id, b.attempt,
        CASE WHEN octet_length(b.outcomes) = 0 THEN 0 ELSE get_byte(b.outcomes, (u.position - 1)::int) END, NULL, b.id, NULL, u.position
    FROM fanfare.batches AS b
    CROSS JOIN LATERAL unnest(b.event_ids, b.device_ids) WITH ORDINALITY AS u (event_id, device_id, position)
    LEFT JOIN fanfare.devices AS d ON d.id = u.device_id
    WHERE b.event_id IS NULL
)
SELECT p.event_id, v.event_type, r.name AS rule, v.version AS rule_version, a.name AS app, t.provider, t.environment,
    p.device_id, p.user_id, p.attempt,
    coalesce(c.outcome, (ARRAY['pending', 'accepted', 'attempted', 'unknown', 'retrying', 'gone', 'rejected'])
        [1 + width_bucket(p.code, ARRAY[1, 2, 3, 32, 64, 96])]) AS outcome,
    coalesce(c.reason, 'unknown') AS reason, p.at, p.batch_id,
    coalesce(CASE
        WHEN c.outcome = 'refused' THEN p.details ->> p.event_id::text
        WHEN p.code = 1 AND EXISTS (SELECT FROM fanfare.retractions AS x WHERE x.event_id = p.event_id)
            THEN fanfare.taken_back(p.event_id, p.rule_version, p.device_id)
    END, c.meaning) AS detail,
    -- The event's trace. Queries that select it take 5 µs longer for each row, also if many rows are sorted to show a
    -- few.
    (SELECT encode(substr(e.trace, 1, 16), 'hex') FROM fanfare.event_log AS e WHERE e.day = fanfare.ring_day(p.event_id) AND e.id = p.event_id) AS trace_id,
    CASE WHEN p.code = 1 THEN (
        SELECT min(x.created_at) FROM fanfare.retractions AS x
        WHERE x.event_id = p.event_id AND (x.user_id IS NULL OR x.user_id = p.user_id) AND (x.rule_id IS NULL OR x.rule_id = v.rule_id)
    ) END AS retracted_at,
    ARRAY(
        SELECT k.kind FROM fanfare.report_log AS x
        CROSS JOIN LATERAL (VALUES (0, 'received', x.received), (1, 'shown', x.shown), (2, 'opened', x.opened), (3, 'action', x.acted),
            (4, 'dismissed', x.dismissed)) AS k (place, kind, marks)
        WHERE x.day = fanfare.ring_day(p.batch_id) AND x.batch_id = p.batch_id AND get_bit(k.marks, p.position - 1) = 1
            AND NOT EXISTS (SELECT FROM fanfare.policies AS y WHERE y.app_id = t.app_id AND y.definition ->> 'report_devices' = 'false')
        ORDER BY k.place
    ) AS reports
FROM deliveries AS p
JOIN fanfare.rule_versions AS v ON v.id = p.rule_version
JOIN fanfare.rules AS r ON r.id = v.rule_id
JOIN fanfare.targets AS t ON t.id = p.target_id
JOIN fanfare.apps AS a ON a.id = t.app_id
LEFT JOIN fanfare.outcome_codes AS c ON c.code = p.code
$view$);
GRANT SELECT ON fanfare.deliveries TO fanfare_reader;

-- Devices are looked up only for rules that divide people; the logs do not store the group of a recipient. A delivery
-- that was retried is counted in its last batch. JIT is off: compiling a plan over 32 partitions takes seconds and does
-- not speed it up.
CREATE OR REPLACE FUNCTION fanfare.variants(event_id bigint)
RETURNS TABLE (rule text, variant text, outcome text, reason text, count bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
WITH deliveries AS (
    SELECT b.rule_version, u.device_id,
        CASE WHEN octet_length(b.outcomes) = 0 THEN 0 ELSE get_byte(b.outcomes, (u.position - 1)::int) END AS code
    FROM fanfare.batches AS b CROSS JOIN LATERAL unnest(b.device_ids) WITH ORDINALITY AS u (device_id, position)
    WHERE b.event_id = $1
    UNION ALL
    SELECT b.rule_version, u.device_id, CASE WHEN octet_length(b.outcomes) = 0 THEN 0 ELSE get_byte(b.outcomes, (u.position - 1)::int) END
    FROM fanfare.batches AS b CROSS JOIN LATERAL unnest(b.event_ids, b.device_ids) WITH ORDINALITY AS u (event_id, device_id, position)
    WHERE b.event_id IS NULL AND $1 = ANY (b.event_ids) AND u.event_id = $1
    UNION ALL
    SELECT b.rule_version, u.device_id, get_byte(b.outcomes, (u.position - 1)::int)
    FROM fanfare.batch_log AS b CROSS JOIN LATERAL unnest(b.device_ids) WITH ORDINALITY AS u (device_id, position)
    WHERE b.event_id = $1 AND get_byte(b.outcomes, (u.position - 1)::int) NOT BETWEEN 32 AND 63
    UNION ALL
    SELECT b.rule_version, u.device_id, get_byte(b.outcomes, (u.position - 1)::int)
    FROM fanfare.batch_log AS b CROSS JOIN LATERAL unnest(b.event_ids, b.device_ids) WITH ORDINALITY AS u (event_id, device_id, position)
    WHERE b.event_id IS NULL AND int8range(b.first_event, b.last_event, '[]') @> $1 AND u.event_id = $1
        AND get_byte(b.outcomes, (u.position - 1)::int) NOT BETWEEN 32 AND 63
),
divided AS MATERIALIZED (
    SELECT v.id, g.seed, g.holdout, g.names, g.upto
    FROM fanfare.rule_versions AS v CROSS JOIN LATERAL fanfare.rule_groups(v.definition::jsonb) AS g
    WHERE v.event_type = (SELECT e.type FROM fanfare.event_log AS e WHERE e.day = fanfare.ring_day($1) AND e.id = $1)
        AND (g.holdout > 0 OR g.names IS NOT NULL)
),
counted AS (
    SELECT p.rule_version, p.code, CASE WHEN p.code = 14 THEN 'holdout' ELSE x.variant END AS variant, count(*) AS count
    FROM deliveries AS p
    LEFT JOIN divided AS g ON g.id = p.rule_version
    LEFT JOIN LATERAL (
        SELECT fanfare.group_of(g.seed, g.holdout, g.names, g.upto, coalesce(d.user_id, 'device:' || d.id)) AS variant
        FROM fanfare.devices AS d WHERE d.id = p.device_id OFFSET 0
    ) AS x ON g.id IS NOT NULL
    GROUP BY 1, 2, 3
)
SELECT r.name, c.variant, coalesce(o.outcome, 'unknown'), coalesce(o.reason, 'unknown'), sum(c.count)::bigint
FROM counted AS c JOIN fanfare.rule_versions AS v ON v.id = c.rule_version JOIN fanfare.rules AS r ON r.id = v.rule_id
LEFT JOIN fanfare.outcome_codes AS o ON o.code = c.code
GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 5 DESC, 3, 4
$$;
COMMENT ON FUNCTION fanfare.variants IS
    'The outcomes of an event by rule and variant of its message, as far as they are known now: recipients, not '
    'attempts. `holdout` is the group that gets nothing; the variant is NULL if the rule has none, and for deleted '
    'devices.';
GRANT EXECUTE ON FUNCTION fanfare.variants TO fanfare_reader;

SELECT fanfare.create_view('queue', 'The deliveries still to send; waiting counts those that are due in the future or behind a gate that is not open.', $view$
SELECT a.name AS app, t.provider, t.environment, (ARRAY['transactional', 'normal', 'bulk'])[b.lane + 1] AS lane,
    coalesce(sum(cardinality(b.device_ids)) FILTER (WHERE b.owner IS NULL AND b.not_before <= now()
        AND coalesce(s.gate, 'open') = 'open'), 0) AS ready,
    coalesce(sum(cardinality(b.device_ids)) FILTER (WHERE b.owner IS NOT NULL), 0) AS in_flight,
    coalesce(sum(cardinality(b.device_ids)) FILTER (WHERE b.owner IS NULL AND (b.not_before > now()
        OR s.gate <> 'open')), 0) AS waiting,
    min(b.created_at) AS oldest, s.gate
FROM fanfare.batches AS b
JOIN fanfare.targets AS t ON t.id = b.target_id
JOIN fanfare.apps AS a ON a.id = t.app_id
LEFT JOIN (
    SELECT id, CASE WHEN is_paused AND state IN ('open', 'held') THEN 'paused' ELSE state END AS gate
    FROM fanfare.gates
) AS s ON s.id = b.gate_id
GROUP BY a.name, t.provider, t.environment, b.lane, s.gate
$view$);
GRANT SELECT ON fanfare.queue TO fanfare_reader;

SELECT fanfare.create_view('campaign_runs', 'One row per run of a campaign: its progress, its pace and its estimated end, from the counts of its gates, however many recipients there are.', $view$
SELECT a.name AS app, c.name AS campaign, o.id AS run_id, o.scheduled_at, o.fired_at, o.ended_at, o.event_id, o.state, o.verdict,
    -- Why the run is held, as text; NULL if it is not.
    g.hold,
    p.planned IS NOT NULL AS is_planning,
    n.planned::bigint AS planned, t.ended::bigint AS ended, t.accepted::bigint AS accepted, t.failed::bigint AS failed,
    -- The deliveries per second that the run may send now, and those that ended in the last minute.
    g.per_second, s.pace,
    CASE WHEN o.state = 'running' AND g.hold IS NULL
        THEN greatest(now() + (n.planned - t.ended) / least(g.per_second, nullif(s.pace, 0)) * interval '1 second', s.last_at) END AS ends_at,
    -- The last verdict on its experiment as text, and the variant that the rest of the audience gets.
    o.figures ->> 'detail' AS experiment, o.winner
FROM fanfare.runs AS o
JOIN fanfare.campaigns AS c ON c.id = o.campaign_id
JOIN fanfare.apps AS a ON a.id = c.app_id
CROSS JOIN LATERAL (
    SELECT CASE WHEN bool_or(x.state = 'aborting') THEN 'aborting'
            WHEN bool_or(x.is_paused) THEN coalesce('paused: ' || max(x.reason), 'paused')
            WHEN bool_or(x.state = 'held') AND o.look_at IS NOT NULL THEN 'experiment, not decided' || coalesce(
                ', next evaluated after ' || to_char(nullif(o.look_at, 'infinity') AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') || ' UTC', '')
            WHEN bool_or(x.state = 'held') THEN CASE WHEN o.experiment IS NULL THEN 'canary' ELSE 'experiment' END || coalesce(
                ', judged after ' || to_char((max(x.began_at) + o.canary_wait) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') || ' UTC', '')
        END AS hold,
        max(fanfare.rate_at(r.per_second, r.ramp_from, r.ramp_seconds, r.ramp_began_at, now())) AS per_second
    FROM fanfare.gates AS x LEFT JOIN fanfare.rates AS r ON r.id = x.rate_id
    WHERE x.run_id = o.id AND x.state <> 'done'
) AS g
CROSS JOIN LATERAL (SELECT sum(x.planned) AS planned FROM fanfare.plans AS x WHERE x.event_id = o.event_id) AS p
CROSS JOIN LATERAL (
    -- Deliveries that will be retried have not ended.
    SELECT coalesce(sum(y.deliveries) FILTER (WHERE y.is_end), 0) AS ended,
        coalesce(sum(y.deliveries) FILTER (WHERE y.outcome = 1), 0) AS accepted,
        coalesce(sum(y.deliveries) FILTER (WHERE fanfare.is_failure(y.outcome)), 0) AS failed,
        coalesce(sum(y.deliveries) FILTER (WHERE y.is_end AND y.at > now() - interval '1 minute'), 0) AS recent,
        min(y.at) FILTER (WHERE y.at > now() - interval '1 minute') AS since
    FROM fanfare.gates AS x
    CROSS JOIN LATERAL (
        SELECT q.outcome, q.deliveries, q.at, q.outcome NOT IN (0, 2) AND q.outcome NOT BETWEEN 32 AND 63 AS is_end
        FROM (
            SELECT z.outcome, z.deliveries, NULL::timestamptz AS at FROM fanfare.gate_stats AS z WHERE z.gate_id = x.id
            UNION ALL
            SELECT z.outcome, z.deliveries, z.at FROM fanfare.stats_pending AS z WHERE z.gate_id = x.id AND z.gate_id <> 0
        ) AS q
    ) AS y
    WHERE x.run_id = o.id
) AS t
CROSS JOIN LATERAL (
    SELECT greatest(o.planned + coalesce(p.planned, 0), t.ended + CASE
        -- Only if no plan counted the recipients: audiences that are named in the payload are small.
        WHEN o.state IN ('running', 'aborting') AND o.planned = 0 AND p.planned IS NULL THEN (
            SELECT coalesce(sum(cardinality(b.device_ids)), 0)
            FROM fanfare.gates AS x JOIN fanfare.batches AS b ON b.gate_id = x.id
            WHERE x.run_id = o.id AND x.state <> 'done')
        ELSE 0 END) AS planned
) AS n
CROSS JOIN LATERAL (
    SELECT CASE WHEN o.state = 'running' THEN t.recent / greatest(1, extract(epoch FROM now() - t.since))::float8 END AS pace,
        -- By recipients' time, the run cannot end before the last zone is due.
        CASE WHEN o.state = 'running' AND o.wall IS NOT NULL THEN (
            SELECT max(l.not_before)
            FROM fanfare.gates AS x
            CROSS JOIN fanfare.targets AS d
            CROSS JOIN generate_series(0, 2) AS i (lane)
            CROSS JOIN LATERAL (
                SELECT b.not_before FROM fanfare.batches AS b
                WHERE b.lease_token IS NULL AND b.gate_id = x.id AND b.target_id = d.id AND b.lane = i.lane AND NOT b.is_retry
                ORDER BY b.not_before DESC LIMIT 1) AS l
            WHERE x.run_id = o.id AND x.state <> 'done' AND d.app_id = c.app_id) END AS last_at
) AS s
WHERE o.fired_at IS NOT NULL AND o.test_users IS NULL
$view$);
GRANT SELECT ON fanfare.campaign_runs TO fanfare_reader;

SELECT fanfare.create_view('feedback_state', 'The progress and state of each feedback hook; waiting and lag count batches that any hook wants, and if is_more there are more than these.', $view$
SELECT h.name, x.app, ARRAY(SELECT DISTINCT c.outcome FROM fanfare.outcome_codes AS c WHERE c.code = ANY (x.codes) ORDER BY 1)
        || ARRAY(SELECT k.name FROM (VALUES (1002, 'push.opened'), (1003, 'push.action')) AS k (code, name) WHERE k.code = ANY (x.codes)) AS outcomes,
    CASE WHEN h.ended_at IS NOT NULL THEN 'ended'
        WHEN h.seen_at < now() - interval '5 minutes' THEN 'unknown'
        WHEN h.failures > 0 THEN 'failing' ELSE 'ok' END AS state,
    least(w.batches, 10000) AS waiting, coalesce(now() - w.oldest, interval '0') AS lag, h.told_at, h.failures, h.failing_since, h.retry_at, h.error,
    h.lost, h.seen_at, i.name AS daemon, w.batches > 10000 AS is_more
FROM fanfare.feedback_cursors AS h
JOIN fanfare.feedback_hooks AS x ON x.name = h.name
LEFT JOIN fanfare.instances AS i ON i.id = h.owner
-- Reads the index up to a limit: the backlog of a failing hook may be tens of millions of batches, and every daemon
-- queries health regularly.
CROSS JOIN LATERAL (
    SELECT count(*) AS batches, min(f.closed_at) AS oldest FROM (
        (SELECT n.closed_at FROM fanfare.feedback AS n WHERE n.number >= h.number + (h.position = 32767)::int ORDER BY n.number LIMIT 10001)
        UNION ALL
        (SELECT n.closed_at FROM fanfare.feedback AS n WHERE n.number IS NULL LIMIT 10001)
    ) AS f
) AS w
$view$);
GRANT SELECT ON fanfare.feedback_state TO fanfare_reader;

-- Uses only seconds, since the text form of an interval depends on the session's settings.
CREATE OR REPLACE FUNCTION fanfare.lasting(span interval) RETURNS text LANGUAGE sql IMMUTABLE STRICT
BEGIN ATOMIC
    SELECT CASE
        WHEN s < 60 THEN s || ' s'
        WHEN s < 3600 THEN s / 60 || ' min' || CASE WHEN s % 60 > 0 THEN ' ' || s % 60 || ' s' ELSE '' END
        WHEN s < 86400 THEN s / 3600 || ' h' || CASE WHEN s % 3600 / 60 > 0 THEN ' ' || s % 3600 / 60 || ' min' ELSE '' END
        ELSE s / 86400 || ' d' || CASE WHEN s % 86400 / 3600 > 0 THEN ' ' || s % 86400 / 3600 || ' h' ELSE '' END END
    FROM (SELECT trunc(greatest(0, extract(epoch FROM span)))::bigint AS s) AS x;
END;
COMMENT ON FUNCTION fanfare.lasting IS 'A duration as readable text.';
GRANT EXECUTE ON FUNCTION fanfare.lasting TO fanfare_author, fanfare_reader;

SELECT fanfare.create_view('health', 'What an operator should look at; ok is false if something needs attention.', $view$
SELECT 'daemons' AS name, count(*) FILTER (WHERE lease_until > now()) > 0 AS ok,
    count(*) FILTER (WHERE lease_until > now()) || ' alive' AS detail, max(heartbeat_at) AS since
FROM fanfare.instances
UNION ALL
SELECT 'outbox', coalesce(min(created_at) > now() - interval '1 minute', true),
    coalesce('oldest event waits ' || fanfare.lasting(now() - min(created_at)), 'empty'), min(created_at)
FROM fanfare.outbox
UNION ALL
SELECT 'quarantine', count(*) = 0, CASE count(*) WHEN 0 THEN 'no events' WHEN 1 THEN '1 event' ELSE count(*) || ' events' END || ' on the slow path', min(created_at) FROM fanfare.quarantine
UNION ALL
SELECT 'audience_queries', coalesce(min(created_at) > now() - interval '1 minute', true),
    coalesce(count(*) || ' events wait for the users_sql of their rule, the oldest ' || fanfare.lasting(now() - min(created_at)), 'empty'), min(created_at)
FROM fanfare.audience_queries
UNION ALL
SELECT 'open_digests', coalesce(min(due_at) > now() - interval '1 minute', true),
    coalesce('the oldest digest has been due for ' || fanfare.lasting(now() - min(due_at)), 'none is due'), min(due_at)
FROM fanfare.open_digests WHERE due_at < now() - interval '1 minute'
UNION ALL
SELECT 'scheduled', min(at) IS NULL,
    coalesce('the oldest scheduled event has been due for ' || fanfare.lasting(now() - min(at)), 'none is overdue'), min(at)
FROM fanfare.scheduled WHERE at < now() - interval '1 minute'
UNION ALL
SELECT 'rules', count(*) = 0, CASE count(*) WHEN 0 THEN 'no' ELSE count(*)::text END || CASE count(*) WHEN 1 THEN ' rejected rule version' ELSE ' rejected rule versions' END, min(v.checked_at)
FROM fanfare.rules AS r
JOIN fanfare.apps AS a ON a.id = r.app_id
CROSS JOIN LATERAL (SELECT * FROM fanfare.rule_versions WHERE rule_id = r.id AND winner_of IS NULL ORDER BY version DESC LIMIT 1) AS v
WHERE r.dropped_at IS NULL AND (v.state = 'refused' OR v.state = 'active' AND a.events IS NOT NULL AND NOT fanfare.may_take(a.name, v.event_type))
UNION ALL
SELECT 'campaigns', count(*) = 0,
    coalesce(nullif(count(*) FILTER (WHERE is_refused), 0)::text, 'no') || ' rejected versions, ' || coalesce(nullif(count(*) FILTER (WHERE NOT is_refused), 0)::text, 'no') || ' failed runs in the last day',
    min(at)
FROM (
    SELECT true AS is_refused, NULL::timestamptz AS at FROM fanfare.campaigns WHERE reason IS NOT NULL AND dropped_at IS NULL
    UNION ALL
    SELECT false, fired_at FROM fanfare.runs WHERE state = 'failed' AND test_users IS NULL AND ended_at > now() - interval '1 day'
) AS c
UNION ALL
-- The reason in the words of the system or the provider; if there are many services, those of some.
SELECT 'breaker: ' || b.name, false, concat('only probes are sent, by ', count(*), ' of the daemons', '; ' || min((
    SELECT string_agg(concat(nullif(substr(f.name, length(b.name) + 2), '') || ': ', f.said), '; ' ORDER BY f.name)
    FROM (
        SELECT x.name, x.said FROM (
            SELECT * FROM jsonb_each_text(i.report -> 'failures')
            UNION ALL
            SELECT * FROM jsonb_each_text(i.report -> 'refusals')
        ) AS x (name, said)
        WHERE x.name = b.name OR starts_with(x.name, b.name || ' ') ORDER BY x.name LIMIT 3
    ) AS f))), NULL
FROM fanfare.instances AS i CROSS JOIN LATERAL jsonb_each_text(i.report -> 'breakers') AS b (name, state)
WHERE i.lease_until > now() AND b.state = 'open'
GROUP BY b.name
UNION ALL
-- Counts at most 1,000 waiting batches.
SELECT 'no_credentials: ' || u.name, false,
    format('%s waiting, and no daemon has credentials for %s in app %s', CASE WHEN w.batches = 1000 THEN 'more than ' ELSE '' END || w.deliveries || CASE w.deliveries WHEN 1 THEN ' push is' ELSE ' pushes are' END,
        split_part(u.name, '/', 2), split_part(u.name, '/', 1)), w.since
FROM (
    SELECT n.name FROM fanfare.instances AS i CROSS JOIN LATERAL jsonb_array_elements_text(i.report -> 'unserved') AS n (name)
    WHERE i.lease_until > now() GROUP BY n.name
    HAVING count(*) = (SELECT count(*) FROM fanfare.instances AS i WHERE i.lease_until > now())
) AS u
CROSS JOIN LATERAL (
    SELECT count(*) AS batches, sum(cardinality(b.device_ids)) AS deliveries, min(b.created_at) AS since
    FROM (
        SELECT q.device_ids, q.created_at FROM fanfare.batches AS q
        WHERE q.owner IS NULL AND q.target_id = ANY (ARRAY(
            SELECT t.id FROM fanfare.targets AS t JOIN fanfare.apps AS a ON a.id = t.app_id WHERE a.name || '/' || t.provider = u.name))
        LIMIT 1000
    ) AS b
) AS w
WHERE w.batches > 0
UNION ALL
-- The provider rejects the sender, or one topic of it, rather than single pushes: all of its pushes wait.
SELECT 'refused: ' || r.name, false,
    format('%s: %s Pushes wait, and are sent once this is corrected: in the configuration, or at the provider', r.reason,
        (SELECT min(c.meaning) FROM fanfare.outcome_codes AS c
        WHERE c.outcome = 'rejected' AND c.reason = r.reason AND c.provider = split_part(r.name, '/', 2))),
    NULL
FROM fanfare.instances AS i CROSS JOIN LATERAL jsonb_each_text(i.report -> 'refusals') AS r (name, reason)
WHERE i.lease_until > now()
GROUP BY r.name, r.reason
UNION ALL
-- One row, although several daemons detect the same step.
SELECT 'clock', false,
    format('the database''s clock was set %s by %s within the last hour. Nothing is lost; schedules follow the new clock%s',
        CASE WHEN min(s.milliseconds) < 0 THEN 'back' ELSE 'forward' END, max(make_interval(secs => abs(s.milliseconds) / 1000.0)),
        CASE WHEN min(s.milliseconds) < 0 THEN '' ELSE ', and events scheduled for the time in between were sent at once' END),
    NULL
FROM fanfare.instances AS i CROSS JOIN LATERAL (SELECT (i.report ->> 'clock_step_ms')::float8 AS milliseconds) AS s
WHERE i.lease_until > now() AND s.milliseconds IS NOT NULL
HAVING count(*) > 0
UNION ALL
SELECT w.name, w.ok, w.detail, NULL FROM fanfare.watches_to_make_again() AS w
UNION ALL
SELECT 'alarm: ' || name, false, detail, since FROM fanfare.alarms
UNION ALL
SELECT 'audit: ' || name, found = 0, detail, since FROM fanfare.audits
UNION ALL
-- Without a live daemon there are no leaders; that is reported in one row, not in three.
SELECT 'role: ' || w.role, t.at > now() - interval '30 seconds',
    CASE WHEN w.is_led THEN 'leader present' WHEN t.at > now() - interval '30 seconds' THEN 'electing a leader'
        ELSE 'no leader; another session holds the lock, or each daemon that tries fails' END,
    t.at
FROM (
    SELECT r.role, min(i.started_at) AS started_at, bool_or(r.role = ANY (i.leads)) AS is_led
    FROM fanfare.instances AS i CROSS JOIN LATERAL jsonb_array_elements_text(i.report -> 'roles') AS r (role)
    WHERE i.lease_until > now()
    GROUP BY r.role
) AS w
LEFT JOIN fanfare.leaders AS l ON l.role = w.role
CROSS JOIN LATERAL (SELECT CASE WHEN w.is_led THEN now() ELSE greatest(w.started_at, l.led_at) END AS at) AS t
UNION ALL
SELECT 'audit', t.at > now() - interval '2 minutes', 'last run ' || fanfare.lasting(now() - t.at) || ' ago', t.at
FROM (
    SELECT greatest(min(i.started_at), (SELECT max(checked_at) FROM fanfare.audits)) AS at
    FROM fanfare.instances AS i WHERE i.lease_until > now()
) AS t
WHERE t.at IS NOT NULL
UNION ALL
SELECT 'feedback: ' || f.name, f.state = 'ok' AND f.lost = 0 AND f.lag < interval '5 minutes',
    concat_ws('; ', CASE f.state WHEN 'ended' THEN 'answered 410 and is stopped: fanfare feedback resume ' || f.name
            WHEN 'unknown' THEN 'no daemon has it in its configuration: fanfare feedback forget ' || f.name
            WHEN 'failing' THEN 'fails: ' || f.error END,
        CASE WHEN f.lag > interval '0' THEN 'the oldest outcome has waited ' || fanfare.lasting(f.lag)
            WHEN f.state = 'ok' THEN 'nothing waits' END,
        CASE WHEN f.lost > 0 THEN f.lost || ' batches were deleted before delivery: fanfare feedback resume ' || f.name END),
    f.failing_since
FROM fanfare.feedback_state AS f
UNION ALL
SELECT 'badge_sql: ' || a.name || '/' || r.name, false, b.error, b.since
FROM fanfare.badge_failures AS b
JOIN fanfare.rule_versions AS v ON v.id = b.rule_version AND v.state = 'active' AND v.retired_at IS NULL
JOIN fanfare.rules AS r ON r.id = v.rule_id AND r.dropped_at IS NULL
JOIN fanfare.apps AS a ON a.id = r.app_id
UNION ALL
SELECT 'users_sql: ' || a.name || '/' || r.name, false, f.error, f.since
FROM fanfare.audience_failures AS f
JOIN fanfare.rule_versions AS v ON v.id = f.rule_version AND v.state = 'active' AND v.retired_at IS NULL
JOIN fanfare.rules AS r ON r.id = v.rule_id AND r.dropped_at IS NULL
JOIN fanfare.apps AS a ON a.id = r.app_id
$view$);
GRANT SELECT ON fanfare.health TO fanfare_author, fanfare_reader;

-- ---------------------------------------------------------------------------------------------------------------
-- 26. Functions: why
-- ---------------------------------------------------------------------------------------------------------------
-- What became of one event for one user, computed from rows. It is queried rarely and by people, so no index or row
-- exists only for it.

CREATE OR REPLACE FUNCTION fanfare.utc(at timestamptz) RETURNS text LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') || ' UTC';
END;
COMMENT ON FUNCTION fanfare.utc IS 'A time as readable text.';

-- The tokens of a path: strings and comments whole, brackets, and the two operators that join conditions.
CREATE OR REPLACE FUNCTION fanfare.when_parts(path text) RETURNS text[]
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    mode text := coalesce(substring(path from E'^\\s*((?:strict|lax)\\s)'), '');
    body text := btrim(substr(path, length(substring(path from E'^\\s*(?:(?:strict|lax)\\s)?')) + 1), E' \t\r\n');
    parts text[];
    has_or boolean;
    is_wrapped boolean;
    part text;
BEGIN
    LOOP
        WITH tokens AS (
            SELECT m[1] AS token, n,
                sum(CASE WHEN m[1] IN ('(', '[', '{') THEN 1 WHEN m[1] IN (')', ']', '}') THEN -1 ELSE 0 END) OVER (ORDER BY n) AS depth,
                n = max(n) OVER () AS is_last
            FROM regexp_matches(body, E'"(?:[^"\\\\]|\\\\.)*"|/\\*(?:[^*]|\\*+[^*/])*\\*+/|&&|\\|\\||[][(){}]|[^]["(){}&|/]+|.', 'g') WITH ORDINALITY AS x (m, n)
        ),
        numbered AS (
            SELECT t.*, token = '&&' AND depth = 0 AS is_cut, count(*) FILTER (WHERE token = '&&' AND depth = 0) OVER (ORDER BY n) AS place
            FROM tokens AS t
        )
        SELECT array_agg(p.text ORDER BY p.place), bool_or(p.has_or), bool_and(p.is_wrapped)
        INTO parts, has_or, is_wrapped
        FROM (
            SELECT place, btrim(string_agg(token, '' ORDER BY n) FILTER (WHERE NOT is_cut), E' \t\r\n') AS text,
                bool_or(token = '||' AND depth = 0) AS has_or, min(depth) FILTER (WHERE NOT is_last) > 0 AS is_wrapped
            FROM numbered GROUP BY place
        ) AS p;
        EXIT WHEN has_or OR cardinality(parts) > 1 OR is_wrapped IS NOT TRUE;
        body := btrim(substr(body, 2, length(body) - 2), E' \t\r\n');
    END LOOP;
    IF has_or OR coalesce(cardinality(parts), 0) < 2 THEN
        RETURN ARRAY[path];
    END IF;
    FOREACH part IN ARRAY parts LOOP
        PERFORM (mode || part)::jsonpath;
    END LOOP;
    RETURN ARRAY(SELECT mode || p FROM unnest(parts) AS p);
EXCEPTION WHEN data_exception OR syntax_error_or_access_rule_violation OR feature_not_supported THEN
    RETURN ARRAY[path];
END
$$;
COMMENT ON FUNCTION fanfare.when_parts IS
    'The conditions of a rule''s "when" that all must hold, those between its outermost "&&"; the whole if it has none.';
GRANT EXECUTE ON FUNCTION fanfare.when_parts TO fanfare_author;

-- The same as NearestName in Swift: the number of letters added, left out, replaced or swapped with their neighbour,
-- over 64 characters of each name. The loop ends early once the distance exceeds at_most.
CREATE OR REPLACE FUNCTION fanfare.letters_apart(one text, other text, at_most int) RETURNS int
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    a CONSTANT text[] := string_to_array(left(lower(one), 64), NULL);
    b CONSTANT text[] := string_to_array(left(lower(other), 64), NULL);
    n CONSTANT int := cardinality(a);
    m CONSTANT int := cardinality(b);
    far CONSTANT int := at_most + 1;
    -- Element j + 1 is the distance to the first j letters of the other name.
    before int[];
    last int[] := ARRAY(SELECT least(j, far) FROM generate_series(0, m) AS j);
    here int[];
    best int;
    nearest int;
BEGIN
    IF abs(n - m) > at_most THEN
        RETURN far;
    END IF;
    FOR i IN 1..n LOOP
        here := array_fill(far, ARRAY[m + 1]);
        here[1] := least(i, far);
        nearest := here[1];
        FOR j IN greatest(1, i - at_most)..least(m, i + at_most) LOOP
            best := least(last[j] + CASE WHEN a[i] = b[j] THEN 0 ELSE 1 END, last[j + 1] + 1, here[j] + 1, far);
            IF i > 1 AND j > 1 AND a[i] = b[j - 1] AND a[i - 1] = b[j] THEN
                best := least(best, before[j - 1] + 1);
            END IF;
            here[j + 1] := best;
            nearest := least(nearest, best);
        END LOOP;
        IF nearest = far THEN
            RETURN far;
        END IF;
        before := last;
        last := here;
    END LOOP;
    RETURN last[m + 1];
END
$$;
COMMENT ON FUNCTION fanfare.letters_apart IS 'How many letters two names differ by, ignoring case; one more than at_most if it is more.';
GRANT EXECUTE ON FUNCTION fanfare.letters_apart TO fanfare_author;

CREATE OR REPLACE FUNCTION fanfare.nearest_name(name text, names text[]) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT k.name FROM unnest(names[:500]) AS k (name)
    CROSS JOIN LATERAL (SELECT greatest(1, least(length(k.name), 64) / 3) AS at_most) AS l
    CROSS JOIN LATERAL (SELECT fanfare.letters_apart($1, k.name, l.at_most) AS distance) AS d
    WHERE d.distance BETWEEN 1 AND l.at_most
    ORDER BY d.distance, k.name LIMIT 1
$$;
COMMENT ON FUNCTION fanfare.nearest_name IS
    'The name that was probably meant: within a third of its length; null if none is near. At most 500 names are compared.';
GRANT EXECUTE ON FUNCTION fanfare.nearest_name TO fanfare_author;

-- Checks keys that a path names, from the outermost object on; keys in brackets, in a filter or behind a method are not
-- checked. It stops at an array, since a path may look into each of its elements.
CREATE OR REPLACE FUNCTION fanfare.missing_key(document jsonb, path text) RETURNS text
LANGUAGE plpgsql STABLE STRICT SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    chain text;
    key text;
    here jsonb;
    place text;
    near text;
BEGIN
    FOR chain IN
        SELECT m[1] FROM regexp_matches(path, E'\\$((?:\\.(?:[[:alpha:]_][[:alnum:]_]*\\M(?!\\s*\\()|"(?:[^"\\\\]|\\\\.)*"))+)', 'g') AS m LIMIT 20
    LOOP
        here := document;
        place := '';
        FOR key IN SELECT btrim(m[1], '"') FROM regexp_matches(chain, E'\\.([[:alnum:]_]+|"(?:[^"\\\\]|\\\\.)*")', 'g') AS m LOOP
            EXIT WHEN jsonb_typeof(here) <> 'object';
            IF NOT here ? key THEN
                near := fanfare.nearest_name(key, ARRAY(SELECT k FROM jsonb_object_keys(here) AS k LIMIT 500));
                RETURN place || key || ' is not there' || coalesce('; did you mean ' || place || near || '?', '');
            END IF;
            here := here -> key;
            place := place || key || '.';
        END LOOP;
    END LOOP;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION fanfare.missing_key IS
    'The first key that a path names and a document lacks, and which one may have been meant; null if it lacks none.';
GRANT EXECUTE ON FUNCTION fanfare.missing_key TO fanfare_author;

CREATE OR REPLACE FUNCTION fanfare.when_result(document jsonb, path text, OUT words text, OUT failed int, OUT lacks_key boolean)
LANGUAGE plpgsql STABLE STRICT SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    SELECT string_agg(format('%s %s', p.part, CASE WHEN v.holds THEN 'is true' ELSE CASE WHEN v.holds THEN '' WHEN NOT v.holds THEN 'is false'
                WHEN k.words IS NULL THEN 'unknown: a value is of another type' ELSE 'unknown' END
            || coalesce(': ' || k.words, '') END), '; ' ORDER BY v.holds IS TRUE, p.place),
        count(*) FILTER (WHERE v.holds IS NOT TRUE), coalesce(bool_or(k.words IS NOT NULL), false)
    INTO words, failed, lacks_key
    FROM unnest(fanfare.when_parts(path)) WITH ORDINALITY AS p (part, place)
    CROSS JOIN LATERAL (SELECT jsonb_path_match_tz(document, p.part::jsonpath, '{}', true) AS holds) AS v
    CROSS JOIN LATERAL (SELECT CASE WHEN v.holds IS NOT TRUE THEN fanfare.missing_key(document, p.part) END AS words) AS k;
END
$$;
COMMENT ON FUNCTION fanfare.when_result IS
    'Which conditions of a rule''s "when" a document meets, the unmet ones first, how many are unmet, and whether one '
    'of these lacks a key.';

-- The rows of the view deliveries for one event and a few devices, with more columns. Each kind of batch is found
-- through its own index. A broadcast of 10,000,000 has 10,000 batches, and the device-id span of only a few contains a
-- given device; a batch of many events is found by its spans and its marks. Unsent batches of many events are scanned: this is the only part that grows with the backlog.
CREATE OR REPLACE FUNCTION fanfare.deliveries_of(event_id bigint, devices bigint[], only_claimed boolean)
RETURNS TABLE (rule_version int, target_id smallint, device_id bigint, attempt smallint, code int, at timestamptz, batch_id bigint,
    not_before timestamptz, is_owned boolean, gate_id int, due_at timestamptz, lane smallint, details jsonb)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    first_day CONSTANT bigint := deliveries_of.event_id >> 32;
    last_day CONSTANT bigint := (clock_timestamp() AT TIME ZONE 'UTC')::date - DATE '2020-01-01';
    days CONSTANT smallint[] := ARRAY(
        SELECT DISTINCT (d % 32)::smallint FROM generate_series(greatest(first_day, last_day - 31), greatest(first_day, last_day)) AS d);
    -- One index scan for all devices.
    places CONSTANT int8multirange := (SELECT range_agg(int8range(d, d, '[]')) FROM unnest(deliveries_of.devices) AS d);
BEGIN
    RETURN QUERY
    SELECT b.rule_version, b.target_id, d.id, b.attempt, get_byte(b.outcomes, p.position - 1), b.closed_at, b.id,
        NULL::timestamptz, false, 0, NULL::timestamptz, b.lane, b.details
    FROM (
        SELECT l.* FROM fanfare.batch_log AS l
        WHERE l.event_id = deliveries_of.event_id AND l.day = ANY (days) AND int8range(l.first_device, l.last_device, '[]') && places
        OFFSET 0
    ) AS b
    JOIN unnest(deliveries_of.devices) AS d (id) ON d.id BETWEEN b.first_device AND b.last_device
    CROSS JOIN LATERAL (SELECT array_position(b.device_ids, d.id) AS position OFFSET 0) AS p
    WHERE p.position IS NOT NULL
    UNION ALL
    SELECT b.rule_version, b.target_id, d.id, b.attempt, get_byte(b.outcomes, p.position - 1), b.closed_at, b.id,
        NULL, false, 0, NULL, b.lane, b.details
    FROM (
        SELECT l.* FROM fanfare.batch_log AS l
        WHERE l.event_id IS NULL AND l.day = ANY (days) AND int8range(l.first_event, l.last_event, '[]') @> deliveries_of.event_id
            AND int8range(l.first_device, l.last_device, '[]') && places
        OFFSET 0
    ) AS b
    JOIN unnest(deliveries_of.devices) AS d (id) ON d.id BETWEEN b.first_device AND b.last_device AND fanfare.may_hold(b.device_marks, d.id)
    CROSS JOIN LATERAL (
        SELECT y.position FROM unnest(array_positions(b.device_ids, d.id)) AS y (position)
        WHERE b.event_ids[y.position] = deliveries_of.event_id
        OFFSET 0
    ) AS p
    UNION ALL
    SELECT b.rule_version, b.target_id, d.id, b.attempt,
        CASE WHEN octet_length(b.outcomes) = 0 THEN 0 ELSE get_byte(b.outcomes, p.position - 1) END, NULL, b.id,
        b.not_before, b.owner IS NOT NULL, b.gate_id, b.due_at, b.lane, NULL
    FROM fanfare.batches AS b
    JOIN unnest(deliveries_of.devices) AS d (id) ON d.id BETWEEN b.device_ids[1] AND b.device_ids[cardinality(b.device_ids)]
    CROSS JOIN LATERAL (SELECT array_position(b.device_ids, d.id) AS position OFFSET 0) AS p
    WHERE b.event_id = deliveries_of.event_id AND int8range(b.device_ids[1], b.device_ids[cardinality(b.device_ids)], '[]') && places
        AND p.position IS NOT NULL
    UNION ALL
    SELECT b.rule_version, b.target_id, u.d, b.attempt,
        CASE WHEN octet_length(b.outcomes) = 0 THEN 0 ELSE get_byte(b.outcomes, u.position::int - 1) END, NULL::timestamptz, b.id,
        b.not_before, b.owner IS NOT NULL, b.gate_id, b.due_at, b.lane, NULL::jsonb
    FROM (
        SELECT q.* FROM fanfare.batches AS q WHERE q.owner IS NOT NULL
        UNION ALL
        SELECT q.* FROM fanfare.batches AS q WHERE q.owner IS NULL AND NOT deliveries_of.only_claimed
    ) AS b
    CROSS JOIN LATERAL unnest(b.event_ids, b.device_ids) WITH ORDINALITY AS u (e, d, position)
    WHERE b.event_id IS NULL AND deliveries_of.event_id = ANY (b.event_ids) AND u.e = deliveries_of.event_id AND u.d = ANY (deliveries_of.devices);
END
$$;
COMMENT ON FUNCTION fanfare.deliveries_of(bigint, bigint[], boolean) IS
    'One row per attempt to push an event to one of these devices, attempts in flight included; with only_claimed, without batches of several '
    'events that no daemon has claimed, because there may be many, and no index finds an event in them.';
CREATE OR REPLACE FUNCTION fanfare.deliveries_of(event_id bigint, devices bigint[])
RETURNS TABLE (rule_version int, target_id smallint, device_id bigint, attempt smallint, code int, at timestamptz, batch_id bigint,
    not_before timestamptz, is_owned boolean, gate_id int, due_at timestamptz, lane smallint, details jsonb)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
SELECT * FROM fanfare.deliveries_of($1, $2, false)
$$;
COMMENT ON FUNCTION fanfare.deliveries_of(bigint, bigint[]) IS 'The same with all batches.';

-- What an outcome means for the recipient, and what to do. Only for outcomes whose reason alone does not say it.
CREATE OR REPLACE FUNCTION fanfare.outcome_advice(outcome text, reason text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT CASE
        WHEN reason = 'accepted' THEN 'If nothing was shown, check the device: notification permission, focus or power saving, the app''s own handling'
        WHEN outcome = 'gone' THEN 'The app must register its new token at its next start; nothing is sent to it until then'
        WHEN outcome = 'rejected' THEN 'It is not retried: fix what the provider names, then replay the event'
        WHEN outcome = 'expired' AND reason = 'quiet_hours' THEN 'Give the event or its rule a ttl longer than the night, or the rule quiet_hours: off'
        WHEN outcome = 'expired' THEN 'Give the event or its rule a longer ttl, or fix what it waited for'
        WHEN reason = 'campaign_aborted' THEN 'Start the campaign again if it should be sent after all'
        WHEN outcome = 'cancelled' THEN 'Replay the event if it should be sent after all'
        WHEN outcome = 'superseded' THEN 'Look at the newer event; take supersede off the rule if both should arrive'
        WHEN outcome = 'disabled' THEN 'The app must register its token again at its next start'
        WHEN outcome = 'refused' THEN 'Fix the rule or the payload, then replay the event'
        WHEN outcome = 'capped' THEN 'Wait, raise the cap in the app''s policy, or take it off the rule'
        WHEN outcome = 'quiet' THEN 'Use mode hold in the quiet hours if it should come in the morning, or quiet_hours: off in the rule'
        WHEN outcome = 'held_out' THEN 'That is what a holdout is for: take it off the rule, or make it smaller'
        WHEN reason = 'user_opted_out' THEN 'Only the user should change that, in the app; rules without a category are not affected'
        WHEN reason = 'user_snoozed' AND outcome = 'opted_out' THEN 'It ends by itself; with quiet hours of mode hold it would have been kept until then'
        WHEN outcome = 'backlog_dropped' THEN 'Use backlog: send in the rule if old events should still be sent'
        WHEN outcome = 'exhausted' THEN 'Fix the cause in the responses above, then replay the event'
        WHEN outcome = 'unknown' THEN 'Use delivery: at_least_once in the rule if a duplicate is better than a missing push'
    END;
END;
COMMENT ON FUNCTION fanfare.outcome_advice IS 'What to do about this outcome; null if nothing is.';

CREATE OR REPLACE FUNCTION fanfare.why_variant(definition jsonb, user_id text, device_id bigint) RETURNS text LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT CASE v.name WHEN 'holdout' THEN 'In the holdout (control) group.' ELSE 'Variant ' || v.name || '.' END
    FROM fanfare.variant_of(definition, user_id, device_id) AS v (name);
END;
COMMENT ON FUNCTION fanfare.why_variant IS 'The variant of a rule that a user gets, computed as for each push; null if the rule has none.';

-- Queries for one app show only these types: the rules of an app match no other events.
CREATE OR REPLACE FUNCTION fanfare.types_of_app(app text) RETURNS text[] LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT ARRAY(
        SELECT DISTINCT v.event_type FROM fanfare.apps AS a JOIN fanfare.rules AS r ON r.app_id = a.id JOIN fanfare.rule_versions AS v ON v.rule_id = r.id
        WHERE a.name = types_of_app.app AND v.event_type IS NOT NULL);
END;
COMMENT ON FUNCTION fanfare.types_of_app IS 'The event types that rules of an app name, or named before.';

-- A version that no daemon has checked, or that was refused, has its path only in its definition.
CREATE OR REPLACE FUNCTION fanfare.path_of(path text) RETURNS jsonpath
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN path::jsonpath;
EXCEPTION WHEN data_exception OR syntax_error_or_access_rule_violation OR feature_not_supported OR program_limit_exceeded THEN
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION fanfare.path_of IS 'A text as a jsonpath; null if it is not valid.';

-- Evaluates the path as planning does (PlanRound).
CREATE OR REPLACE FUNCTION fanfare.names_user(payload jsonb, path jsonpath, user_id text) RETURNS boolean LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT EXISTS (
        SELECT FROM jsonb_path_query_tz(payload, path, '{}', true) AS item
        WHERE jsonb_typeof(item) IN ('string', 'number', 'boolean') AND item #>> '{}' = names_user.user_id);
END;
COMMENT ON FUNCTION fanfare.names_user IS 'Whether a rule''s path finds a user in a payload.';

-- Read once for all events of a list. A user with more devices than the limit is an error in the app's data; then only
-- some are shown.
CREATE OR REPLACE FUNCTION fanfare.why_devices(user_id text, app text, most int, OUT ids bigint[], OUT apps jsonb)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    WITH d AS MATERIALIZED (
        SELECT x.id, x.app_id, x.provider, x.disabled_at IS NULL AS is_enabled,
            row_number() OVER (PARTITION BY x.app_id ORDER BY x.disabled_at IS NOT NULL, x.registered_at DESC, x.id DESC) AS place
        FROM fanfare.devices AS x
        WHERE x.app_id = ANY (ARRAY(SELECT y.id FROM fanfare.apps AS y WHERE $2 IS NULL OR y.name = $2)) AND x.user_id = $1
    )
    SELECT (SELECT array_agg(d.id) FROM d WHERE d.place <= $3), (
        SELECT jsonb_object_agg(a.name, jsonb_build_object('count', c.count, 'enabled', c.enabled, 'providers', c.providers))
        FROM (
            SELECT d.app_id, count(*) AS count, count(*) FILTER (WHERE d.is_enabled) AS enabled, array_agg(DISTINCT d.provider) FILTER (WHERE d.is_enabled) AS providers
            FROM d GROUP BY d.app_id
        ) AS c JOIN fanfare.apps AS a ON a.id = c.app_id)
$$;
COMMENT ON FUNCTION fanfare.why_devices IS
    'Devices of a user, up to a limit for each app: enabled ones first, then the latest registered; and the number of devices by app.';

-- why_steps and the functions that it is made of: the event; its rules, and whether they are for the user; the user's
-- devices that got nothing; the attempts. Those that return a table have no settings and no quoted bodies, so that they
-- become part of one query and its plan. (With a function called for each row, two thousand rows took a third longer.)
-- An event is given as a row of the log, wherever it is stored, and its fate by name.

CREATE OR REPLACE FUNCTION fanfare.why_event(event_id bigint, app text) RETURNS SETOF fanfare.event_log
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT x.* FROM (
        SELECT l.day, l.fate, l.id, l.created_at, l.planned_at, l.type, l.key, l.ttl, left(l.detail, 2000), l.payload, l.replay_of,
            l.only_app,
            l.only_user, l.trace, l.wall
        FROM fanfare.event_log AS l WHERE l.day = fanfare.ring_day(why_event.event_id) AND l.id = why_event.event_id
        UNION ALL
        SELECT NULL, 0::smallint, o.id, o.created_at, NULL, o.type, o.key, o.ttl, NULL, o.payload, o.replay_of, o.only_app, o.only_user,
            o.trace, o.wall
        FROM fanfare.outbox AS o WHERE o.id = why_event.event_id
        UNION ALL
        SELECT NULL, 0::smallint, o.id, o.created_at, NULL, o.type, o.key, o.ttl, 'it is planned alone, because it may take long or fail',
            o.payload,
            o.replay_of, o.only_app, o.only_user, o.trace, o.wall
        FROM fanfare.quarantine AS o WHERE o.id = why_event.event_id
    ) AS x
    WHERE why_event.app IS NULL OR x.type = ANY (fanfare.types_of_app(why_event.app))
    LIMIT 1;
END;
COMMENT ON FUNCTION fanfare.why_event IS 'An event that waits or that the log has; nothing if no rule of the app names its type.';

CREATE OR REPLACE FUNCTION fanfare.why_no_event(event_id bigint, app text, now timestamptz)
    RETURNS TABLE (outcome text, reason text, detail text)
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT CASE WHEN o.id IS NULL AND s.id IS NULL THEN 'unknown' ELSE 'waiting' END,
        CASE WHEN s.id IS NOT NULL THEN 'scheduled' WHEN o.id IS NULL THEN 'no_event' ELSE 'querying' END,
        CASE WHEN s.id IS NOT NULL THEN format('The event is scheduled for %s, and will be emitted then', fanfare.utc(s.at))
            WHEN o.id IS NOT NULL THEN 'The query of the event''s campaign is still running: ' || o.state
            WHEN why_no_event.event_id NOT BETWEEN 1::bigint << 32 AND ((now AT TIME ZONE 'UTC')::date - DATE '2020-01-01' + 2)::bigint << 32
                THEN format('There is no event %s: no id of an event is like that. Copy it from what fanfare.emit returned',
                    why_no_event.event_id)
            WHEN why_no_event.event_id >> 32 < (now AT TIME ZONE 'UTC')::date - DATE '2020-01-01' - 30
                THEN format('There is no event %s any more: its id is of %s, and the log keeps 30 days at most (retention.log)',
                    why_no_event.event_id, DATE '2020-01-01' + (why_no_event.event_id >> 32)::int)
            ELSE format('There is no event %s: its transaction has not committed, it was rolled back, it is older than retention.log, %sor the number is wrong. Look for it in fanfare.events',
                why_no_event.event_id, 'no rule of ' || why_no_event.app || ' names its type, ') END
    FROM (SELECT) AS nothing LEFT JOIN fanfare.runs AS o ON o.event_id = why_no_event.event_id AND (why_no_event.app IS NULL OR EXISTS (
        SELECT FROM fanfare.campaigns AS c JOIN fanfare.apps AS a ON a.id = c.app_id WHERE c.id = o.campaign_id
            AND a.name = why_no_event.app))
    LEFT JOIN fanfare.scheduled AS s ON s.id = why_no_event.event_id
        AND (why_no_event.app IS NULL OR s.type = ANY (fanfare.types_of_app(why_no_event.app)));
END;
COMMENT ON FUNCTION fanfare.why_no_event IS 'What is known of an id that no event has.';

CREATE OR REPLACE FUNCTION fanfare.why_elsewhere(counts jsonb, event_type text, unserved text[]) RETURNS TABLE (words text)
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT string_agg(format('%s in app %s%s', CASE o.enabled WHEN '1' THEN '1 device' ELSE o.enabled || ' devices' END, o.name,
        CASE WHEN o.is_unserved THEN ', for which no daemon has credentials' ELSE '' END), '; ' ORDER BY o.name)
    FROM (
        SELECT k.name, k.app ->> 'enabled' AS enabled,
            (SELECT bool_and(k.name || '/' || p = ANY (unserved)) FROM jsonb_array_elements_text(nullif(k.app -> 'providers', 'null')) AS p) AS is_unserved
        FROM jsonb_each(counts) AS k (name, app)
        WHERE k.app ->> 'enabled' <> '0' AND NOT EXISTS (
            SELECT FROM fanfare.apps AS a JOIN fanfare.rules AS r ON r.app_id = a.id JOIN fanfare.rule_versions AS v ON v.rule_id = r.id
            WHERE a.name = k.name AND v.event_type = why_elsewhere.event_type)
        ORDER BY k.name LIMIT 5
    ) AS o;
END;
COMMENT ON FUNCTION fanfare.why_elsewhere
    IS 'The user''s enabled devices in apps that have no rule for an event''s type; null if there are none.';

CREATE OR REPLACE FUNCTION fanfare.why_fate(e fanfare.event_log, fate text, is_of_rule boolean, planned timestamptz, first_event bigint,
    cancelled_at timestamptz, is_served boolean)
RETURNS TABLE (reason text, detail text)
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT CASE fate WHEN 'waiting' THEN CASE WHEN is_served THEN 'not_planned' ELSE 'no_daemon' END WHEN 'duplicate' THEN 'same_key'
        WHEN 'unmatched' THEN 'no_rule_took_it'
            WHEN 'cancelled' THEN 'cancel_requested' WHEN 'expired' THEN 'ttl_passed' WHEN 'refused' THEN CASE WHEN is_of_rule THEN 'not_plannable' ELSE 'not_valid' END
            ELSE 'planned' END,
        CASE WHEN e.replay_of IS NULL THEN '' ELSE format('Replay of event %s%s. ', e.replay_of, ', only for ' || e.only_user) END
            || CASE fate
            WHEN 'waiting' THEN 'Emitted, and not planned yet' || CASE
                WHEN NOT is_served THEN ': no daemon is running. Start `fanfare serve`, and see `fanfare status`'
                ELSE coalesce(': ' || e.detail, ': a daemon plans it within a second, unless a rule of its type is not checked yet; see the rules below, and `fanfare status`') END
            WHEN 'planned' THEN 'Emitted, and planned ' || fanfare.utc(planned) || coalesce('; ' || e.detail, '')
            WHEN 'duplicate' THEN format('Not sent again: event %s had the same type and key %L. Use another key, or replay that event', coalesce(first_event::text, 'an earlier one'), e.key)
            WHEN 'unmatched' THEN coalesce('No rule matched; see below, or `fanfare rules list`' || '; ' || e.detail, 'No rule matched; see below, or `fanfare rules list`')
            WHEN 'cancelled' THEN 'Cancelled before it was planned: fanfare.cancel was called' || coalesce(' ' || fanfare.utc(cancelled_at), '') || '. Replay the event if it should be sent after all'
            WHEN 'expired' THEN coalesce(e.detail || '. ', '') || format('Its ttl had passed when it was planned, %s after it was emitted. Give the event or its rule a longer ttl, and see `fanfare status` for what daemons do',
                date_trunc('second', planned - e.created_at))
            WHEN 'refused' THEN format(CASE WHEN is_of_rule THEN 'A rule could not be planned for it: %s. Fix the rule or the payload, then replay the event'
                ELSE 'The event itself was refused: %s. Fix the emitter' END, e.detail)
        END;
END;
COMMENT ON FUNCTION fanfare.why_fate IS 'What became of an event as a whole, and what to do.';

CREATE OR REPLACE FUNCTION fanfare.why_rules(e fanfare.event_log, fate text, is_of_rule boolean, planned timestamptz, user_id text,
    app text,
    devices bigint[], delivered int[])
RETURNS TABLE (rule_id int, name text, rule text, app_name text, app_id smallint, created_at timestamptz, dropped_at timestamptz,
    version_id int, version int, definition jsonb, refusal text, audience text, devices_path jsonpath, kind text, provider text,
    is_meant boolean, obstacle text, words text, failed int, lacks_key boolean, is_for_other boolean)
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT r.rule_id, r.name, r.rule, r.app, r.app_id, r.created_at, r.dropped_at, r.version_id, r.version, r.definition, r.reason,
        r.audience,
        r.devices_path, r.kind, r.provider, m.is_meant, o.obstacle, k.words, k.failed, k.lacks_key,
        e.only_user IS NOT NULL AND e.only_user IS DISTINCT FROM why_rules.user_id
    FROM (
        SELECT DISTINCT ON (r.id) r.id AS rule_id, n.name, a.name || '/' || n.name AS rule, a.name AS app, r.app_id, r.created_at, r.event_number, r.dropped_at,
            v.id AS version_id, v.version, v.definition::jsonb AS definition, v.state, v.reason, v.when_path, v.audience, v.audience_path,
            v.devices_path, v.kind, v.provider, v.ttl, v.enabled, f.is_in_force
        FROM fanfare.rule_versions AS v
        JOIN fanfare.rules AS r ON r.id = v.rule_id
        JOIN fanfare.apps AS a ON a.id = r.app_id
        CROSS JOIN LATERAL (
            SELECT v.state = 'active' AND v.checked_at <= planned AND coalesce(v.retired_at > planned, true) AS is_in_force
        ) AS f
        CROSS JOIN LATERAL (
            SELECT CASE WHEN v.audience = 'gather' THEN substr(r.name, length('gather/') + 1) WHEN r.name LIKE 'send/%' THEN '(send)' ELSE r.name END AS name
        ) AS n
        WHERE v.event_type = e.type AND (r.name NOT LIKE 'send/%' OR r.name = 'send/' || (e.payload ->> 'shape'))
            -- Excludes a rule that was in force for another type by then, as a digest rule is.
            AND (f.is_in_force OR NOT EXISTS (
                SELECT FROM fanfare.rule_versions AS o
                WHERE o.rule_id = v.rule_id AND o.event_type <> e.type AND o.state = 'active' AND o.checked_at <= planned
                    AND coalesce(o.retired_at > planned, true)))
            AND (why_rules.app IS NULL OR a.name = why_rules.app) AND (e.only_app IS NULL OR r.app_id = e.only_app)
            AND v.created_at <= planned
        ORDER BY r.id, f.is_in_force DESC, v.version DESC
    ) AS r
    CROSS JOIN LATERAL (
        SELECT CASE WHEN r.audience IS NULL OR r.audience IN ('users', 'gather') THEN fanfare.path_of(r.definition #>> '{to,users}') END AS path
    ) AS u
    CROSS JOIN LATERAL (
        SELECT CASE
                WHEN coalesce(why_rules.user_id, '') = '' THEN NULL
                WHEN e.only_user <> why_rules.user_id THEN false
                WHEN u.path IS NOT NULL THEN fanfare.names_user(e.payload, u.path, why_rules.user_id)
                WHEN r.audience = 'everyone' THEN true
                WHEN r.audience = 'tokens' THEN EXISTS (
                    SELECT FROM jsonb_path_query_tz(e.payload, r.audience_path, '{}', true) AS item
                    JOIN fanfare.devices AS d ON d.id = ANY (devices) AND d.app_id = r.app_id AND d.provider = r.provider
                        AND d.token IN (item #>> '{}', lower(item #>> '{}')))
                WHEN EXISTS (SELECT FROM fanfare.runs AS o WHERE o.event_id = e.id AND o.state = 'running' AND r.audience = 'staged') THEN EXISTS (
                    SELECT FROM fanfare.audiences AS x
                    WHERE x.event_id = e.id AND x.bucket = fanfare.bucket(fanfare.audience_seed(e.id), why_rules.user_id)
                        AND x.user_id = why_rules.user_id)
                WHEN r.audience IN ('users_sql', 'staged') AND fate IN ('planned', 'refused') AND r.is_in_force
                    -- A query that failed named no user.
                    AND NOT (is_of_rule AND position('rule ' || r.name || ':' IN e.detail) > 0)
                    AND NOT EXISTS (SELECT FROM fanfare.audience_queries AS q WHERE q.event_id = e.id AND q.rule_version = r.version_id) THEN CASE
                        WHEN r.rule_id = ANY (delivered) THEN true
                        -- A device that would have had a delivery then if the query had named the user.
                        WHEN EXISTS (
                            SELECT FROM fanfare.devices AS d
                            WHERE d.id = ANY (devices) AND d.app_id = r.app_id AND coalesce(d.reachable_since, d.registered_at) <= planned
                                AND coalesce(d.disabled_at > planned, true) AND d.kind = r.kind
                                AND coalesce(d.provider = r.provider, true)
                                AND (r.devices_path IS NULL OR jsonb_path_match_tz(coalesce(d.attributes, '{}'), r.devices_path, '{}', true))
                                AND fanfare.is_permitted(d.permission, d.presents, r.definition -> 'to')) THEN false
                        END
            END AS is_meant
    ) AS m
    CROSS JOIN LATERAL (
        SELECT CASE
                WHEN r.created_at > e.created_at AND fanfare.is_emitted_after(e.id, r.event_number) IS NOT TRUE THEN 'rule_younger'
                WHEN NOT r.is_in_force AND r.dropped_at <= planned THEN 'rule_dropped'
                WHEN NOT r.is_in_force AND r.state = 'refused' THEN 'rule_refused'
                WHEN NOT r.is_in_force AND r.state = 'unchecked' THEN 'rule_unchecked'
                WHEN NOT r.is_in_force THEN 'rule_not_in_force'
                WHEN NOT r.enabled THEN 'rule_disabled'
                WHEN is_of_rule AND position('rule ' || r.name || ':' IN e.detail) > 0 THEN CASE fate WHEN 'refused' THEN 'not_plannable'
                    ELSE 'ttl_passed' END
                WHEN r.when_path IS NOT NULL AND jsonb_path_match_tz(e.payload, r.when_path, '{}', true) IS NOT TRUE THEN 'when_false'
                WHEN e.created_at + coalesce(least(e.ttl, r.ttl), interval '24 hours') <= planned AND NOT EXISTS (
                    SELECT FROM fanfare.runs AS o WHERE o.event_id = e.id AND o.wall IS NOT NULL) THEN 'ttl_passed'
            END AS obstacle
    ) AS o
    LEFT JOIN LATERAL fanfare.when_result(e.payload, r.definition ->> 'when') AS k ON r.when_path IS NOT NULL;
END;
COMMENT ON FUNCTION fanfare.why_rules IS
    'The rules of an event''s type in the version that was in force when the event was planned, or else the newest; whether '
    'the event is for the user by each, what kept the rule from matching it, and how its "when" turned out. Whether it is '
    'for the user is the result of the rule''s path on the payload, and for queries what is known of their result; null if '
    'only the devices can tell, or if it is no longer known. delivered has the rules with a delivery to a device of the user.';

CREATE OR REPLACE FUNCTION fanfare.why_rule_words(e fanfare.event_log, fate text, planned timestamptz, counts jsonb, is_served boolean,
    rule_id int, name text, app text, created_at timestamptz, dropped_at timestamptz, version int, refusal text, audience text,
    obstacle text, words text, due_at timestamptz)
RETURNS TABLE (detail text)
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT CASE
            WHEN name = '(send)' AND coalesce(obstacle IN ('rule_unchecked', 'rule_refused'), true) THEN CASE obstacle
                WHEN 'rule_unchecked' THEN 'The message waits to be checked by a daemon, as all first messages of their kind do' || CASE WHEN is_served THEN ', which takes a second'
                    ELSE ': none is running. Start `fanfare serve`' END
                WHEN 'rule_refused' THEN format('The message was refused: %s. Fix the call of fanfare.send', refusal)
                ELSE 'It was sent without a rule, by fanfare.send' || CASE WHEN fate = 'waiting' AND NOT is_served THEN ', but no daemon is running. Start `fanfare serve`' ELSE '' END END
            ELSE CASE obstacle
            WHEN 'rule_younger' THEN format('The rule was created %s, after the event. Replay the event if the rule should apply to it',
                fanfare.utc(created_at))
            WHEN 'rule_dropped' THEN format('The rule was dropped %s. Apply it again if it is still needed', fanfare.utc(dropped_at))
            WHEN 'rule_refused' THEN format('The rule was rejected and matches nothing: %s. Fix the rule, then replay the event', refusal)
            WHEN 'rule_unchecked' THEN 'The rule waits to be checked by a daemon' || CASE WHEN is_served THEN ', which takes a second' ELSE ': none is running. Start `fanfare serve`' END
            WHEN 'rule_not_in_force' THEN 'No version of the rule was in force then. See `fanfare rules list`'
            WHEN 'rule_disabled' THEN 'The rule is disabled. Set enabled: true, then replay the event'
            WHEN 'not_plannable' THEN format('It matched the event and could not be planned for it: %s. Fix the rule or the payload, then replay the event', e.detail)
            WHEN 'when_false' THEN format('`when` did not match: %s. Change the rule or the emitter, then replay the event', words)
            WHEN 'ttl_passed' THEN format('Its ttl had passed when the event was planned, %s after it was emitted. Give the rule or the event a longer ttl', date_trunc('second', planned - e.created_at))
            ELSE CASE
                WHEN fate = 'waiting' THEN 'It would match the event' || CASE WHEN is_served THEN ''
                    ELSE ', but no daemon is running. Start `fanfare serve`' END
                WHEN audience = 'gather' THEN format(CASE
                    WHEN due_at IS NULL THEN 'It gathered the event, and sent it in an event of its own, of type digest.%1$s.%2$s'
                    ELSE 'It gathers the event: what is sent %3$s is an event of its own, of type digest.%1$s.%2$s' END, app, name,
                        fanfare.utc(due_at))
                WHEN audience IN ('fcm_topic', 'fcm_condition', 'channel')
                    THEN format('Sent once, to %s: only the provider knows its subscribers',
                    CASE audience WHEN 'channel' THEN 'an APNs channel' WHEN 'fcm_topic' THEN 'an FCM topic' ELSE 'an FCM condition' END)
                ELSE format('Version %s matched the event%s', version, coalesce('; `when`: ' || words, ''))
                    || CASE WHEN (counts #>> ARRAY[app, 'count'])::bigint > 200
                        THEN format('. Of the user''s %s devices in the app 200 are told of, those that are enabled and were registered last', counts #>> ARRAY[app, 'count']) ELSE '' END
            END || coalesce((
                SELECT format('. A newer version %s is refused: %s', v.version, v.reason) FROM fanfare.rule_versions AS v
                WHERE v.rule_id = why_rule_words.rule_id AND v.version > why_rule_words.version AND v.state = 'refused'
                    AND v.created_at <= planned
                ORDER BY v.version DESC LIMIT 1), '')
        END END;
END;
COMMENT ON FUNCTION fanfare.why_rule_words IS 'Whether a rule matched an event, why not, and what to do.';

CREATE OR REPLACE FUNCTION fanfare.why_no_rule(e fanfare.event_log, user_id text, app text, whom text) RETURNS TABLE (detail text)
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT format('No rule %s event type "%s"%s. %s', CASE WHEN n.count > 0 THEN 'matched'
        ELSE 'matches' END, e.type, ' in app ' || why_no_rule.app,
            CASE WHEN n.is_meant THEN 'There is one now: replay the event' WHEN n.count > 0 THEN 'There is one now, which is not for ' || whom ELSE coalesce('Did you mean ' || fanfare.nearest_name(e.type, ARRAY(
                SELECT DISTINCT v.event_type FROM fanfare.rule_versions AS v JOIN fanfare.rules AS r ON r.id = v.rule_id JOIN fanfare.apps AS a ON a.id = r.app_id
                WHERE v.state = 'active' AND v.retired_at IS NULL AND v.enabled AND (why_no_rule.app IS NULL OR a.name = why_no_rule.app)
                    AND abs(length(v.event_type) - length(e.type)) <= length(v.event_type) / 3 ORDER BY v.event_type LIMIT 500)) || '? ', '')
                || 'Write a rule, or fix the type' END)
    FROM (
        SELECT count(*), bool_or(v.audience NOT IN ('users', 'gather')
            OR fanfare.names_user(e.payload, fanfare.path_of(v.definition #>> '{to,users}'), why_no_rule.user_id)) AS is_meant
        FROM fanfare.rule_versions AS v JOIN fanfare.rules AS r ON r.id = v.rule_id JOIN fanfare.apps AS a ON a.id = r.app_id
        WHERE v.event_type = e.type AND v.state = 'active' AND v.retired_at IS NULL AND v.enabled
            AND (why_no_rule.app IS NULL OR a.name = why_no_rule.app)
    ) AS n;
END;
COMMENT ON FUNCTION fanfare.why_no_rule
    IS 'That no rule was there for an event''s type, and whether there is one now or the type may be mistyped.';

CREATE OR REPLACE FUNCTION fanfare.why_missed(e fanfare.event_log, planned timestamptz, user_id text, d fanfare.devices, rule_version int,
    definition jsonb, audience text, devices_path jsonpath, kind text, provider text)
RETURNS TABLE (obstacle text)
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT CASE
            WHEN d.disabled_at <= planned AND d.disabled_reason = 'reassigned' THEN 'reassigned'
            -- If the topic's name is a template, only the planner knows it.
            WHEN audience = 'topic' AND position('{{' IN definition #>> '{to,topic}') = 0 AND NOT EXISTS (
                SELECT FROM fanfare.topics AS t JOIN fanfare.subscriptions AS s ON s.topic_id = t.id
                WHERE t.name = definition #>> '{to,topic}' AND s.device_id = d.id) THEN 'not_subscribed'
            WHEN d.disabled_at <= planned THEN 'disabled'
            WHEN d.kind <> kind THEN 'other_kind'
            WHEN d.provider <> provider THEN 'other_provider'
            WHEN coalesce(d.reachable_since, d.registered_at) > planned THEN 'registered_later'
            WHEN devices_path IS NOT NULL AND jsonb_path_match_tz(coalesce(d.attributes, '{}'), devices_path, '{}', true) IS NOT TRUE
                THEN 'other_attributes'
            WHEN NOT fanfare.is_permitted(d.permission, NULL, (definition -> 'to') - 'presents') THEN 'other_permission'
            WHEN NOT fanfare.is_permitted(d.permission, d.presents, definition -> 'to') THEN 'other_presents'
            WHEN EXISTS (
                SELECT FROM fanfare.plans AS p WHERE p.event_id = e.id AND p.rule_version = why_missed.rule_version
                    AND (p.canary_devices IS NOT NULL OR p.cursor
                    < CASE WHEN audience = 'staged' THEN fanfare.bucket(fanfare.audience_seed(e.id), why_missed.user_id) ELSE d.id END))
                THEN 'planning'
            WHEN EXISTS (SELECT FROM fanfare.audience_queries AS q WHERE q.event_id = e.id AND q.rule_version = why_missed.rule_version)
                THEN 'users_sql'
            WHEN audience IN ('topic', 'condition') THEN 'not_subscribed'
            ELSE 'not_in_audience'
        END;
END;
COMMENT ON FUNCTION fanfare.why_missed IS 'The first reason why a rule that matched an event has no delivery to a device.';

CREATE OR REPLACE FUNCTION fanfare.why_missed_words(obstacle text, device_id bigint, kind text, registered_at timestamptz,
    disabled_at timestamptz, disabled_reason text, rule_kind text, definition jsonb, audience text, is_meant boolean, whom text)
RETURNS TABLE (detail text)
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT CASE obstacle
            WHEN 'disabled' THEN format('The device is disabled since %s: %s. The app must register its token again at its next start',
                fanfare.utc(disabled_at), disabled_reason)
            WHEN 'reassigned' THEN format('The device belongs to another user since %s. Nothing to do', fanfare.utc(disabled_at))
            WHEN 'other_kind' THEN format('Its token is for %s, the rule for %s', kind, rule_kind)
            WHEN 'other_provider' THEN format('The rule is for %s only', definition #>> '{to,provider}')
            WHEN 'registered_later' THEN format('Registered %s, after the event was planned: it was not there yet, or disabled%s',
                fanfare.utc(registered_at), CASE
                WHEN is_meant THEN '. Replay the event if it is still of use'
                WHEN audience IN ('users_sql', 'staged') THEN format(', or its query did not return %s: its result is not stored', whom)
                ELSE ', or not subscribed' END)
            WHEN 'other_attributes' THEN format('Its attributes do not meet to.devices: %s', (fanfare.when_result(
                coalesce((SELECT d.attributes FROM fanfare.devices AS d
                    WHERE d.id = why_missed_words.device_id), '{}'), definition #>> '{to,devices}')).words)
            WHEN 'other_permission' THEN (
                SELECT format(CASE WHEN d.permission IS NULL THEN 'It said no permission, the rule is for %2$s. The app must pass its permission when it registers'
                    ELSE 'Its permission is %1$s, the rule is for %2$s. Nothing to do' END,
                    d.permission, array_to_string(fanfare.filter_words(definition #> '{to,permission}'), ', '))
                FROM fanfare.devices AS d WHERE d.id = why_missed_words.device_id)
            WHEN 'other_presents' THEN (
                SELECT format(CASE WHEN d.presents IS NULL THEN 'It did not say what it presents, the rule needs %2$s. The app must pass presents when it registers'
                    ELSE 'It presents %1$s, the rule needs %2$s. Nothing to do' END,
                    coalesce(nullif(array_to_string(d.presents, ', '), ''), 'nothing'), array_to_string(fanfare.filter_words(definition #> '{to,presents}'), ', '))
                FROM fanfare.devices AS d WHERE d.id = why_missed_words.device_id)
            WHEN 'planning' THEN 'The audience is still being planned; this device is not planned yet'
            WHEN 'users_sql' THEN 'The rule''s users_sql has not run yet; see `fanfare status`'
            WHEN 'not_subscribed' THEN format('Not subscribed to %s; its topics now: %s. The app must call fanfare.subscribe',
                coalesce(definition #>> '{to,topic}', definition #>> '{to,condition}'),
                coalesce((SELECT string_agg(t.name, ', ' ORDER BY t.name) FROM (
                    SELECT t.name FROM fanfare.subscriptions AS s JOIN fanfare.topics AS t ON t.id = s.topic_id
                        WHERE s.device_id = why_missed_words.device_id ORDER BY t.name LIMIT 50) AS t), 'none'))
            ELSE CASE audience
                WHEN 'tokens' THEN format('to.tokens (%s) does not name its token', definition #>> '{to,tokens}')
                ELSE 'It was not there when the event was planned' END
        END;
END;
COMMENT ON FUNCTION fanfare.why_missed_words IS 'The reason that why_missed found as text, and what to do.';

CREATE OR REPLACE FUNCTION fanfare.why_deliveries(event_id bigint, devices bigint[], app text)
RETURNS TABLE (rule_version int, device_id bigint, attempt int, code int, at timestamptz, not_before timestamptz, is_owned boolean,
    gate_id int,
    due_at timestamptz, lane smallint, details jsonb, rule text, app_name text, app_id smallint, definition jsonb, provider text,
    sender text, outcome text, reason text, meaning text, rule_id int, code_before int, reason_before text, tried_at timestamptz)
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT p.rule_version, p.device_id, p.attempt::int, p.code, p.at, p.not_before, p.is_owned, p.gate_id, p.due_at, p.lane, p.details,
        a.name || '/' || CASE WHEN r.name LIKE 'send/%' THEN '(send)' ELSE r.name END AS rule, a.name AS app, a.id AS app_id, v.definition::jsonb AS definition,
        t.provider, concat_ws('/', a.name, t.provider, t.environment) AS sender, coalesce(c.outcome, (ARRAY['pending', 'accepted', 'attempted', 'unknown', 'retrying', 'gone', 'rejected'])
            [1 + width_bucket(p.code, ARRAY[1, 2, 3, 32, 64, 96])]) AS outcome, coalesce(c.reason, 'unknown') AS reason, c.meaning,
        r.id AS rule_id, lag(p.code) OVER w AS code_before, lag(coalesce(c.reason, 'unknown')) OVER w AS reason_before, lead(coalesce(p.not_before, p.at)) OVER w AS tried_at
    FROM fanfare.deliveries_of(why_deliveries.event_id, why_deliveries.devices || 0::bigint) AS p
    JOIN fanfare.rule_versions AS v ON v.id = p.rule_version
    JOIN fanfare.rules AS r ON r.id = v.rule_id
    JOIN fanfare.targets AS t ON t.id = p.target_id
    JOIN fanfare.apps AS a ON a.id = t.app_id
    LEFT JOIN fanfare.outcome_codes AS c ON c.code = p.code
    WHERE why_deliveries.app IS NULL OR a.name = why_deliveries.app
    WINDOW w AS (PARTITION BY p.rule_version, p.device_id ORDER BY p.attempt, p.batch_id);
END;
COMMENT ON FUNCTION fanfare.why_deliveries IS
    'An event''s deliveries to these devices, and to device 0, which stands for all subscribers; each with what came of it, '
    'the attempt before it and the time of the next.';

CREATE OR REPLACE FUNCTION fanfare.why_route(sender text, provider text, device_id bigint, is_waiting boolean, now timestamptz)
RETURNS TABLE (is_open boolean, words text, of_topic text)
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT bool_or(k.is_open AND (k.keys = 0 OR k.keys >= 20 OR k.is_whole)) AS is_open,
        min(k.words) FILTER (WHERE k.is_open) AS words, min(k.of_topic) AS of_topic
    FROM (
        SELECT i.report #>> ARRAY['breakers', sender] = 'open' AS is_open, count(n.name) AS keys, coalesce(bool_or(n.is_whole),
            false) AS is_whole,
            min(n.words) FILTER (WHERE n.is_whole) AS words,
            min(format('%s rejects pushes to topic %s: %s', why_route.provider, n.place, n.said)) FILTER (WHERE n.place <> ''
                AND NOT n.is_failure AND why_route.provider IN ('apns')) AS of_topic
        FROM fanfare.instances AS i
        LEFT JOIN LATERAL (
            SELECT f.name, f.place, f.said, f.is_failure, f.place = '' OR f.place = lower(regexp_replace(substring(d.token from '^https?://([^/?#]+)'), ':443$', '')) AS is_whole,
                CASE WHEN f.is_failure THEN format('%s is unreachable or failing: %s', coalesce(nullif(f.place, ''), why_route.provider),
                    f.said)
                    ELSE format('%s rejects this sender: %s', coalesce(nullif(f.place, ''), why_route.provider), f.said) END AS words
            FROM (
                SELECT x.name, btrim(substr(x.name, length(sender) + 1)) AS place, x.said, x.is_failure FROM (
                    SELECT z.name, z.said, true AS is_failure FROM jsonb_each_text(i.report -> 'failures') AS z (name, said)
                    UNION ALL
                    SELECT z.name, z.said, false FROM jsonb_each_text(i.report -> 'refusals') AS z (name, said)
                ) AS x
                WHERE x.name = sender OR starts_with(x.name, sender || ' ')
            ) AS f
            LEFT JOIN fanfare.devices AS d ON d.id = why_route.device_id AND f.place <> ''
        ) AS n ON true
        WHERE is_waiting AND i.lease_until > now
        GROUP BY i.id
    ) AS k;
END;
COMMENT ON FUNCTION fanfare.why_route IS
    'The state of the route to a provider as daemons report it: of all of it, of the device''s push service, or of a topic.';

CREATE OR REPLACE FUNCTION fanfare.why_waits(hold text, app text, provider text, lane smallint, attempt int, code_before int,
    reason_before text,
    gate_reason text, rate text, route text, of_topic text, cancelled_at timestamptz, whom text)
RETURNS TABLE (detail text)
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT CASE hold
        WHEN 'cancel_requested' THEN format('fanfare.cancel was called %s; pending pushes are not sent. Replay the event if it should be sent after all', fanfare.utc(cancelled_at))
        WHEN 'in_flight' THEN 'A daemon is sending it, or waits for the response' || coalesce('. ' || why_waits.of_topic, '')
        WHEN 'aborting' THEN 'Its campaign is aborted; it is about to be recorded as cancelled'
        WHEN 'paused' THEN format('Paused: %s. Resume the campaign to have it sent', gate_reason)
        WHEN 'canary' THEN 'It waits for the result of the canary. See `fanfare campaigns show`'
        WHEN 'quiet_hours' THEN 'Quiet hours of the recipient; held until they end'
        WHEN 'user_snoozed' THEN format('%s has snoozed it; held until the snooze ends', whom)
        WHEN 'recipient_time' THEN 'It is due at the campaign''s time in the recipient''s time zone'
        WHEN 'retry' THEN 'It is retried then' || CASE WHEN code_before BETWEEN 32 AND 63 THEN format(': attempt %s ended with %s',
            attempt - 1, reason_before) ELSE '' END
        WHEN 'no_daemon' THEN 'It is ready to be sent, but no daemon is running. Start `fanfare serve`'
        WHEN 'no_credentials' THEN format('No running daemon has credentials for %s in app %s. Add them to the configuration: apps.%s.%s',
            provider, app, app, provider)
        WHEN 'breaker' THEN format('%s, so only probes are sent until it works again (breaker). See `fanfare status`', coalesce(route,
            'The provider fails'))
        WHEN 'rate' THEN format('It waits for its turn: pushes are limited (rate, %s)', rate)
        ELSE format('It waits for its turn in lane %s. See `fanfare status` for the queue', (ARRAY['transactional', 'normal',
            'bulk'])[lane + 1]) END;
END;
COMMENT ON FUNCTION fanfare.why_waits IS 'Why a delivery waits, and what to do.';

CREATE OR REPLACE FUNCTION fanfare.reports_on(event_id bigint, device_id bigint, rule_version int) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (
        SELECT string_agg(k.kind, ', ' ORDER BY k.place)
        FROM (VALUES (1, 'received'), (2, 'shown'), (3, 'opened'), (4, 'action'), (5, 'dismissed')) AS k (place, kind)
        WHERE k.kind = ANY (ARRAY(
            SELECT unnest(fanfare.reports_of(p.batch_id, reports_on.event_id, reports_on.device_id))
            FROM fanfare.deliveries_of(reports_on.event_id, ARRAY[reports_on.device_id], true) AS p
            WHERE p.rule_version = reports_on.rule_version)));
END
$$;
COMMENT ON FUNCTION fanfare.reports_on IS 'What a device reported of the pushes of an event and a rule version; null for nothing.';

CREATE OR REPLACE FUNCTION fanfare.why_ended(e fanfare.event_log, user_id text, whom text, cancelled_at timestamptz, rule_version int,
    app_id smallint,
    definition jsonb, device_id bigint, provider text, attempt int, at timestamptz, due_at timestamptz, code int, outcome text,
    reason text, meaning text, details jsonb, code_before int, reason_before text)
RETURNS TABLE (detail text)
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT concat_ws(' ',
        CASE WHEN r.kinds IS NOT NULL THEN format('The provider accepted the push, and the device reported: %s.', r.kinds)
            WHEN outcome = 'refused' THEN rtrim(coalesce(details ->> e.id::text, meaning), '.') || '.'
            ELSE coalesce(nullif(meaning, ''), format('%s said %s', provider, reason)) END,
        CASE
            WHEN code IN (15, 47) THEN (
                SELECT format('Quiet hours %s to %s by %s, clock of the device: %s.',
                    coalesce(why_ended.definition #>> '{quiet_hours,from}', to_char(o.quiet_from, 'HH24:MI')),
                        coalesce(why_ended.definition #>> '{quiet_hours,until}', to_char(o.quiet_until, 'HH24:MI')),
                    CASE WHEN why_ended.definition ? 'quiet_hours' THEN 'the rule' ELSE 'the app''s policy' END,
                    coalesce((SELECT d.time_zone FROM fanfare.devices AS d WHERE d.id = why_ended.device_id), o.time_zone, 'UTC'))
                FROM (SELECT) AS nothing LEFT JOIN fanfare.policies AS o ON o.app_id = why_ended.app_id)
            WHEN code IN (8, 16, 48) THEN format('Category %s.', why_ended.definition ->> 'category')
            WHEN code = 13 THEN (
                SELECT format('Caps of the rule: %s.', string_agg(format('%s, %s in %s', c.name, c.max_count, justify_hours(c.period)), '; ' ORDER BY c.bit))
                FROM fanfare.caps AS c WHERE c.app_id = why_ended.app_id AND why_ended.definition -> 'caps' ? c.name)
            WHEN code IN (17, 18) THEN (
                SELECT format('%s %s, its ttl ended %s%s.', CASE code WHEN 17 THEN 'The quiet hours there end' ELSE 'The snooze ends' END,
                    coalesce(fanfare.utc(CASE code WHEN 17 THEN fanfare.wakes_at(at, fanfare.zone(d.time_zone, coalesce(o.time_zone,
                        'UTC')),
                            coalesce((why_ended.definition #>> '{quiet_hours,from}')::time, o.quiet_from),
                                coalesce((why_ended.definition #>> '{quiet_hours,until}')::time, o.quiet_until))
                        ELSE (SELECT max(x.snoozed_until) FROM fanfare.preferences AS x
                            WHERE x.app_id = why_ended.app_id AND x.user_id = why_ended.user_id
                                AND x.category IN ('*', why_ended.definition ->> 'category')) END), 'later'),
                    fanfare.utc(coalesce(due_at, e.created_at) + coalesce(least(e.ttl, v.ttl), interval '24 hours')),
                    coalesce(' (' || least(e.ttl, v.ttl) || ' after it was emitted)', ''))
                FROM fanfare.rule_versions AS v LEFT JOIN fanfare.policies AS o ON o.app_id = why_ended.app_id
                    LEFT JOIN fanfare.devices AS d ON d.id = why_ended.device_id
                WHERE v.id = why_ended.rule_version)
            WHEN code IN (4, 11) THEN format('Emitted %s%s.', fanfare.utc(e.created_at), coalesce(', ttl ' || least(e.ttl, (
                SELECT v.ttl FROM fanfare.rule_versions AS v WHERE v.id = why_ended.rule_version)), '')
                || CASE WHEN code_before BETWEEN 32 AND 63 THEN format('; attempt %s ended with %s', attempt - 1, reason_before)
                    ELSE '' END)
            WHEN code = 7 THEN (SELECT format('Since %s: %s.', fanfare.utc(d.disabled_at), d.disabled_reason) FROM fanfare.devices AS d
                WHERE d.id = why_ended.device_id AND d.disabled_at IS NOT NULL)
            WHEN code = 5 THEN 'fanfare.cancel was called ' || fanfare.utc(cancelled_at) || '.'
            -- Only notifications need the permission: a call, for example, does not.
            WHEN outcome = 'accepted' THEN (
                SELECT CASE WHEN d.permission = 'denied' THEN 'The phone does not show it: its permission is denied.'
                    WHEN 'alert' <> ALL (d.presents) THEN 'The phone does not show it: its alerts are off.' END
                FROM fanfare.devices AS d WHERE d.id = why_ended.device_id AND d.kind = 'device')
        END,
        CASE WHEN why_ended.device_id > 0 THEN fanfare.why_variant(why_ended.definition, why_ended.user_id, why_ended.device_id)
            ELSE format('It was one request for all subscribers: only the provider knows whether %s is one.', whom) END,
        CASE WHEN r.kinds IS NULL THEN fanfare.outcome_advice(outcome, reason) || '.' END)
    FROM (
        SELECT CASE WHEN outcome = 'accepted' THEN fanfare.reports_on(e.id, why_ended.device_id, why_ended.rule_version) END AS kinds
    ) AS r;
END;
COMMENT ON FUNCTION fanfare.why_ended IS 'How an attempt ended, by which limits, and what to do.';

-- Its rows are what why_steps returns of an event that reached the rules.
CREATE OR REPLACE FUNCTION fanfare.why_pushes(e fanfare.event_log, fate text, is_of_rule boolean, planned timestamptz,
    cancelled_at timestamptz,
    now timestamptz, user_id text, whom text, app text, devices bigint[], counts jsonb, is_served boolean, unserved text[], elsewhere text)
RETURNS TABLE (step smallint, at timestamptz, rule text, device_id bigint, provider text, attempt int, outcome text, reason text,
    until timestamptz, detail text, event_type text, distance int)
LANGUAGE sql STABLE
BEGIN ATOMIC
    WITH deliveries AS MATERIALIZED (
        SELECT p.* FROM fanfare.why_deliveries(e.id, why_pushes.devices, why_pushes.app) AS p
    ),
    judged AS MATERIALIZED (
        SELECT j.*
        FROM (SELECT ARRAY(SELECT DISTINCT p.rule_id FROM deliveries AS p WHERE p.device_id > 0) AS rules) AS r
        CROSS JOIN LATERAL fanfare.why_rules(e, fate, is_of_rule, planned, why_pushes.user_id, why_pushes.app, why_pushes.devices,
            r.rules) AS j
    ),
    -- Devices of matched rules that have no delivery.
    missed AS MATERIALIZED (
        SELECT j.rule, j.definition, d.id AS device_id, d.provider, coalesce(d.reachable_since, d.registered_at) AS registered_at,
            d.disabled_at, d.disabled_reason, d.kind, j.kind AS rule_kind, j.audience, j.is_meant, o.obstacle
        FROM judged AS j
        JOIN fanfare.devices AS d ON d.app_id = j.app_id AND d.id = ANY (why_pushes.devices)
        CROSS JOIN LATERAL fanfare.why_missed(e, planned, why_pushes.user_id, d, j.version_id, j.definition, j.audience, j.devices_path,
            j.kind,
            j.provider) AS o
        WHERE j.obstacle IS NULL AND j.is_meant IS NOT FALSE AND fate IN ('planned', 'refused', 'expired')
            AND j.audience NOT IN ('fcm_topic', 'fcm_condition', 'channel', 'gather')
            AND d.id <> ALL (ARRAY(SELECT p.device_id FROM deliveries AS p WHERE p.rule_id = j.rule_id))
    )
    SELECT 1::smallint, planned, j.rule, NULL::bigint, NULL, NULL::int,
        CASE WHEN j.obstacle IS NOT NULL THEN CASE WHEN j.obstacle = 'ttl_passed' THEN 'expired' WHEN j.obstacle = 'rule_unchecked' THEN 'waiting'
            WHEN j.obstacle = 'not_plannable' THEN 'refused' ELSE 'not_matched' END WHEN fate = 'waiting' THEN 'waiting' ELSE 'matched' END,
        coalesce(j.obstacle, CASE WHEN fate <> 'waiting' THEN j.audience WHEN is_served THEN 'not_planned' ELSE 'no_daemon' END),
        CASE WHEN j.obstacle IS NULL AND j.audience = 'gather' THEN g.due_at END, w.detail, NULL,
        -- How far the event was from a push to the user: the audience first, then the number of unmet conditions; among
        -- equals, a possibly mistyped key comes first.
        CASE WHEN j.obstacle IN ('ttl_passed', 'not_plannable') THEN 0 ELSE CASE WHEN j.is_meant THEN 1000 WHEN j.is_meant IS NULL THEN 2000 ELSE 5000 END
            + CASE j.obstacle WHEN 'when_false' THEN 2 * least(j.failed, 100) - j.lacks_key::int ELSE 0 END END
    FROM judged AS j
    LEFT JOIN LATERAL (
        SELECT x.due_at FROM fanfare.open_digests AS x WHERE j.audience = 'gather' AND x.rule_id = j.rule_id AND e.id = ANY (x.event_ids) LIMIT 1
    ) AS g ON true
    CROSS JOIN LATERAL fanfare.why_rule_words(e, fate, planned, counts, is_served, j.rule_id, j.name, j.app_name, j.created_at,
        j.dropped_at,
        j.version, j.refusal, j.audience, j.obstacle, j.words, g.due_at) AS w
    UNION ALL
    SELECT 1::smallint, planned, NULL, NULL, NULL, NULL, 'not_matched', 'no_rule', NULL, n.detail, NULL, 3000
    FROM fanfare.why_no_rule(e, why_pushes.user_id, why_pushes.app, whom) AS n
    WHERE NOT EXISTS (SELECT FROM judged)
    UNION ALL
    -- The event is not for the user.
    SELECT 2::smallint, planned, j.rule, NULL, NULL, NULL, 'not_reached', CASE WHEN j.is_for_other THEN 'replayed_for_other' ELSE 'not_in_audience' END, NULL,
        CASE WHEN j.is_for_other THEN format('It was replayed for %s only', e.only_user) ELSE concat(CASE
            WHEN j.audience IN ('users', 'gather') OR j.audience IS NULL
                THEN format('The event is for others: to.users (%s) does not name %s in it', j.definition #>> '{to,users}', whom)
            WHEN j.audience = 'users_sql' THEN format('The event is for others: users_sql did not name %s', whom)
            WHEN j.audience = 'staged' THEN format('The campaign''s audience_sql did not give %s', whom)
            ELSE format('to.tokens (%s) names no token that is registered for %s now', j.definition #>> '{to,tokens}', whom) END,
            CASE WHEN j.audience <> 'staged' THEN '. If that is wrong, check the rule and the emitter' END) END
            || CASE WHEN coalesce(counts ? j.app_name, false) THEN '' ELSE format('. %s has no device in app %s either', whom,
                j.app_name) END, NULL, 4000
    FROM judged AS j
    WHERE (j.obstacle IS NULL OR j.obstacle IN ('ttl_passed', 'not_plannable')) AND j.is_meant IS FALSE
        AND NOT EXISTS (SELECT FROM deliveries AS p WHERE p.rule_id = j.rule_id)
    UNION ALL
    -- The user has no device.
    SELECT 2::smallint, planned, j.rule, NULL, NULL, NULL, 'no_device', 'no_device', NULL,
        format('%s has no device in app %s, so there is nothing to push to%s. The app must call fanfare.register_device with this user''s id at each start',
            whom, j.app_name, coalesce('; there is ' || elsewhere, '')), NULL, CASE WHEN j.is_meant THEN 0 ELSE 2000 END
    FROM judged AS j
    WHERE j.obstacle IS NULL AND j.is_meant IS NOT FALSE AND fate IN ('planned', 'refused', 'expired')
        AND j.audience NOT IN ('fcm_topic', 'fcm_condition', 'channel', 'gather') AND NOT coalesce(counts ? j.app_name, false)
    UNION ALL
    SELECT 2::smallint, greatest(planned, CASE WHEN m.obstacle = 'disabled' THEN m.disabled_at WHEN m.obstacle = 'registered_later' THEN m.registered_at END),
        m.rule, m.device_id, m.provider, NULL,
        CASE WHEN m.obstacle IN ('planning', 'users_sql') THEN 'waiting' ELSE 'not_reached' END, m.obstacle, NULL, w.detail, NULL,
        CASE WHEN m.obstacle IN ('not_subscribed', 'not_in_audience') THEN 4000 WHEN m.is_meant THEN CASE m.obstacle WHEN 'reassigned' THEN 500 ELSE 0 END ELSE 2000 END
    FROM missed AS m
    CROSS JOIN LATERAL fanfare.why_missed_words(m.obstacle, m.device_id, m.kind, m.registered_at, m.disabled_at, m.disabled_reason,
        m.rule_kind,
        m.definition, m.audience, m.is_meant, whom) AS w
    UNION ALL
    -- Each attempt, and the deliveries that still wait.
    SELECT CASE WHEN p.at IS NULL THEN 4 ELSE 3 END::smallint, coalesce(p.at, now), p.rule, p.device_id, p.provider, p.attempt,
        CASE WHEN h.hold = 'cancel_requested' THEN 'cancelled' WHEN p.at IS NULL THEN 'waiting' ELSE p.outcome END, coalesce(h.hold, p.reason),
        CASE WHEN p.at IS NULL THEN CASE WHEN p.not_before > now THEN p.not_before END WHEN p.outcome = 'retrying' THEN p.tried_at END,
        CASE WHEN p.at IS NULL THEN w.detail ELSE n.detail END, NULL, 0
    FROM deliveries AS p
    LEFT JOIN fanfare.gates AS g ON g.id = p.gate_id AND p.at IS NULL
    LEFT JOIN LATERAL (
        SELECT string_agg(format('%s/s of %s', y.per_second, CASE WHEN y.rule_id IS NOT NULL THEN 'the rule' WHEN y.provider IS NOT NULL THEN y.provider ELSE 'the app' END), ', ') AS rate
        FROM fanfare.rates AS y
        WHERE p.at IS NULL AND (y.id = g.rate_id OR p.lane > 0 AND y.app_id = p.app_id AND coalesce(y.provider = p.provider, true))
    ) AS x ON true
    LEFT JOIN LATERAL fanfare.why_route(p.sender, p.provider, p.device_id, p.at IS NULL, now) AS y ON true
    CROSS JOIN LATERAL (
        SELECT CASE
            WHEN p.at IS NOT NULL THEN NULL
            WHEN p.is_owned AND is_served AND y.is_open IS NOT TRUE THEN 'in_flight'
            WHEN cancelled_at IS NOT NULL THEN 'cancel_requested'
            WHEN g.state = 'aborting' THEN 'aborting'
            WHEN g.is_paused THEN 'paused'
            WHEN g.state = 'held' THEN 'canary'
            WHEN p.not_before > now THEN CASE WHEN p.code_before = 48 THEN 'user_snoozed' WHEN p.code_before IS NULL AND p.due_at = p.not_before THEN 'recipient_time'
                WHEN p.code_before IS NULL OR p.code_before = 47 THEN 'quiet_hours' WHEN y.is_open THEN 'breaker' ELSE 'retry' END
            WHEN NOT is_served THEN 'no_daemon'
            WHEN p.app_name || '/' || p.provider = ANY (unserved) THEN 'no_credentials'
            WHEN y.is_open THEN 'breaker'
            WHEN x.rate IS NOT NULL THEN 'rate'
            ELSE 'lane' END AS hold
    ) AS h
    CROSS JOIN LATERAL fanfare.why_waits(h.hold, p.app_name, p.provider, p.lane, p.attempt, p.code_before, p.reason_before, g.reason,
        x.rate,
        y.words, y.of_topic, cancelled_at, whom) AS w
    CROSS JOIN LATERAL fanfare.why_ended(e, why_pushes.user_id, whom, cancelled_at, p.rule_version, p.app_id, p.definition, p.device_id,
        p.provider,
        p.attempt, p.at, p.due_at, p.code, p.outcome, p.reason, p.meaning, p.details, p.code_before, p.reason_before) AS n;
END;
COMMENT ON FUNCTION fanfare.why_pushes
    IS 'The rules of an event, the user''s devices that have no delivery, and the attempts; the columns are those of why_steps.';

CREATE OR REPLACE FUNCTION fanfare.why_steps(event_id bigint, user_id text, app text, devices bigint[], counts jsonb)
RETURNS TABLE (step smallint, at timestamptz, rule text, device_id bigint, provider text, attempt int, outcome text, reason text,
    until timestamptz, detail text, event_type text, distance int)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET intervalstyle = 'postgres'
-- Planning takes longer than execution, and a list of events calls it twenty times.
SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
    e fanfare.event_log;
    fate text;
    now CONSTANT timestamptz := clock_timestamp();
    whom CONSTANT text := coalesce(why_steps.user_id, 'nobody');
    planned timestamptz;
    first_event bigint;
    cancelled_at timestamptz;
    -- For a refused event: whether it was refused for one rule only, while others may have been planned.
    is_of_rule boolean;
    daemons CONSTANT bigint := (SELECT count(*) FROM fanfare.instances AS i WHERE i.lease_until > now);
    is_served CONSTANT boolean := daemons > 0;
    -- Apps and providers that no daemon has credentials for.
    unserved CONSTANT text[] := ARRAY(
        SELECT u.name FROM fanfare.instances AS i CROSS JOIN LATERAL jsonb_array_elements_text(i.report -> 'unserved') AS u (name)
        WHERE i.lease_until > now GROUP BY u.name HAVING count(*) = daemons);
    elsewhere text;
BEGIN
    SELECT x.* INTO e FROM fanfare.why_event(why_steps.event_id, why_steps.app) AS x;
    IF e.id IS NULL THEN
        RETURN QUERY
        SELECT 0::smallint, now, NULL, NULL::bigint, NULL, NULL::int, n.outcome, n.reason, NULL::timestamptz, n.detail, NULL, 0
        FROM fanfare.why_no_event(why_steps.event_id, why_steps.app, now) AS n;
        RETURN;
    END IF;
    SELECT f.name INTO fate FROM fanfare.event_fates AS f WHERE f.fate = e.fate;
    planned := coalesce(e.planned_at, now);
    is_of_rule := fate IN ('refused', 'expired') AND coalesce(e.detail ~ '(^|; )rule ', false);
    SELECT o.words INTO elsewhere FROM fanfare.why_elsewhere(why_steps.counts, e.type, unserved) AS o;
    SELECT min(c.created_at) INTO cancelled_at FROM fanfare.cancels AS c
    WHERE c.event_id = e.id OR c.type = e.type AND c.key = e.key AND NOT fanfare.is_emitted_after(e.id, c.event_number);
    IF fate = 'duplicate' THEN
        SELECT k.event_id INTO first_event FROM fanfare.event_keys AS k WHERE k.type = e.type AND k.key = e.key;
    END IF;
    RETURN QUERY
    SELECT 0::smallint, e.created_at, NULL, NULL::bigint, NULL, NULL::int, fate, f.reason, NULL::timestamptz, f.detail, e.type, 0
    FROM fanfare.why_fate(e, fate, is_of_rule, planned, first_event, cancelled_at, is_served) AS f;
    IF fate IN ('duplicate', 'cancelled') OR fate = 'refused' AND NOT is_of_rule THEN
        RETURN;
    END IF;
    RETURN QUERY
    SELECT p.* FROM fanfare.why_pushes(e, fate, is_of_rule, planned, cancelled_at, now, why_steps.user_id, whom, why_steps.app,
        why_steps.devices,
        why_steps.counts, is_served, unserved, elsewhere) AS p;
END
$$;
COMMENT ON FUNCTION fanfare.why_steps IS
    'The rows of fanfare.why, unordered; step is the subject of a row: the event, a rule, a device, an attempt, a waiting delivery.';

-- The most important row of why_steps: a delivery that was accepted, else what still waits, else how the last attempt
-- ended, else why the rule that came nearest sent nothing. For each device and rule the last row counts.
CREATE OR REPLACE FUNCTION fanfare.why_end(event_id bigint, user_id text, app text, devices bigint[], counts jsonb)
RETURNS TABLE (at timestamptz, event_type text, rule text, outcome text, reason text, until timestamptz, detail text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH steps AS MATERIALIZED (
        SELECT * FROM fanfare.why_steps(why_end.event_id, why_end.user_id, why_end.app, why_end.devices, why_end.counts)
    ),
    ends AS (
        SELECT s.*, CASE WHEN s.step = 3 AND s.outcome = 'accepted' THEN 0 WHEN s.step = 4 THEN 1 WHEN s.step > 0 AND (s.outcome = 'waiting' OR s.reason = 'gather') THEN 2
            WHEN s.step = 3 THEN 3 WHEN s.step > 0 AND s.outcome <> 'matched' THEN 4 WHEN s.step = 0 THEN 5 ELSE 6 END AS weight
        FROM (
            SELECT DISTINCT ON (rule, device_id) * FROM steps
            ORDER BY rule, device_id, step DESC, attempt DESC
        ) AS s
    )
    SELECT e.at, e.event_type, v.rule, v.outcome, v.reason, v.until,
        CASE WHEN v.weight = 0 THEN concat((
                SELECT format('Accepted for %s of %s devices%s. ', count(*) FILTER (WHERE n.weight = 0), count(*), CASE WHEN (counts #>> ARRAY[split_part(v.rule, '/', 1), 'count'])::bigint > count(*) THEN ' that were looked at' END)
                FROM ends AS n WHERE n.rule = v.rule AND n.device_id > 0 HAVING count(*) > 1), v.detail)
            ELSE v.detail END
    FROM (SELECT * FROM steps WHERE step = 0) AS e
    CROSS JOIN LATERAL (SELECT * FROM ends ORDER BY weight, distance, at DESC, rule, device_id LIMIT 1) AS v;
END
$$;
COMMENT ON FUNCTION fanfare.why_end IS 'The row of fanfare.why_verdict, for the result of why_devices.';

CREATE OR REPLACE FUNCTION fanfare.why_verdict(event_id bigint, user_id text, app text DEFAULT NULL)
RETURNS TABLE (at timestamptz, event_type text, rule text, outcome text, reason text, until timestamptz, detail text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT v.* FROM fanfare.why_devices(why_verdict.user_id, why_verdict.app, 200) AS d
    CROSS JOIN LATERAL fanfare.why_end(fanfare.event_of(why_verdict.event_id), why_verdict.user_id, why_verdict.app, d.ids, d.apps) AS v
$$;
COMMENT ON FUNCTION fanfare.why_verdict IS 'The result of an event for one user, in one row; fanfare.why has the details.';
GRANT EXECUTE ON FUNCTION fanfare.why_verdict TO fanfare_reader;

-- Events that were planned for the user are found by the user's devices. Other events have no index by user, so the
-- last thousand are read for the rest. These are events whose payload names the user where a rule of the type looks for
-- users, or where any rule does if none is of the type; and the last five of rules with another kind of audience, in an
-- app that the user has a device in. One day's partition is read at a time, the newest first: a batch is never of an
-- earlier day than its events.
CREATE OR REPLACE FUNCTION fanfare.recent_events(user_id text, app text DEFAULT NULL, count int DEFAULT 20) RETURNS SETOF bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
    today CONSTANT bigint := (clock_timestamp() AT TIME ZONE 'UTC')::date - DATE '2020-01-01';
    apps CONSTANT smallint[] := ARRAY(SELECT a.id FROM fanfare.apps AS a WHERE recent_events.app IS NULL OR a.name = recent_events.app);
    devices CONSTANT bigint[] := ARRAY(
        SELECT d.id FROM fanfare.devices AS d WHERE d.app_id = ANY (apps) AND d.user_id = recent_events.user_id
        ORDER BY d.disabled_at IS NOT NULL, d.registered_at DESC LIMIT 20);
    -- One index scan for all devices.
    places CONSTANT int8multirange := (SELECT range_agg(int8range(d, d, '[]')) FROM unnest(devices) AS d);
    types CONSTANT text[] := CASE WHEN recent_events.app IS NOT NULL THEN fanfare.types_of_app(recent_events.app) END;
    -- The paths at which rules look for users, by type; under '' those of all types.
    paths CONSTANT jsonb := (
        SELECT jsonb_object_agg(t.type, t.paths) FROM (
            SELECT coalesce(x.type, '') AS type, (array_agg(DISTINCT x.path))[:20] AS paths FROM (
                SELECT v.event_type AS type, v.definition #>> '{to,users}' AS path
                FROM fanfare.rule_versions AS v JOIN fanfare.rules AS r ON r.id = v.rule_id
                WHERE r.app_id = ANY (apps) AND v.event_type IS NOT NULL AND v.definition #>> '{to,users}' IS NOT NULL
            ) AS x
            GROUP BY GROUPING SETS ((x.type), ())
        ) AS t);
    known CONSTANT text[] := ARRAY(SELECT DISTINCT v.event_type FROM fanfare.rule_versions AS v WHERE v.event_type IS NOT NULL);
    -- Types of rules whose audience is not in the payload.
    others CONSTANT text[] := ARRAY(
        SELECT DISTINCT v.event_type FROM fanfare.rule_versions AS v JOIN fanfare.rules AS r ON r.id = v.rule_id
        WHERE r.app_id = ANY (apps) AND v.audience IN ('users_sql', 'topic', 'condition', 'everyone', 'tokens') AND v.event_type IS NOT NULL
            AND EXISTS (SELECT FROM fanfare.devices AS d WHERE d.app_id = r.app_id AND d.user_id = recent_events.user_id));
    found bigint[];
    unnamed bigint[] := '{}';
    left_to_read int := 1000;
    was_read int;
    named bigint[];
    more bigint[];
    here bigint;
BEGIN
    found := ARRAY(
        SELECT DISTINCT coalesce(b.event_id, u.e)
        FROM fanfare.batches AS b
        CROSS JOIN LATERAL unnest(b.device_ids, b.event_ids) AS u (d, e)
        WHERE b.device_ids && devices AND u.d = ANY (devices));
    -- Events that wait to be planned come first, then planned ones.
    FOR here IN SELECT d FROM generate_series(today + 1, today - 31, -1) AS d LOOP
        IF here <= today AND places IS NOT NULL THEN
            found := ARRAY(
                SELECT unnest(found)
                UNION
                SELECT b.event_id FROM (
                    SELECT l.event_id, l.device_ids, l.first_device, l.last_device FROM fanfare.batch_log AS l
                    WHERE l.day = (here % 32)::smallint AND l.event_id IS NOT NULL AND int8range(l.first_device, l.last_device, '[]') && places
                    OFFSET 0
                ) AS b
                WHERE EXISTS (SELECT FROM unnest(devices) AS d (id) WHERE d.id BETWEEN b.first_device AND b.last_device AND d.id = ANY (b.device_ids))
                UNION
                SELECT u.e FROM (
                    SELECT l.event_ids, l.device_ids, l.device_marks, l.first_device, l.last_device FROM fanfare.batch_log AS l
                    WHERE l.day = (here % 32)::smallint AND l.event_id IS NULL AND int8range(l.first_device, l.last_device, '[]') && places
                    OFFSET 0
                ) AS b
                JOIN unnest(devices) AS d (id) ON d.id BETWEEN b.first_device AND b.last_device AND fanfare.may_hold(b.device_marks, d.id)
                CROSS JOIN LATERAL (SELECT b.event_ids[y.position] AS e FROM unnest(array_positions(b.device_ids, d.id)) AS y (position) OFFSET 0) AS u);
        END IF;
        IF left_to_read > 0 THEN
            SELECT count(*), array_agg(l.id) FILTER (WHERE n.is_named), array_agg(l.id ORDER BY l.id DESC) FILTER (WHERE NOT n.is_named AND l.type = ANY (others))
            INTO was_read, named, more
            FROM (
                (SELECT x.id, x.type, x.payload, x.only_user FROM fanfare.event_log AS x WHERE here <= today AND x.day = (here % 32)::smallint
                ORDER BY x.day DESC, x.id DESC LIMIT left_to_read)
                UNION ALL
                (SELECT x.id, x.type, x.payload, x.only_user FROM fanfare.outbox AS x WHERE here > today ORDER BY x.xid DESC, x.id DESC LIMIT left_to_read)
            ) AS l
            CROSS JOIN LATERAL (
                SELECT (types IS NULL OR l.type = ANY (types)) AND coalesce(l.only_user = recent_events.user_id, true) AND EXISTS (
                    SELECT FROM jsonb_array_elements_text(nullif(paths -> CASE WHEN l.type = ANY (known) THEN l.type ELSE '' END, 'null')) AS p (path)
                    WHERE fanfare.names_user(l.payload, fanfare.path_of(p.path), recent_events.user_id)) AS is_named
            ) AS n;
            left_to_read := left_to_read - was_read;
            found := ARRAY(SELECT unnest(found) UNION SELECT unnest(named));
            unnamed := (unnamed || more)[:1000];
        END IF;
        EXIT WHEN here <= today AND (SELECT count(*) FROM unnest(found) AS f WHERE f >> 32 >= here) >= recent_events.count;
    END LOOP;
    RETURN QUERY
    SELECT f FROM (
        (SELECT f FROM unnest(unnamed) AS f WHERE f <> ALL (found) ORDER BY f DESC LIMIT least(5, recent_events.count / 4))
        UNION ALL
        SELECT unnest(found)
    ) AS x (f)
    ORDER BY f DESC LIMIT recent_events.count;
END
$$;
COMMENT ON FUNCTION fanfare.recent_events IS
    'The last events that were planned for a user, that name the user where rules look, or whose rules have a query '
    'or subscriptions as their audience; the latter two among the last thousand. For an app only types that its rules '
    'name; the newest first.';
GRANT EXECUTE ON FUNCTION fanfare.recent_events TO fanfare_reader;

CREATE OR REPLACE FUNCTION fanfare.why_recent(user_id text, app text DEFAULT NULL, count int DEFAULT 20)
RETURNS TABLE (event_id bigint, at timestamptz, event_type text, rule text, outcome text, reason text, until timestamptz, detail text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    the record;
    devices bigint;
    enabled bigint;
BEGIN
    SELECT * INTO the FROM fanfare.why_devices(why_recent.user_id, why_recent.app, 10);
    RETURN QUERY
    SELECT r.id, v.at, v.event_type, v.rule, v.outcome, v.reason, v.until, v.detail
    FROM fanfare.recent_events(why_recent.user_id, why_recent.app, least(why_recent.count, 100)) AS r (id)
    CROSS JOIN LATERAL fanfare.why_end(r.id, why_recent.user_id, why_recent.app, the.ids, the.apps) AS v
    ORDER BY r.id DESC;
    IF FOUND THEN
        RETURN;
    END IF;
    SELECT coalesce(sum((k ->> 'count')::bigint), 0), coalesce(sum((k ->> 'enabled')::bigint), 0) INTO devices, enabled FROM jsonb_path_query(the.apps, '$.*') AS k;
    RETURN QUERY
    SELECT NULL::bigint, clock_timestamp(), NULL, NULL, 'unknown', CASE devices WHEN 0 THEN 'no_user' ELSE 'no_event' END, NULL::timestamptz,
        CASE devices WHEN 0 THEN format('No device is registered with the user id %s%s, and none of the last thousand events names it. Is it written as the app registers it?',
                why_recent.user_id, ' in app ' || why_recent.app)
            ELSE format('No event was planned for %s within the log, and none of the last thousand is for this user, who has %s, %s enabled. Name an event by its id',
                why_recent.user_id, CASE devices WHEN 1 THEN '1 device' ELSE devices || ' devices' END, enabled) END;
END
$$;
COMMENT ON FUNCTION fanfare.why_recent IS
    'The results of a user''s last events, the newest first; if there are none, one row without an event describes '
    'what is known about the user.';
GRANT EXECUTE ON FUNCTION fanfare.why_recent TO fanfare_reader;

-- Ordered by time; at the same time the event comes before its rules, and these before devices.
CREATE OR REPLACE FUNCTION fanfare.why(event_id bigint, user_id text, app text DEFAULT NULL)
RETURNS TABLE (at timestamptz, rule text, device_id bigint, provider text, attempt int, outcome text, reason text, until timestamptz, detail text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    IF why.event_id IS NOT NULL THEN
        RETURN QUERY
        SELECT w.at, w.rule, w.device_id, w.provider, w.attempt, w.outcome, w.reason, w.until, w.detail
        FROM fanfare.why_devices(why.user_id, why.app, 200) AS d
        CROSS JOIN LATERAL fanfare.why_steps(fanfare.event_of(why.event_id), why.user_id, why.app, d.ids, d.apps) AS w
        ORDER BY w.at, w.step, w.rule, w.device_id, w.attempt;
    ELSE
        RETURN QUERY
        SELECT v.at, v.rule, NULL::bigint, NULL, NULL::int, v.outcome, v.reason, v.until, coalesce('Event ' || v.event_id || ', ' || v.event_type || ': ', '') || v.detail
        FROM fanfare.why_recent(why.user_id, why.app) AS v
        ORDER BY v.event_id DESC;
    END IF;
END
$$;
COMMENT ON FUNCTION fanfare.why IS
    'Everything that happened to an event for one user, in order of time: rules that matched and that did not, '
    'devices, attempts, why deliveries wait, and what to do. Without an event, the results of the user''s last '
    'twenty, the newest first.';
GRANT EXECUTE ON FUNCTION fanfare.why TO fanfare_reader;

-- ---------------------------------------------------------------------------------------------------------------
-- 27. Functions: lookups
-- ---------------------------------------------------------------------------------------------------------------
-- For pages that show millions of logged rows. No indexes exist for them beyond those of `why`. Each function reads a
-- limited number of rows (budget) and returns where it stopped, so that the caller can continue there. None counts all
-- rows. JIT is off, because compiling a plan over 32 partitions takes longer than the rest; sequential scans are off,
-- because the planner would use them on a partition that was never analyzed.

-- The first id of an event that was emitted at a time or later. The ids of a day ascend with time, so it is a binary
-- search along the key.
CREATE OR REPLACE FUNCTION fanfare.event_id_at(at timestamptz) RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    the_day CONSTANT bigint := (event_id_at.at AT TIME ZONE 'UTC')::date - DATE '2020-01-01';
    -- Every id below `low` was emitted before that time, and no id from `high` on was.
    low bigint := the_day << 32;
    high bigint := (the_day + 1) << 32;
    middle bigint;
    next_id bigint;
    next_at timestamptz;
BEGIN
    WHILE low < high LOOP
        middle := low + (high - low) / 2;
        SELECT l.id, l.created_at INTO next_id, next_at FROM fanfare.event_log AS l
        WHERE l.day = (the_day % 32)::smallint AND l.id >= middle AND l.id < high ORDER BY l.day, l.id LIMIT 1;
        IF next_at < event_id_at.at THEN
            low := next_id + 1;
        ELSE
            high := middle;
        END IF;
    END LOOP;
    RETURN low;
END
$$;
COMMENT ON FUNCTION fanfare.event_id_at IS 'An id above all logged events before a time, and not above any logged event from that time on.';
GRANT EXECUTE ON FUNCTION fanfare.event_id_at TO fanfare_reader;

CREATE OR REPLACE FUNCTION fanfare.event_types_of(app text) RETURNS text[]
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
SELECT CASE WHEN $1 IS NOT NULL THEN ARRAY(
    SELECT DISTINCT v.event_type FROM fanfare.apps AS a
    JOIN fanfare.rules AS r ON r.app_id = a.id JOIN fanfare.rule_versions AS v ON v.rule_id = r.id
    WHERE a.name = $1) END
$$;
COMMENT ON FUNCTION fanfare.event_types_of IS
    'The types that the rules of an app match, or matched before; null for no app. An event itself belongs to no app.';

-- There are no indexes on the types, keys and fates of logged events: one call reads a limited number of rows and
-- returns where it stopped. It reads one day's partition at a time, the newest first.
CREATE OR REPLACE FUNCTION fanfare.find_events(
    before bigint DEFAULT NULL, since bigint DEFAULT NULL, of_type text DEFAULT NULL, of_key text DEFAULT NULL, of_fate text DEFAULT NULL,
    count int DEFAULT 50, budget int DEFAULT 20000, of_app text DEFAULT NULL)
RETURNS TABLE (id bigint, type text, key text, created_at timestamptz, fate text, detail text, replay_of bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    today CONSTANT bigint := (clock_timestamp() AT TIME ZONE 'UTC')::date - DATE '2020-01-01';
    upper CONSTANT bigint := least(find_events.before, (today + 2) << 32);
    lower CONSTANT bigint := greatest(find_events.since, (today - 31) << 32);
    number CONSTANT smallint := (SELECT f.fate FROM fanfare.event_fates AS f WHERE f.name = find_events.of_fate);
    -- NULL if the events of all apps are requested.
    types CONSTANT text[] := fanfare.event_types_of(find_events.of_app);
    left_to_find int := find_events.count;
    left_to_read int := find_events.budget;
    was int;
    place bigint;
    here bigint;
BEGIN
    FOR here IN SELECT d FROM generate_series((upper - 1) >> 32, lower >> 32, -1) AS d LOOP
        RETURN QUERY
        SELECT l.id, l.type, l.key, l.created_at, f.name, left(l.detail, 2000), l.replay_of
        FROM (
            SELECT x.id, x.type, x.key, x.created_at, x.fate, x.detail, x.replay_of FROM fanfare.event_log AS x
            WHERE x.day = (here % 32)::smallint AND x.id < least(upper, (here + 1) << 32) AND x.id >= greatest(lower, here << 32)
            ORDER BY x.day DESC, x.id DESC LIMIT left_to_read
        ) AS l
        JOIN fanfare.event_fates AS f ON f.fate = l.fate
        WHERE (find_events.of_type IS NULL OR l.type = find_events.of_type) AND (find_events.of_key IS NULL OR l.key = find_events.of_key)
            AND (find_events.of_fate IS NULL OR l.fate = number) AND (types IS NULL OR l.type = ANY (types))
        ORDER BY l.id DESC LIMIT left_to_find;
        GET DIAGNOSTICS was = ROW_COUNT;
        left_to_find := left_to_find - was;
        EXIT WHEN left_to_find = 0;
        SELECT count(*), min(l.id) INTO was, place FROM (
            SELECT x.id FROM fanfare.event_log AS x
            WHERE x.day = (here % 32)::smallint AND x.id < least(upper, (here + 1) << 32) AND x.id >= greatest(lower, here << 32)
            ORDER BY x.day DESC, x.id DESC LIMIT left_to_read
        ) AS l;
        left_to_read := left_to_read - was;
        IF left_to_read <= 0 THEN
            RETURN QUERY SELECT place, NULL, NULL, (
                SELECT x.created_at FROM fanfare.event_log AS x WHERE x.day = (here % 32)::smallint AND x.id = place), NULL, NULL, NULL::bigint;
            EXIT;
        END IF;
    END LOOP;
END
$$;
COMMENT ON FUNCTION fanfare.find_events IS
    'Events that were planned or refused, the newest first, with ids from `since` on and below `before`. A last row '
    'without a type means that the limit was reached; continue below its id.';
GRANT EXECUTE ON FUNCTION fanfare.find_events TO fanfare_reader;

-- Reads the queue's key backwards, since it has no index on ids. New events come after waiting ones in this order,
-- except those of a long transaction.
CREATE OR REPLACE FUNCTION fanfare.find_waiting(
    of_type text DEFAULT NULL, of_key text DEFAULT NULL, of_app text DEFAULT NULL, count int DEFAULT 50, budget int DEFAULT 20000,
    since timestamptz DEFAULT NULL, until timestamptz DEFAULT NULL, before_xid xid8 DEFAULT NULL, before bigint DEFAULT NULL)
RETURNS TABLE (id bigint, type text, key text, created_at timestamptz, detail text, replay_of bigint, xid xid8)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off AS $$
#variable_conflict use_column
DECLARE
    types CONSTANT text[] := fanfare.event_types_of(find_waiting.of_app);
    upper CONSTANT xid8 := coalesce(find_waiting.before_xid, '18446744073709551615'::xid8);
    highest CONSTANT bigint := coalesce(find_waiting.before, 9223372036854775807);
BEGIN
    RETURN QUERY
    WITH queue AS MATERIALIZED (
        SELECT o.* FROM (
            (SELECT x.xid, x.id, x.type, x.key, x.created_at, NULL AS detail, x.replay_of FROM fanfare.outbox AS x
            WHERE (x.xid, x.id) < (upper, highest) ORDER BY x.xid DESC, x.id DESC LIMIT find_waiting.budget)
            UNION ALL
            (SELECT x.xid, x.id, x.type, x.key, x.created_at, 'it is planned alone, because it may take long or fail', x.replay_of
            FROM fanfare.quarantine AS x
            WHERE (x.xid, x.id) < (upper, highest) ORDER BY x.xid DESC, x.id DESC LIMIT find_waiting.budget)
        ) AS o ORDER BY o.xid DESC, o.id DESC LIMIT find_waiting.budget
    ),
    found AS MATERIALIZED (
        SELECT q.* FROM queue AS q
        WHERE (find_waiting.of_type IS NULL OR q.type = find_waiting.of_type) AND (find_waiting.of_key IS NULL OR q.key = find_waiting.of_key)
            AND (types IS NULL OR q.type = ANY (types))
            AND (find_waiting.since IS NULL OR q.created_at >= find_waiting.since)
            AND (find_waiting.until IS NULL OR q.created_at < find_waiting.until)
        ORDER BY q.xid DESC, q.id DESC LIMIT find_waiting.count
    )
    SELECT r.id, r.type, r.key, r.created_at, r.detail, r.replay_of, r.xid FROM (
        SELECT f.id, f.type, f.key, f.created_at, f.detail, f.replay_of, f.xid FROM found AS f
        UNION ALL
        (SELECT q.id, NULL, NULL, q.created_at, NULL, NULL, q.xid FROM queue AS q
        WHERE (SELECT count(*) FROM found) < find_waiting.count AND (SELECT count(*) FROM queue) = find_waiting.budget
        ORDER BY q.xid, q.id LIMIT 1)
    ) AS r
    ORDER BY r.type IS NULL, r.xid DESC, r.id DESC;
END
$$;
COMMENT ON FUNCTION fanfare.find_waiting IS
    'Events that wait to be planned, the newest transaction first, after `before_xid` and `before`. A last row '
    'without a type means that the limit was reached; continue after it.';
GRANT EXECUTE ON FUNCTION fanfare.find_waiting TO fanfare_reader;

-- An app's are those that its `send` made, and those of types that its rules name. A user's are those in which a rule
-- finds the user.
CREATE OR REPLACE FUNCTION fanfare.find_upcoming(
    of_type text DEFAULT NULL, of_app text DEFAULT NULL, of_user text DEFAULT NULL, after_at timestamptz DEFAULT NULL, after bigint DEFAULT 0,
    count int DEFAULT 50, budget int DEFAULT 20000)
RETURNS TABLE (id bigint, at timestamptz, wall timestamp, type text, key text, ttl interval, app text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off AS $$
#variable_conflict use_column
DECLARE
    types CONSTANT text[] := fanfare.event_types_of(find_upcoming.of_app);
    the_app CONSTANT smallint := (SELECT a.id FROM fanfare.apps AS a WHERE a.name = find_upcoming.of_app);
BEGIN
    RETURN QUERY
    WITH queue AS MATERIALIZED (
        SELECT s.* FROM fanfare.scheduled AS s
        WHERE s.at >= coalesce(find_upcoming.after_at, '-infinity') AND (s.at, s.id) > (coalesce(find_upcoming.after_at, '-infinity'), find_upcoming.after)
        ORDER BY s.at, s.id LIMIT find_upcoming.budget
    ),
    paths AS MATERIALIZED (
        SELECT r.event_type, r.path FROM fanfare.apps AS a CROSS JOIN LATERAL fanfare.users_rules(a.id) AS r
        WHERE find_upcoming.of_user IS NOT NULL AND coalesce(a.id = the_app, find_upcoming.of_app IS NULL)
    ),
    found AS MATERIALIZED (
        SELECT q.* FROM queue AS q
        WHERE (find_upcoming.of_type IS NULL OR q.type = find_upcoming.of_type)
            AND (find_upcoming.of_app IS NULL OR q.app_id = the_app OR q.type = ANY (types))
            AND (find_upcoming.of_user IS NULL OR EXISTS (
                SELECT FROM paths AS p WHERE p.event_type = q.type AND fanfare.names_user(q.payload, p.path, find_upcoming.of_user)))
        ORDER BY q.at, q.id LIMIT find_upcoming.count
    )
    SELECT r.id, r.at, r.wall, r.type, r.key, r.ttl, (SELECT a.name FROM fanfare.apps AS a WHERE a.id = r.app_id) FROM (
        SELECT f.id, f.at, f.wall, f.type, f.key, f.ttl, f.app_id FROM found AS f
        UNION ALL
        (SELECT q.id, q.at, NULL, NULL, NULL, NULL, NULL FROM queue AS q
        WHERE (SELECT count(*) FROM found) < find_upcoming.count AND (SELECT count(*) FROM queue) = find_upcoming.budget
        ORDER BY q.at DESC, q.id DESC LIMIT 1)
    ) AS r
    ORDER BY r.type IS NULL, r.at, r.id;
END
$$;
COMMENT ON FUNCTION fanfare.find_upcoming IS
    'Scheduled events, the next first, after `after_at` and `after`. A last row without a type means that the limit was '
    'reached; continue after it.';
GRANT EXECUTE ON FUNCTION fanfare.find_upcoming TO fanfare_reader;

CREATE OR REPLACE FUNCTION fanfare.unplanned(depth int DEFAULT 100000, OUT events bigint, OUT oldest timestamptz, OUT is_more boolean)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
SELECT count(*), min(q.created_at), count(*) >= $1 FROM (
    (SELECT o.created_at FROM fanfare.outbox AS o LIMIT $1)
    UNION ALL
    (SELECT o.created_at FROM fanfare.quarantine AS o LIMIT $1)
) AS q
$$;
COMMENT ON FUNCTION fanfare.unplanned IS
    'How many events no daemon has planned yet, counted up to a depth, and when the oldest of these was emitted.';
GRANT EXECUTE ON FUNCTION fanfare.unplanned TO fanfare_reader;

-- Uses only the primary key: there are few types, and each is looked up.
CREATE OR REPLACE FUNCTION fanfare.events_of_key(of_key text, of_type text DEFAULT NULL)
RETURNS TABLE (id bigint, type text, created_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
WITH RECURSIVE types AS (
    SELECT (SELECT k.type FROM fanfare.event_keys AS k ORDER BY k.type, k.key LIMIT 1) AS type, 1 AS number WHERE $2 IS NULL
    UNION ALL
    SELECT (SELECT k.type FROM fanfare.event_keys AS k WHERE k.type > t.type ORDER BY k.type, k.key LIMIT 1), t.number + 1
    FROM types AS t WHERE t.type IS NOT NULL AND t.number < 2000
)
SELECT k.event_id, k.type, k.created_at
FROM (SELECT t.type FROM types AS t UNION ALL SELECT $2 WHERE $2 IS NOT NULL) AS t
CROSS JOIN LATERAL (SELECT * FROM fanfare.event_keys AS x WHERE x.type = t.type AND x.key = $1 OFFSET 0) AS k
ORDER BY k.created_at DESC LIMIT 100
$$;
COMMENT ON FUNCTION fanfare.events_of_key IS 'The events that hold a key now, of one type or of the first 2,000 types.';
GRANT EXECUTE ON FUNCTION fanfare.events_of_key TO fanfare_reader;

-- Batches of an event, logged and queued, in the order of their ids.
CREATE OR REPLACE FUNCTION fanfare.batches_of(event_id bigint, after bigint, count int)
RETURNS TABLE (id bigint, rule_version int, target_id smallint, attempt smallint, created_at timestamptz, closed_at timestamptz,
    is_shared boolean, device_ids bigint[], event_ids bigint[], outcomes bytea, details jsonb)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    last_day CONSTANT bigint := (clock_timestamp() AT TIME ZONE 'UTC')::date - DATE '2020-01-01';
    first_day CONSTANT bigint := greatest(batches_of.event_id >> 32, last_day - 31);
    days CONSTANT smallint[] := ARRAY(SELECT DISTINCT (d % 32)::smallint FROM generate_series(first_day, greatest(first_day, last_day)) AS d);
BEGIN
    RETURN QUERY
    SELECT b.* FROM (
        (SELECT l.id, l.rule_version, l.target_id, l.attempt, l.created_at, l.closed_at, false, l.device_ids, NULL::bigint[], l.outcomes, l.details
        FROM fanfare.batch_log AS l
        WHERE l.event_id = batches_of.event_id AND l.day = ANY (days) AND l.id > batches_of.after
        ORDER BY l.id LIMIT batches_of.count)
        UNION ALL
        (SELECT l.id, l.rule_version, l.target_id, l.attempt, l.created_at, l.closed_at, true, l.device_ids, l.event_ids, l.outcomes, l.details
        FROM fanfare.batch_log AS l
        WHERE l.event_id IS NULL AND int8range(l.first_event, l.last_event, '[]') @> batches_of.event_id AND l.day = ANY (days)
            AND l.id > batches_of.after
        ORDER BY l.id LIMIT batches_of.count)
        UNION ALL
        (SELECT q.id, q.rule_version, q.target_id, q.attempt, q.created_at, NULL, false, q.device_ids, NULL, q.outcomes, NULL
        FROM fanfare.batches AS q WHERE q.event_id = batches_of.event_id AND q.id > batches_of.after
        ORDER BY q.id LIMIT batches_of.count)
        UNION ALL
        -- There is no index for these: the oldest waiting batches are read.
        (SELECT q.id, q.rule_version, q.target_id, q.attempt, q.created_at, NULL, true, q.device_ids, q.event_ids, q.outcomes, NULL
        FROM (SELECT * FROM fanfare.batches AS x WHERE x.id > greatest(batches_of.after, first_day << 32) ORDER BY x.id LIMIT 2000) AS q
        WHERE q.event_id IS NULL AND batches_of.event_id = ANY (q.event_ids)
        ORDER BY q.id LIMIT batches_of.count)
    ) AS b
    ORDER BY b.id LIMIT batches_of.count;
END
$$;
COMMENT ON FUNCTION fanfare.batches_of IS
    'The next batches of an event, logged and queued, in the order of their ids. Of waiting batches of many events, '
    'only the oldest 2,000 are read.';

-- Batches whose outcomes have none of the requested codes are skipped as a whole.
CREATE OR REPLACE FUNCTION fanfare.event_pushes(
    event_id bigint, after_batch bigint DEFAULT 0, after_device bigint DEFAULT 0, of_outcome text DEFAULT NULL, of_reason text DEFAULT NULL,
    count int DEFAULT 50, budget int DEFAULT 1000)
RETURNS TABLE (batch_id bigint, device_id bigint, rule text, rule_version int, app text, provider text, environment text, user_id text,
    attempt smallint, outcome text, reason text, at timestamptz, detail text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    -- NULL if all codes are requested.
    codes CONSTANT bytea[] := CASE WHEN event_pushes.of_outcome IS NOT NULL OR event_pushes.of_reason IS NOT NULL THEN ARRAY(
        SELECT set_byte(decode('00', 'hex'), 0, c.code) FROM fanfare.outcome_codes AS c
        WHERE (event_pushes.of_outcome IS NULL OR c.outcome = event_pushes.of_outcome) AND (event_pushes.of_reason IS NULL OR c.reason = event_pushes.of_reason)) END;
    left_to_find int := event_pushes.count;
    was int;
    read int := 0;
    slice int := 16;
    place bigint := event_pushes.after_batch - 1;
    last bigint;
BEGIN
    LOOP
        slice := least(slice, event_pushes.budget - read);
        SELECT max(b.id), count(*) INTO last, was FROM fanfare.batches_of(event_pushes.event_id, place, slice) AS b;
        EXIT WHEN was = 0;
        read := read + was;
        RETURN QUERY
        SELECT p.id, p.device_id, r.name, v.version, a.name, t.provider, t.environment, d.user_id, p.attempt,
            coalesce(c.outcome, (ARRAY['pending', 'accepted', 'attempted', 'unknown', 'retrying', 'gone', 'rejected'])
                [1 + width_bucket(p.code, ARRAY[1, 2, 3, 32, 64, 96])]),
            coalesce(c.reason, 'unknown'), p.closed_at,
            coalesce(CASE
                WHEN c.outcome = 'refused' THEN p.details ->> event_pushes.event_id::text
                WHEN p.code = 1 THEN fanfare.taken_back(event_pushes.event_id, p.rule_version, p.device_id)
            END, c.meaning)
        FROM (
            SELECT b.id, b.rule_version, b.target_id, b.attempt, b.closed_at, b.details, u.device_id,
                CASE WHEN octet_length(b.outcomes) = 0 THEN 0 ELSE get_byte(b.outcomes, u.position::int - 1) END AS code
            FROM fanfare.batches_of(event_pushes.event_id, place, slice) AS b
            CROSS JOIN LATERAL unnest(b.device_ids, b.event_ids) WITH ORDINALITY AS u (device_id, event_id, position)
            WHERE (codes IS NULL OR EXISTS (SELECT FROM unnest(codes) AS k WHERE position(k IN b.outcomes) > 0))
                AND (NOT b.is_shared OR u.event_id = event_pushes.event_id)
                AND (b.id > event_pushes.after_batch OR u.device_id > event_pushes.after_device)
                AND (codes IS NULL OR octet_length(b.outcomes) > 0 AND substr(b.outcomes, u.position::int, 1) = ANY (codes))
            ORDER BY b.id, u.device_id LIMIT left_to_find
        ) AS p
        JOIN fanfare.rule_versions AS v ON v.id = p.rule_version
        JOIN fanfare.rules AS r ON r.id = v.rule_id
        JOIN fanfare.targets AS t ON t.id = p.target_id
        JOIN fanfare.apps AS a ON a.id = t.app_id
        LEFT JOIN fanfare.outcome_codes AS c ON c.code = p.code
        LEFT JOIN fanfare.devices AS d ON d.id = p.device_id
        ORDER BY p.id, p.device_id;
        GET DIAGNOSTICS was = ROW_COUNT;
        left_to_find := left_to_find - was;
        EXIT WHEN left_to_find = 0;
        place := last;
        IF read >= event_pushes.budget THEN
            RETURN QUERY SELECT last, NULL::bigint, NULL, NULL::int, NULL, NULL, NULL, NULL, NULL::smallint, NULL, NULL, NULL::timestamptz, NULL;
            EXIT;
        END IF;
        slice := slice * 4;
    END LOOP;
END
$$;
COMMENT ON FUNCTION fanfare.event_pushes IS
    'The outcomes of an event, by batch and device. A last row without a device means that the limit was reached; '
    'continue after its batch.';
GRANT EXECUTE ON FUNCTION fanfare.event_pushes TO fanfare_reader;

-- Counts each outcome without unnesting the bytes: bytes other than `accepted` are concatenated as text, one or four
-- characters for each, and each code is counted in that text.
CREATE OR REPLACE FUNCTION fanfare.event_outcomes(event_id bigint, after_batch bigint DEFAULT 0, budget int DEFAULT 500)
RETURNS TABLE (app text, rule text, provider text, environment text, attempt smallint, outcome text, reason text, deliveries bigint, batches bigint,
    first_at timestamptz, last_at timestamptz, last_batch bigint, advice text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
WITH read AS MATERIALIZED (
    SELECT b.id, b.rule_version, b.target_id, b.attempt, b.created_at, b.closed_at, CASE
        WHEN b.is_shared THEN (
            SELECT string_agg(CASE WHEN octet_length(b.outcomes) = 0 THEN decode('00', 'hex') ELSE substr(b.outcomes, u.position::int, 1) END, ''::bytea)
            FROM unnest(b.event_ids) WITH ORDINALITY AS u (event_id, position) WHERE u.event_id = $1)
        WHEN octet_length(b.outcomes) = 0 THEN decode(repeat('00', cardinality(b.device_ids)), 'hex')
        ELSE b.outcomes END AS outcomes
    FROM fanfare.batches_of($1, $2, $3) AS b
),
grouped AS MATERIALIZED (
    SELECT rule_version, target_id, least(attempt, 2) AS attempt, sum(octet_length(outcomes)) AS deliveries, count(*) AS batches,
        min(created_at) AS first_at, max(closed_at) AS last_at,
        string_agg(replace(encode(outcomes, 'escape'), chr(1), ''), '') AS others
    FROM read WHERE outcomes IS NOT NULL GROUP BY 1, 2, 3
),
parted AS MATERIALIZED (
    SELECT g.*, p.plain, length(p.plain) + (length(g.others) - length(p.plain)) / 4 AS unlike_accepted
    FROM grouped AS g CROSS JOIN LATERAL (SELECT regexp_replace(g.others, E'\\\\[0-7]{3}', '', 'g') AS plain) AS p
),
counted AS (
    SELECT g.rule_version, g.target_id, g.attempt, c.code, (length(k.place) - length(replace(k.place, k.text, ''))) / length(k.text) AS deliveries
    FROM parted AS g CROSS JOIN fanfare.outcome_codes AS c
    CROSS JOIN LATERAL (SELECT encode(set_byte(decode('00', 'hex'), 0, c.code), 'escape') AS text,
        CASE WHEN c.code BETWEEN 1 AND 127 THEN g.plain ELSE g.others END AS place) AS k
    WHERE c.code <> 1 AND position(k.text IN k.place) > 0
),
all_of_them AS (
    SELECT * FROM counted
    UNION ALL
    SELECT g.rule_version, g.target_id, g.attempt, 1, g.deliveries - g.unlike_accepted FROM parted AS g
    UNION ALL
    -- Codes that only a newer version knows.
    SELECT g.rule_version, g.target_id, g.attempt, NULL, g.unlike_accepted - coalesce((
        SELECT sum(c.deliveries) FROM counted AS c
        WHERE c.rule_version = g.rule_version AND c.target_id = g.target_id AND c.attempt = g.attempt), 0)
    FROM parted AS g
)
SELECT a.name, r.name, t.provider, t.environment, x.attempt::smallint, coalesce(c.outcome, 'unknown'), coalesce(c.reason, 'unknown'), x.deliveries::bigint,
    g.batches, g.first_at, g.last_at, (SELECT max(id) FROM read),
    concat_ws(' ', nullif(c.meaning, ''), fanfare.outcome_advice(c.outcome, c.reason) || '.')
FROM all_of_them AS x JOIN grouped AS g USING (rule_version, target_id, attempt)
JOIN fanfare.rule_versions AS v ON v.id = x.rule_version JOIN fanfare.rules AS r ON r.id = v.rule_id
JOIN fanfare.targets AS t ON t.id = x.target_id JOIN fanfare.apps AS a ON a.id = t.app_id
LEFT JOIN fanfare.outcome_codes AS c ON c.code = x.code
WHERE x.deliveries > 0
ORDER BY a.name, r.name, t.provider, t.environment, x.attempt, x.deliveries DESC
$$;
COMMENT ON FUNCTION fanfare.event_outcomes IS
    'How often each outcome occurred for an event, in a limited number of batches; last_batch is where it stopped.';
GRANT EXECUTE ON FUNCTION fanfare.event_outcomes TO fanfare_reader;

-- The same counts as fanfare.variants, but for a limited number of batches per call. Groups are drawn by user, so the
-- shares of a part are close to those of the whole.
CREATE OR REPLACE FUNCTION fanfare.event_variants(event_id bigint, after_batch bigint DEFAULT 0, budget int DEFAULT 20)
RETURNS TABLE (rule text, variant text, outcome text, reason text, count bigint, last_batch bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
WITH read AS MATERIALIZED (
    SELECT b.id, b.rule_version, b.closed_at, b.is_shared, b.device_ids, b.event_ids, b.outcomes FROM fanfare.batches_of($1, $2, $3) AS b
),
deliveries AS (
    SELECT b.rule_version, u.device_id, x.code
    FROM read AS b CROSS JOIN LATERAL unnest(b.device_ids, b.event_ids) WITH ORDINALITY AS u (device_id, event_id, position)
    CROSS JOIN LATERAL (SELECT CASE WHEN octet_length(b.outcomes) = 0 THEN 0 ELSE get_byte(b.outcomes, u.position::int - 1) END AS code) AS x
    -- A delivery that was retried is counted in a later batch.
    WHERE (NOT b.is_shared OR u.event_id = $1) AND (b.closed_at IS NULL OR x.code NOT BETWEEN 32 AND 63)
),
divided AS MATERIALIZED (
    SELECT v.id, g.seed, g.holdout, g.names, g.upto
    FROM fanfare.rule_versions AS v CROSS JOIN LATERAL fanfare.rule_groups(v.definition::jsonb) AS g
    WHERE v.id IN (SELECT rule_version FROM read) AND (g.holdout > 0 OR g.names IS NOT NULL)
),
counted AS (
    SELECT p.rule_version, p.code, CASE WHEN p.code = 14 THEN 'holdout' ELSE x.variant END AS variant, count(*) AS count
    FROM deliveries AS p
    LEFT JOIN divided AS g ON g.id = p.rule_version
    LEFT JOIN LATERAL (
        SELECT fanfare.group_of(g.seed, g.holdout, g.names, g.upto, coalesce(d.user_id, 'device:' || d.id)) AS variant
        FROM fanfare.devices AS d WHERE d.id = p.device_id OFFSET 0
    ) AS x ON g.id IS NOT NULL
    GROUP BY 1, 2, 3
)
SELECT r.name, c.variant, coalesce(o.outcome, 'unknown'), coalesce(o.reason, 'unknown'), sum(c.count)::bigint, (SELECT max(id) FROM read)
FROM counted AS c JOIN fanfare.rule_versions AS v ON v.id = c.rule_version JOIN fanfare.rules AS r ON r.id = v.rule_id
LEFT JOIN fanfare.outcome_codes AS o ON o.code = c.code
GROUP BY 1, 2, 3, 4
UNION ALL
SELECT NULL, NULL, NULL, NULL, 0, max(id) FROM read HAVING count(*) > 0
$$;
COMMENT ON FUNCTION fanfare.event_variants IS
    'How often each outcome occurred for each variant, in a limited number of batches. A last row without a rule, '
    'which covers all batches read, means that the limit was reached; continue after last_batch.';
GRANT EXECUTE ON FUNCTION fanfare.event_variants TO fanfare_reader;

-- For a page of a list. Of an event with many batches, the first and the last few are counted; a campaign's run has the
-- counts of its gates. A delivery that was retried is counted in its last batch. A batch that is held
-- (RetryHistory.Marks.held) waits for the end of quiet hours or of a snooze.
CREATE OR REPLACE FUNCTION fanfare.event_ends(event_ids bigint[], depth int DEFAULT 3)
RETURNS TABLE (event_id bigint, outcome text, reason text, deliveries bigint, is_part boolean)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
WITH asked AS MATERIALIZED (
    SELECT DISTINCT u.id, fanfare.ring_day(u.id) AS day, ((u.id >> 32) + 1) % 32 AS next_day FROM unnest($1) AS u (id)
),
runs AS MATERIALIZED (
    SELECT o.event_id, o.id, o.state, o.planned FROM fanfare.runs AS o WHERE o.event_id = ANY ($1) AND o.gate_id IS NOT NULL
),
gated AS MATERIALIZED (
    SELECT r.event_id, y.outcome AS code, sum(y.deliveries) AS deliveries
    FROM runs AS r JOIN fanfare.gates AS g ON g.run_id = r.id
    CROSS JOIN LATERAL (
        SELECT s.outcome, s.deliveries FROM fanfare.gate_stats AS s WHERE s.gate_id = g.id
        UNION ALL
        SELECT p.outcome, p.deliveries FROM fanfare.stats_pending AS p WHERE p.gate_id = g.id AND p.gate_id <> 0
    ) AS y
    WHERE y.outcome NOT IN (0, 2) AND y.outcome NOT BETWEEN 32 AND 63
    GROUP BY 1, 2
),
own AS MATERIALIZED (
    SELECT a.id, b.outcomes, b.size, b.is_closed, b.is_held,
        -- One more batch than is counted shows that there are more.
        CASE WHEN b.from_end <= $2 THEN 0 ELSE b.from_begin END AS number
    FROM asked AS a
    CROSS JOIN LATERAL (
        SELECT x.*, row_number() OVER (ORDER BY x.id) AS from_begin, row_number() OVER (ORDER BY x.id DESC) AS from_end FROM (
            (SELECT l.id, l.outcomes, cardinality(l.device_ids) AS size, true AS is_closed, false AS is_held FROM fanfare.batch_log AS l
            WHERE l.event_id = a.id ORDER BY l.id LIMIT $2 + 1)
            UNION
            (SELECT l.id, l.outcomes, cardinality(l.device_ids), true, false FROM fanfare.batch_log AS l
            WHERE l.event_id = a.id ORDER BY l.id DESC LIMIT $2)
            UNION
            (SELECT q.id, q.outcomes, cardinality(q.device_ids), false, q.history & (32 << 16) <> 0 AND q.not_before > now() FROM fanfare.batches AS q
            WHERE q.event_id = a.id ORDER BY q.id LIMIT $2 + 1)
        ) AS x
    ) AS b
    WHERE a.id NOT IN (SELECT r.event_id FROM runs AS r)
),
codes AS (
    SELECT o.id, x.code, o.is_closed
    FROM own AS o CROSS JOIN LATERAL generate_series(0, o.size - 1) AS n (position)
    CROSS JOIN LATERAL (SELECT CASE WHEN o.is_held THEN 47 WHEN octet_length(o.outcomes) = 0 THEN 0 ELSE get_byte(o.outcomes, n.position) END AS code) AS x
    WHERE o.number <= $2
    UNION ALL
    SELECT a.id, get_byte(b.outcomes, b.position::int - 1), true
    FROM asked AS a
    CROSS JOIN LATERAL (
        SELECT l.outcomes, u.position FROM fanfare.batch_log AS l CROSS JOIN LATERAL unnest(l.event_ids) WITH ORDINALITY AS u (event_id, position)
        WHERE l.event_id IS NULL AND int8range(l.first_event, l.last_event, '[]') @> a.id AND u.event_id = a.id
            AND l.day = ANY (ARRAY[a.day, a.next_day::smallint])
        LIMIT 1000
    ) AS b
    UNION ALL
    -- There is no index for these: the oldest waiting batches are read.
    SELECT u.event_id, CASE WHEN q.history & (32 << 16) <> 0 AND q.not_before > now() THEN 47
        WHEN octet_length(q.outcomes) = 0 THEN 0 ELSE get_byte(q.outcomes, u.position::int - 1) END, false
    FROM (SELECT * FROM fanfare.batches AS x ORDER BY x.id LIMIT 200) AS q
    CROSS JOIN LATERAL unnest(q.event_ids) WITH ORDINALITY AS u (event_id, position)
    WHERE q.event_id IS NULL AND u.event_id IN (SELECT a.id FROM asked AS a)
),
counted AS (
    SELECT c.id, c.code, count(*) AS deliveries FROM codes AS c WHERE NOT (c.is_closed AND c.code BETWEEN 32 AND 63) GROUP BY 1, 2
    UNION ALL
    SELECT g.event_id, g.code, g.deliveries FROM gated AS g
    UNION ALL
    SELECT r.event_id, 0, greatest(1, r.planned - coalesce((SELECT sum(g.deliveries) FROM gated AS g WHERE g.event_id = r.event_id), 0))
    FROM runs AS r WHERE r.state IN ('running', 'aborting')
)
SELECT c.id, coalesce(o.outcome, 'unknown'), coalesce(o.reason, 'unknown'), sum(c.deliveries)::bigint,
    EXISTS (SELECT FROM own AS w WHERE w.id = c.id AND w.number > $2)
FROM counted AS c LEFT JOIN fanfare.outcome_codes AS o ON o.code = c.code
GROUP BY 1, 2, 3
UNION ALL
-- A gathered event has no push of its own: it is part of a later one.
SELECT l.id, 'gathered', 'gather', 1, false FROM asked AS a JOIN fanfare.event_log AS l ON l.day = ANY (ARRAY[a.day]) AND l.id = a.id
WHERE l.fate = 1 AND a.id NOT IN (SELECT c.id FROM counted AS c) AND EXISTS (
    SELECT FROM fanfare.rule_versions AS v
    WHERE v.event_type = l.type AND v.audience = 'gather' AND v.state = 'active' AND v.created_at <= l.created_at
        AND (v.retired_at IS NULL OR v.retired_at > l.created_at))
UNION ALL
-- Planned without a recipient: no device, or none that is enabled.
SELECT l.id, 'not_reached', 'no_device', 0, false FROM asked AS a JOIN fanfare.event_log AS l ON l.day = ANY (ARRAY[a.day]) AND l.id = a.id
WHERE l.fate = 1 AND a.id NOT IN (SELECT c.id FROM counted AS c)
    AND NOT EXISTS (SELECT FROM fanfare.rule_versions AS v WHERE v.event_type = l.type AND v.audience = 'gather')
    AND NOT EXISTS (SELECT FROM fanfare.plans AS p WHERE p.event_id = l.id)
    AND NOT EXISTS (SELECT FROM fanfare.audience_queries AS q WHERE q.event_id = l.id)
    AND NOT EXISTS (SELECT FROM fanfare.runs AS o WHERE o.event_id = l.id AND o.state IN ('running', 'aborting'))
    -- All waiting batches were read above.
    AND (SELECT count(*) FROM (SELECT FROM fanfare.batches AS b LIMIT 201) AS b) <= 200
$$;
COMMENT ON FUNCTION fanfare.event_ends IS
    'How often each outcome occurred for each of some events, recipients and not attempts; is_part if an event has '
    'more batches than were counted. `gathered` is an event that is part of a later push, `not_reached` one that was '
    'planned for no device.';
GRANT EXECUTE ON FUNCTION fanfare.event_ends TO fanfare_reader;

-- Found by the devices, as in recent_events; for a user with too many pushes a day to sort, the log is read along its
-- key.
CREATE OR REPLACE FUNCTION fanfare.user_pushes(
    of_user text, of_app text DEFAULT NULL, before bigint DEFAULT NULL, count int DEFAULT 50, budget int DEFAULT 2000)
RETURNS TABLE (batch_id bigint, event_id bigint, device_id bigint, event_type text, rule text, rule_version int, app text, provider text,
    environment text, attempt smallint, outcome text, reason text, at timestamptz, detail text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    today CONSTANT bigint := (clock_timestamp() AT TIME ZONE 'UTC')::date - DATE '2020-01-01';
    upper CONSTANT bigint := least(user_pushes.before, (today + 2) << 32);
    devices CONSTANT bigint[] := ARRAY(
        SELECT d.id FROM fanfare.devices AS d
        WHERE d.app_id = ANY (ARRAY(SELECT a.id FROM fanfare.apps AS a WHERE user_pushes.of_app IS NULL OR a.name = user_pushes.of_app))
            AND d.user_id = user_pushes.of_user
        ORDER BY d.id DESC LIMIT 200);
    lowest CONSTANT bigint := (SELECT min(d) FROM unnest(devices) AS d);
    highest CONSTANT bigint := (SELECT max(d) FROM unnest(devices) AS d);
    left_to_find int := user_pushes.count;
    left_to_read int := user_pushes.budget;
    found bigint[];
    was int;
    place bigint;
    here bigint;
BEGIN
    IF cardinality(devices) = 0 THEN
        RETURN;
    END IF;
    IF user_pushes.before IS NULL THEN
        -- Waiting and in-flight deliveries. There is no index on waiting batches of many events, so the oldest are
        -- read.
        RETURN QUERY
        SELECT p.id, p.event_id, p.device_id, v.event_type, r.name, v.version, a.name, t.provider, t.environment, p.attempt,
            coalesce(c.outcome, 'unknown'), coalesce(c.reason, 'unknown'), NULL::timestamptz, c.meaning
        FROM (
            SELECT b.id, coalesce(b.event_id, b.event_ids[y.position]) AS event_id, d.id AS device_id, b.rule_version, b.target_id, b.attempt,
                CASE WHEN octet_length(b.outcomes) = 0 THEN 0 ELSE get_byte(b.outcomes, y.position - 1) END AS code
            FROM unnest(devices) AS d (id)
            CROSS JOIN LATERAL (
                (SELECT q.* FROM fanfare.batches AS q
                WHERE q.event_id IS NOT NULL AND int8range(q.device_ids[1], q.device_ids[cardinality(q.device_ids)], '[]') @> d.id
                LIMIT user_pushes.count)
                UNION ALL
                SELECT q.* FROM (SELECT x.* FROM fanfare.batches AS x ORDER BY x.id LIMIT 2000) AS q
                WHERE q.event_id IS NULL AND d.id BETWEEN q.device_ids[1] AND q.device_ids[cardinality(q.device_ids)]
            ) AS b
            CROSS JOIN LATERAL unnest(array_positions(b.device_ids, d.id)) AS y (position)
            ORDER BY b.id DESC, d.id DESC LIMIT left_to_find
        ) AS p
        JOIN fanfare.rule_versions AS v ON v.id = p.rule_version
        JOIN fanfare.rules AS r ON r.id = v.rule_id
        JOIN fanfare.targets AS t ON t.id = p.target_id
        JOIN fanfare.apps AS a ON a.id = t.app_id
        LEFT JOIN fanfare.outcome_codes AS c ON c.code = p.code
        ORDER BY p.id DESC, p.device_id DESC;
        GET DIAGNOSTICS was = ROW_COUNT;
        -- Returned in addition: a page of the log begins where the log does.
        left_to_find := greatest(left_to_find - was, 1);
    END IF;
    FOR here IN SELECT d FROM generate_series((upper - 1) >> 32, today - 31, -1) AS d LOOP
        -- The batches that contain one of the devices, for each device at most as many as may be read.
        SELECT array_agg(DISTINCT b.id ORDER BY b.id DESC) FILTER (WHERE b.id < upper AND b.id >= here << 32), count(*) INTO found, was
        FROM unnest(devices) AS d (id)
        CROSS JOIN LATERAL (
            (SELECT l.id FROM fanfare.batch_log AS l
            WHERE l.day = (here % 32)::smallint AND l.event_id IS NOT NULL AND int8range(l.first_device, l.last_device, '[]') @> d.id
            LIMIT left_to_read + 1)
            UNION ALL
            (SELECT l.id FROM fanfare.batch_log AS l
            WHERE l.day = (here % 32)::smallint AND l.event_id IS NULL AND int8range(l.first_device, l.last_device, '[]') @> d.id
            LIMIT left_to_read + 1)
        ) AS b;
        IF was > left_to_read THEN
            -- Too many to fetch and sort: read along the key, from the newest.
            SELECT array_agg(l.id ORDER BY l.id DESC) FILTER (WHERE l.first_device <= highest AND l.last_device >= lowest), count(*), min(l.id)
            INTO found, was, place
            FROM (
                SELECT x.id, x.first_device, x.last_device FROM fanfare.batch_log AS x
                WHERE x.day = (here % 32)::smallint AND x.id < least(upper, (here + 1) << 32) AND x.id >= here << 32
                ORDER BY x.day DESC, x.id DESC LIMIT left_to_read
            ) AS l;
            IF was < left_to_read THEN
                place := NULL;
            END IF;
        ELSE
            place := NULL;
        END IF;
        left_to_read := left_to_read - was;
        RETURN QUERY
        SELECT p.id, p.event_id, p.device_id, v.event_type, r.name, v.version, a.name, t.provider, t.environment, p.attempt,
            coalesce(c.outcome, (ARRAY['pending', 'accepted', 'attempted', 'unknown', 'retrying', 'gone', 'rejected'])
                [1 + width_bucket(p.code, ARRAY[1, 2, 3, 32, 64, 96])]),
            coalesce(c.reason, 'unknown'), p.closed_at,
            coalesce(CASE
                WHEN c.outcome = 'refused' THEN p.details ->> p.event_id::text
                WHEN p.code = 1 THEN coalesce(fanfare.taken_back(p.event_id, p.rule_version, p.device_id),
                    'The provider accepted the push, and the device reported: '
                        || nullif(array_to_string(fanfare.reports_of(p.id, p.event_id, p.device_id), ', '), '') || '.')
            END, c.meaning)
        FROM (
            SELECT l.id, coalesce(l.event_id, u.event_id) AS event_id, u.device_id, l.rule_version, l.target_id, l.attempt, l.closed_at, l.details,
                get_byte(l.outcomes, u.position - 1) AS code
            FROM unnest(found) AS f (id)
            CROSS JOIN LATERAL (
                SELECT * FROM fanfare.batch_log AS x WHERE x.day = (here % 32)::smallint AND x.id = f.id
                    AND (x.device_marks IS NULL OR EXISTS (SELECT FROM unnest(devices) AS d WHERE fanfare.may_hold(x.device_marks, d)))
                OFFSET 0
            ) AS l
            CROSS JOIN LATERAL (
                SELECT d.id AS device_id, l.event_ids[y.position] AS event_id, y.position
                FROM unnest(devices) AS d (id) CROSS JOIN LATERAL unnest(array_positions(l.device_ids, d.id)) AS y (position)
                WHERE d.id BETWEEN l.first_device AND l.last_device AND (l.event_id IS NOT NULL OR fanfare.may_hold(l.device_marks, d.id))
                -- A stable order, because a page may end in the middle of a batch.
                ORDER BY d.id DESC, 2 DESC OFFSET 0
            ) AS u
            LIMIT left_to_find
        ) AS p
        JOIN fanfare.rule_versions AS v ON v.id = p.rule_version
        JOIN fanfare.rules AS r ON r.id = v.rule_id
        JOIN fanfare.targets AS t ON t.id = p.target_id
        JOIN fanfare.apps AS a ON a.id = t.app_id
        LEFT JOIN fanfare.outcome_codes AS c ON c.code = p.code
        ORDER BY p.id DESC, p.device_id DESC, p.event_id DESC;
        GET DIAGNOSTICS was = ROW_COUNT;
        left_to_find := left_to_find - was;
        EXIT WHEN left_to_find <= 0;
        IF place IS NOT NULL OR left_to_read <= 0 THEN
            RETURN QUERY SELECT coalesce(place, here << 32), NULL::bigint, NULL::bigint, NULL, NULL, NULL::int, NULL, NULL, NULL, NULL::smallint, NULL, NULL,
                timestamptz '2020-01-01 00:00 UTC' + here * interval '1 day', NULL;
            EXIT;
        END IF;
    END LOOP;
END
$$;
COMMENT ON FUNCTION fanfare.user_pushes IS
    'The pushes to the last 200 devices of a user, the newest batches first, with ids below `before`. A last row '
    'without an event means that the limit was reached; continue below its batch.';
GRANT EXECUTE ON FUNCTION fanfare.user_pushes TO fanfare_reader;

-- Steps from one kind of batch to the next along the claim index. It reads up to `depth` batches of each kind, and
-- counts the deliveries of the first fifty.
CREATE OR REPLACE FUNCTION fanfare.backlog(depth int DEFAULT 2000)
RETURNS TABLE (app text, provider text, environment text, lane smallint, gate_id int, is_retry boolean, batches bigint, is_more boolean, deliveries bigint, due_batches bigint, next_at timestamptz, oldest timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
WITH RECURSIVE heads AS (
    (SELECT q.gate_id, q.target_id, q.lane, q.is_retry, 1 AS number FROM fanfare.batches AS q WHERE q.lease_token IS NULL
    ORDER BY q.gate_id, q.target_id, q.lane, q.is_retry LIMIT 1)
    UNION ALL
    SELECT n.gate_id, n.target_id, n.lane, n.is_retry, h.number + 1
    FROM heads AS h CROSS JOIN LATERAL (
        SELECT q.gate_id, q.target_id, q.lane, q.is_retry FROM fanfare.batches AS q
        WHERE q.lease_token IS NULL AND (q.gate_id, q.target_id, q.lane, q.is_retry) > (h.gate_id, h.target_id, h.lane, h.is_retry)
        ORDER BY q.gate_id, q.target_id, q.lane, q.is_retry LIMIT 1
    ) AS n
    WHERE h.number < 500
)
SELECT a.name, t.provider, t.environment, h.lane, h.gate_id, h.is_retry, b.batches, b.batches = $1,
    CASE WHEN b.batches <= p.looked THEN p.deliveries ELSE (b.batches * p.deliveries::float8 / p.looked)::bigint END, b.due, b.next_at, p.oldest
FROM heads AS h
CROSS JOIN LATERAL (
    SELECT count(*) AS batches, count(*) FILTER (WHERE x.not_before <= now()) AS due, min(x.not_before) AS next_at FROM (
        SELECT q.not_before FROM fanfare.batches AS q
        WHERE q.lease_token IS NULL AND q.gate_id = h.gate_id AND q.target_id = h.target_id AND q.lane = h.lane AND q.is_retry = h.is_retry
        ORDER BY q.not_before, q.id LIMIT $1
    ) AS x
) AS b
CROSS JOIN LATERAL (
    SELECT count(*) AS looked, sum(cardinality(x.device_ids)) AS deliveries, min(x.created_at) AS oldest FROM (
        SELECT q.device_ids, q.created_at FROM fanfare.batches AS q
        WHERE q.lease_token IS NULL AND q.gate_id = h.gate_id AND q.target_id = h.target_id AND q.lane = h.lane AND q.is_retry = h.is_retry
        ORDER BY q.not_before, q.id LIMIT 50
    ) AS x
) AS p
JOIN fanfare.targets AS t ON t.id = h.target_id JOIN fanfare.apps AS a ON a.id = t.app_id
ORDER BY a.name, t.provider, t.environment, h.lane, h.gate_id, h.is_retry
$$;
COMMENT ON FUNCTION fanfare.backlog IS
    'An estimate of the deliveries that wait to be claimed: if is_more there are more batches than these, and '
    'deliveries are extrapolated from the first fifty batches.';
GRANT EXECUTE ON FUNCTION fanfare.backlog TO fanfare_reader;

-- By recipients' time each zone is due at its own instant. A limited number of batches is read, and the sizes of the
-- first twenty for each instant and target.
CREATE OR REPLACE FUNCTION fanfare.campaign_waves(of_run bigint, budget int DEFAULT 5000)
RETURNS TABLE (due_at timestamptz, deliveries bigint, is_exact boolean)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
WITH seen AS (
    SELECT b.id, date_trunc('minute', b.not_before) AS due_at, b.target_id FROM fanfare.batches AS b
    WHERE b.lease_token IS NULL AND NOT b.is_retry AND b.gate_id = ANY (ARRAY(
        SELECT g.id FROM fanfare.gates AS g WHERE g.run_id = $1 AND g.state <> 'done'))
    LIMIT $2
), kinds AS (
    SELECT s.due_at, count(*) AS batches, (array_agg(s.id))[:20] AS first FROM seen AS s GROUP BY s.due_at, s.target_id
)
SELECT k.due_at, sum(CASE WHEN k.batches <= 20 THEN f.deliveries ELSE (k.batches * f.deliveries::float8 / 20)::bigint END)::bigint,
    bool_and(k.batches <= 20) AND (SELECT count(*) FROM seen) < $2
FROM kinds AS k
CROSS JOIN LATERAL (SELECT sum(cardinality(b.device_ids)) AS deliveries FROM fanfare.batches AS b WHERE b.id = ANY (k.first)) AS f
GROUP BY k.due_at
ORDER BY k.due_at
LIMIT 100
$$;
COMMENT ON FUNCTION fanfare.campaign_waves IS
    'An estimate of a run''s waiting deliveries, by the minute when they are due: with more than twenty batches for '
    'an instant and target, the rest are extrapolated from these.';
GRANT EXECUTE ON FUNCTION fanfare.campaign_waves TO fanfare_reader;

CREATE OR REPLACE FUNCTION fanfare.last_deliveries(budget int DEFAULT 10000)
RETURNS TABLE (event_id bigint, created_at timestamptz, rule_id int, device_id bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    today CONSTANT bigint := (clock_timestamp() AT TIME ZONE 'UTC')::date - DATE '2020-01-01';
    left_to_read int := last_deliveries.budget;
    was int;
    here bigint;
BEGIN
    -- A batch may get its id before midnight and be closed after it.
    FOR here IN SELECT d FROM generate_series(today + 1, today - 31, -1) AS d LOOP
        RETURN QUERY
        SELECT p.event_id, e.created_at, v.rule_id, p.device_id
        FROM (
            SELECT coalesce(l.event_id, u.event_id) AS event_id, l.rule_version, u.device_id
            FROM (
                SELECT x.event_id, x.event_ids, x.device_ids, x.rule_version FROM fanfare.batch_log AS x
                WHERE x.day = (here % 32)::smallint AND x.id < (here + 1) << 32 AND x.id >= here << 32
                ORDER BY x.day DESC, x.id DESC LIMIT left_to_read
            ) AS l
            CROSS JOIN LATERAL unnest(l.device_ids, l.event_ids) AS u (device_id, event_id)
            LIMIT left_to_read
        ) AS p
        JOIN fanfare.rule_versions AS v ON v.id = p.rule_version
        CROSS JOIN LATERAL (
            SELECT l.created_at FROM fanfare.event_log AS l WHERE l.day = fanfare.ring_day(p.event_id) AND l.id = p.event_id OFFSET 0
        ) AS e;
        GET DIAGNOSTICS was = ROW_COUNT;
        left_to_read := left_to_read - was;
        EXIT WHEN left_to_read <= 0;
    END LOOP;
END
$$;
COMMENT ON FUNCTION fanfare.last_deliveries IS
    'The last deliveries sent, the newest batches first, with the columns from which a delivery''s id is computed, '
    'since the id is not stored.';
GRANT EXECUTE ON FUNCTION fanfare.last_deliveries TO fanfare_reader;

CREATE OR REPLACE FUNCTION fanfare.unsent(event_ids bigint[], depth int DEFAULT 1000)
RETURNS TABLE (event_id bigint, is_waiting boolean, is_planning boolean, batches bigint, is_more boolean, deliveries bigint, in_flight bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
WITH waiting AS MATERIALIZED (
    SELECT o.id FROM (SELECT x.id FROM fanfare.outbox AS x ORDER BY x.xid, x.id LIMIT 20000) AS o WHERE o.id = ANY ($1)
    UNION ALL
    SELECT o.id FROM fanfare.quarantine AS o WHERE o.id = ANY ($1)
),
looked AS MATERIALIZED (
    SELECT count(*) > 2000 AS is_cut FROM (SELECT FROM fanfare.batches AS x LIMIT 2001) AS x
),
shared AS MATERIALIZED (
    SELECT u.event_id, count(*) AS deliveries, count(*) FILTER (WHERE q.owner IS NOT NULL) AS in_flight
    FROM (SELECT x.event_id, x.event_ids, x.owner FROM fanfare.batches AS x ORDER BY x.id LIMIT 2000) AS q
    CROSS JOIN LATERAL unnest(q.event_ids) AS u (event_id)
    WHERE q.event_id IS NULL AND u.event_id = ANY ($1)
    GROUP BY u.event_id
)
SELECT e.id, EXISTS (SELECT FROM waiting AS w WHERE w.id = e.id), EXISTS (SELECT FROM fanfare.plans AS p WHERE p.event_id = e.id),
    b.batches, b.batches = $2 OR (SELECT k.is_cut FROM looked AS k), b.deliveries + coalesce(s.deliveries, 0), b.in_flight + coalesce(s.in_flight, 0)
FROM unnest($1) AS e (id)
CROSS JOIN LATERAL (
    SELECT count(*) AS batches, coalesce(sum(cardinality(x.device_ids)), 0) AS deliveries,
        coalesce(sum(cardinality(x.device_ids)) FILTER (WHERE x.owner IS NOT NULL), 0) AS in_flight
    FROM (SELECT q.device_ids, q.owner FROM fanfare.batches AS q WHERE q.event_id = e.id LIMIT $2) AS x
) AS b
LEFT JOIN shared AS s ON s.event_id = e.id
$$;
COMMENT ON FUNCTION fanfare.unsent IS
    'What a cancellation of these events would still stop; if is_more there may be more than this, even if this is '
    'nothing. Of waiting batches of many events, the oldest 2,000 with 20,000 events are read.';
GRANT EXECUTE ON FUNCTION fanfare.unsent TO fanfare_reader;

-- ---------------------------------------------------------------------------------------------------------------
-- 28. Functions: reports
-- ---------------------------------------------------------------------------------------------------------------
-- What devices report of the pushes that they got. A push has a handle, which proves that this installation made it. A
-- report names the handle, and its sender proves which device it is.

CREATE OR REPLACE FUNCTION fanfare.report_mac(inner_pad bytea, outer_pad bytea, message bytea) RETURNS bytea
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT sha256(outer_pad || sha256(inner_pad || message));
END;
COMMENT ON FUNCTION fanfare.report_mac IS 'HMAC-SHA-256 with a key of report_keys.';

CREATE OR REPLACE FUNCTION fanfare.rotate_report_keys(void_old boolean DEFAULT false) RETURNS smallint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    made smallint;
    secret bytea := sha256(convert_to(gen_random_uuid()::text || gen_random_uuid()::text, 'UTF8'));
    inner_pad bytea := decode(repeat('36', 64), 'hex');
    outer_pad bytea := decode(repeat('5c', 64), 'hex');
BEGIN
    -- Two rotations at once would choose the same id.
    LOCK TABLE fanfare.report_keys IN SHARE ROW EXCLUSIVE MODE;
    IF rotate_report_keys.void_old THEN
        DELETE FROM fanfare.report_keys;
    ELSE
        DELETE FROM fanfare.report_keys AS k WHERE k.retired_at < clock_timestamp() - interval '90 days';
    END IF;
    UPDATE fanfare.report_keys AS k SET retired_at = clock_timestamp() WHERE k.retired_at IS NULL;
    SELECT min(n) INTO made FROM generate_series(1, 255) AS n WHERE n <> ALL (ARRAY(SELECT k.id FROM fanfare.report_keys AS k));
    IF made IS NULL THEN
        RAISE EXCEPTION 'there are 255 keys of reports already' USING ERRCODE = '54000',
            HINT = 'A retired key is deleted by a rotation 90 days later. rotate_report_keys(true) voids all keys at once.';
    END IF;
    FOR i IN 0..31 LOOP
        inner_pad := set_byte(inner_pad, i, get_byte(secret, i) # 54);
        outer_pad := set_byte(outer_pad, i, get_byte(secret, i) # 92);
    END LOOP;
    INSERT INTO fanfare.report_keys (id, secret, inner_pad, outer_pad) VALUES (made, secret, inner_pad, outer_pad);
    RETURN made;
END
$$;
COMMENT ON FUNCTION fanfare.rotate_report_keys IS
    'Makes a new key for handles and report keys, and returns its id. The older keys verify for 90 days more; with true, they are void at once.';

SELECT fanfare.rotate_report_keys() WHERE NOT EXISTS (SELECT FROM fanfare.report_keys);

-- The epoch is when the device was enabled for its user: disabling or reassigning the device makes the key void.
CREATE OR REPLACE FUNCTION fanfare.report_key_bytes(inner_pad bytea, outer_pad bytea, device_id bigint, epoch timestamptz) RETURNS bytea
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT substr(fanfare.report_mac(inner_pad, outer_pad,
        decode('64', 'hex') || int8send(device_id) || int8send((extract(epoch FROM epoch) * 1000000)::bigint)), 1, 16);
END;
COMMENT ON FUNCTION fanfare.report_key_bytes IS 'The 16 bytes of a device''s report key.';

CREATE OR REPLACE FUNCTION fanfare.report_key(device_id bigint) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
SELECT d.id || '.' || rtrim(translate(encode(
    fanfare.report_key_bytes(k.inner_pad, k.outer_pad, d.id, coalesce(d.reachable_since, d.registered_at)), 'base64'), '+/', '-_'), '=')
FROM fanfare.devices AS d
CROSS JOIN (SELECT * FROM fanfare.report_keys AS k WHERE k.retired_at IS NULL LIMIT 1) AS k
WHERE d.id = $1 AND d.disabled_at IS NULL
$$;
COMMENT ON FUNCTION fanfare.report_key IS
    'The key with which a device reports what happened to its pushes; null if the device is disabled. It is good for reports only.';
GRANT EXECUTE ON FUNCTION fanfare.report_key TO fanfare_registrar;

-- Version, then the event, the rule version and the variant of its message, then ten bytes of a MAC over these.
CREATE OR REPLACE FUNCTION fanfare.report_handle(event_id bigint, rule_version int, variant int DEFAULT 0) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
SELECT translate(encode(h.head || substr(fanfare.report_mac(k.inner_pad, k.outer_pad, decode('68', 'hex') || h.head), 1, 10), 'base64'), '+/', '-_')
FROM (SELECT * FROM fanfare.report_keys AS k WHERE k.retired_at IS NULL LIMIT 1) AS k
CROSS JOIN LATERAL (
    SELECT substr(int2send(k.id), 2) || int8send($1) || int4send($2) || substr(int2send($3::smallint), 2) AS head
) AS h
$$;
COMMENT ON FUNCTION fanfare.report_handle IS 'The handle that a push of this event, rule version and variant has: 32 characters.';

CREATE OR REPLACE FUNCTION fanfare.set_tracking(app text, user_id text, is_tracked boolean) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_column
BEGIN
    PERFORM fanfare.check_preference(set_tracking.user_id, '*');
    IF set_tracking.is_tracked IS NULL THEN
        RAISE EXCEPTION 'is_tracked: is null' USING ERRCODE = '22023', HINT = 'Pass false to store no reports of the user, true to store them.';
    ELSIF set_tracking.is_tracked THEN
        DELETE FROM fanfare.untracked_users AS u
        WHERE u.app_id = (SELECT a.id FROM fanfare.apps AS a WHERE a.name = set_tracking.app) AND u.user_id = set_tracking.user_id;
    ELSE
        INSERT INTO fanfare.untracked_users (app_id, user_id) VALUES (fanfare.app_id_for(set_tracking.app), set_tracking.user_id) ON CONFLICT DO NOTHING;
        PERFORM fanfare.forget_touches(set_tracking.app, set_tracking.user_id);
    END IF;
END
$$;
COMMENT ON FUNCTION fanfare.set_tracking IS 'Sets whether reports of a user''s devices are stored. They are, unless this function said otherwise.';
GRANT EXECUTE ON FUNCTION fanfare.set_tracking TO fanfare_registrar;

-- Reports of an app that keeps counts only are not told.
CREATE OR REPLACE FUNCTION fanfare.note_report(event_id bigint, device_id bigint, rule_version int, kind smallint, action text DEFAULT NULL) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
INSERT INTO fanfare.feedback (batch_id, event_id, device_id, rule_version, kind, action)
SELECT 0, $1, $2, $3, $4, $5
WHERE EXISTS (SELECT FROM fanfare.feedback_hooks AS h WHERE 1000 + $4 = ANY (h.codes))
    AND NOT EXISTS (
        SELECT FROM fanfare.rule_versions AS v JOIN fanfare.rules AS r ON r.id = v.rule_id JOIN fanfare.policies AS p ON p.app_id = r.app_id
        WHERE v.id = $3 AND p.definition ->> 'report_devices' = 'false')
$$;
COMMENT ON FUNCTION fanfare.note_report IS 'Stores a report for the feedback hooks that want it, if there are any.';

CREATE OR REPLACE FUNCTION fanfare.may_have_arrived(code int) RETURNS boolean LANGUAGE sql IMMUTABLE
BEGIN ATOMIC
    -- A provider may deliver a push although its response was an error, or was lost. Of these outcomes nothing was sent.
    SELECT code BETWEEN 1 AND 3 OR code BETWEEN 32 AND 63 AND code NOT IN (41, 47, 48);
END;
COMMENT ON FUNCTION fanfare.may_have_arrived IS 'Whether a push with this outcome may have reached the device.';

-- A batch that waits behind a gate, or for a later time, was not sent. One that could be claimed now may be: the daemon that
-- sent it was killed.
CREATE OR REPLACE FUNCTION fanfare.may_be_sent(is_owned boolean, not_before timestamptz, gate_id int) RETURNS boolean LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT is_owned OR not_before <= statement_timestamp()
        AND NOT EXISTS (SELECT FROM fanfare.gates AS g WHERE g.id = may_be_sent.gate_id AND (g.state <> 'open' OR g.is_paused));
END;
COMMENT ON FUNCTION fanfare.may_be_sent IS 'Whether deliveries without an outcome may have been sent, by the owner, the time and the gate of their batch.';

-- The rule version's event is emitted in the transaction of the report, at most once for each action of a device.
CREATE OR REPLACE FUNCTION fanfare.take_action(event_id bigint, device_id bigint, rule_version int, variant int, action text, at timestamptz, reply text)
RETURNS boolean LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    version fanfare.rule_versions;
    device fanfare.devices;
    source fanfare.event_log;
    person text;
    emitted bigint;
    kept_reply text;
BEGIN
    SELECT v.* INTO version FROM fanfare.rule_versions AS v WHERE v.id = take_action.rule_version;
    SELECT e.* INTO source FROM fanfare.event_log AS e WHERE e.day = fanfare.ring_day(take_action.event_id) AND e.id = take_action.event_id;
    IF (version.definition ->> 'report_text')::boolean THEN
        reply := nullif(take_action.reply, '');
        kept_reply := CASE WHEN NOT EXISTS (
            SELECT FROM fanfare.policies AS p JOIN fanfare.rules AS r ON r.app_id = p.app_id
            WHERE r.id = version.rule_id AND p.definition ->> 'report_devices' = 'false') THEN reply END;
    ELSE
        reply := NULL;
    END IF;
    -- A device that invents actions would fill the table.
    IF (SELECT count(*) FROM fanfare.report_actions AS x
        WHERE x.day = fanfare.ring_day(take_action.event_id) AND x.event_id = take_action.event_id AND x.device_id = take_action.device_id) >= 20
    THEN
        RETURN false;
    END IF;
    INSERT INTO fanfare.report_actions (day, event_id, device_id, action, rule_version, variant, at, text)
    VALUES (fanfare.ring_day(take_action.event_id), take_action.event_id, take_action.device_id, take_action.action, take_action.rule_version,
        take_action.variant, greatest(least(coalesce(take_action.at, clock_timestamp()), clock_timestamp()), source.created_at),
        kept_reply)
    ON CONFLICT DO NOTHING;
    IF FOUND THEN
        PERFORM fanfare.note_report(take_action.event_id, take_action.device_id, take_action.rule_version, 3::smallint, take_action.action);
    ELSE
        RETURN false;
    END IF;
    -- What as_event emits never leads to another as_event.
    IF version.definition ->> 'as_event' IS NULL OR source.key ~ '^report/[0-9]+/[0-9]+/' THEN
        RETURN true;
    END IF;
    SELECT d.* INTO device FROM fanfare.devices AS d WHERE d.id = take_action.device_id;
    person := coalesce(device.user_id, 'device:' || device.id);
    INSERT INTO fanfare.report_rates AS r (app_id, user_id, since, events) VALUES (device.app_id, person, clock_timestamp(), 1)
    ON CONFLICT (app_id, user_id) DO UPDATE SET
        since = CASE WHEN r.since > clock_timestamp() - interval '1 minute' THEN r.since ELSE excluded.since END,
        events = CASE WHEN r.since > clock_timestamp() - interval '1 minute' THEN r.events + 1 ELSE 1 END
    WHERE r.since <= clock_timestamp() - interval '1 minute' OR r.events < 20;
    IF FOUND THEN
        SELECT fanfare.emit(version.definition ->> 'as_event', jsonb_strip_nulls(jsonb_build_object(
                'user_id', device.user_id, 'device_id', device.id::text, 'app', (SELECT a.name FROM fanfare.apps AS a WHERE a.id = device.app_id),
                'action', take_action.action, 'text', take_action.reply,
                'event_id', source.id::text, 'event_type', source.type, 'event_key', source.key, 'rule', version.definition ->> 'name')),
            format('report/%s/%s/%s', take_action.event_id, take_action.device_id, take_action.action))
        INTO emitted;
        UPDATE fanfare.report_actions AS x SET emitted_id = emitted
        WHERE x.day = fanfare.ring_day(take_action.event_id) AND x.event_id = take_action.event_id AND x.device_id = take_action.device_id
            AND x.action = take_action.action;
    END IF;
    RETURN true;
END
$$;
COMMENT ON FUNCTION fanfare.take_action IS 'Stores an action that a user chose, and emits the rule''s as_event; false if it is stored, or the device has 20 actions of the push.';

-- One element of each array is one report. A sender is a device, with its key or, if the key is empty, with its user, which a
-- phone's token names. Handles that do not verify, and reports of users who are not tracked, are not stored and not
-- distinguished.
CREATE OR REPLACE FUNCTION fanfare.take_reports(apps text[], devices bigint[], keys bytea[], users text[], handles bytea[], kinds smallint[],
    actions text[], ats timestamptz[], texts text[], OUT is_sender boolean[], OUT taken bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off
-- A session that began with a few reports would plan every call, for 0.5 ms each.
SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
    a record;
    -- The event, device and rule version of the latest action.
    push bigint[];
    was_sent boolean;
BEGIN
    taken := 0;
    FOR a IN
        WITH given AS MATERIALIZED (
            SELECT * FROM unnest(apps, devices, keys, users, handles, kinds, actions, ats, texts) WITH ORDINALITY
                AS g (app, device_id, key, user_id, handle, kind, action, at, reply, number)
        ), keys AS MATERIALIZED (
            SELECT k.id, k.inner_pad, k.outer_pad FROM fanfare.report_keys AS k
            WHERE coalesce(k.retired_at > statement_timestamp() - interval '90 days', true)
        ), senders AS MATERIALIZED (
            SELECT s.app, s.device_id, s.key, s.user_id, d.app_id, d.user_id AS person, d.id IS NOT NULL AND d.disabled_at IS NULL AND CASE
                    WHEN s.user_id <> '' THEN d.user_id IS NOT DISTINCT FROM s.user_id
                    ELSE s.key IN (SELECT fanfare.report_key_bytes(k.inner_pad, k.outer_pad, d.id, coalesce(d.reachable_since, d.registered_at))
                        FROM keys AS k) END AS is_sender,
                EXISTS (SELECT FROM fanfare.untracked_users AS u WHERE u.app_id = d.app_id AND u.user_id = d.user_id) AS is_untracked
            FROM (SELECT DISTINCT g.app, g.device_id, g.key, g.user_id FROM given AS g) AS s
            LEFT JOIN fanfare.devices AS d ON d.id = s.device_id AND d.app_id = (SELECT x.id FROM fanfare.apps AS x WHERE x.name = s.app)
        ), made AS MATERIALIZED (
            SELECT h.handle, p.event_id, p.rule_version, get_byte(h.handle, 13) AS variant, r.app_id
            FROM (SELECT DISTINCT g.handle FROM given AS g WHERE octet_length(g.handle) = 24) AS h
            JOIN keys AS k ON k.id = get_byte(h.handle, 0)
                AND substr(fanfare.report_mac(k.inner_pad, k.outer_pad, decode('68', 'hex') || substr(h.handle, 1, 14)), 1, 10) = substr(h.handle, 15)
            CROSS JOIN LATERAL (
                SELECT ('x' || encode(substr(h.handle, 2, 8), 'hex'))::bit(64)::bigint AS event_id,
                    ('x' || encode(substr(h.handle, 10, 4), 'hex'))::bit(32)::int AS rule_version
            ) AS p
            JOIN fanfare.rule_versions AS v ON v.id = p.rule_version JOIN fanfare.rules AS r ON r.id = v.rule_id
        ), checked AS MATERIALIZED (
            SELECT g.*, s.is_sender, s.person, m.event_id, m.rule_version, m.variant
            FROM given AS g
            JOIN senders AS s ON s.app = g.app AND s.device_id = g.device_id AND s.key = g.key AND s.user_id = g.user_id
            LEFT JOIN made AS m ON m.handle = g.handle AND m.app_id = s.app_id AND s.is_sender AND NOT s.is_untracked
        ), acting AS MATERIALIZED (
            -- A device that is forgotten in the meantime stores nothing. Locked in the order in which forget_user locks them.
            SELECT d.id FROM fanfare.devices AS d
            WHERE d.id = ANY (ARRAY(SELECT c.device_id FROM checked AS c WHERE c.event_id IS NOT NULL AND c.kind = 3))
            ORDER BY d.id FOR KEY SHARE
        ), stored AS (
            INSERT INTO fanfare.reports_pending (event_id, device_id, rule_version, variant, kind)
            SELECT c.event_id, c.device_id, c.rule_version, c.variant, c.kind FROM checked AS c WHERE c.event_id IS NOT NULL
            RETURNING 1
        )
        SELECT array_agg(c.is_sender ORDER BY c.number) AS senders, (SELECT count(*) FROM stored) AS stored, NULL::bigint AS event_id, NULL::bigint AS device_id,
            NULL::int AS rule_version, NULL::int AS variant, NULL AS action, NULL::timestamptz AS at, NULL AS reply
        FROM checked AS c
        UNION ALL
        -- By person, since take_action locks the person's rate.
        (SELECT NULL, NULL, c.event_id, c.device_id, c.rule_version, c.variant, c.action, c.at, c.reply
        FROM checked AS c JOIN acting AS x ON x.id = c.device_id
        WHERE c.event_id IS NOT NULL AND c.kind = 3
        ORDER BY c.app, coalesce(c.person, 'device:' || c.device_id) COLLATE "C", c.event_id, c.device_id, c.rule_version, c.action, c.number)
    LOOP
        IF a.event_id IS NULL THEN
            is_sender := a.senders;
            taken := a.stored;
            CONTINUE;
        END IF;
        IF push IS DISTINCT FROM ARRAY[a.event_id, a.device_id, a.rule_version] THEN
            push := ARRAY[a.event_id, a.device_id, a.rule_version];
            was_sent := EXISTS (
                SELECT FROM fanfare.deliveries_of(a.event_id, ARRAY[a.device_id], true) AS x
                WHERE x.rule_version = a.rule_version AND coalesce(x.at > clock_timestamp() - interval '7 days', true)
                    AND (fanfare.may_have_arrived(x.code) OR x.code = 0 AND fanfare.may_be_sent(x.is_owned, x.not_before, x.gate_id)));
        END IF;
        IF was_sent THEN
            PERFORM fanfare.take_action(a.event_id, a.device_id, a.rule_version, a.variant, a.action, a.at, a.reply);
        END IF;
    END LOOP;
END
$$;
COMMENT ON FUNCTION fanfare.take_reports IS 'Stores reports of devices, and says of each whether its sender is who it claims to be.';

CREATE OR REPLACE FUNCTION fanfare.with_marks(marks bytea, size int, positions int[]) RETURNS bytea
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    marked bytea := marks;
    place int;
BEGIN
    IF positions IS NOT NULL THEN
        marked := coalesce(marks, decode(repeat('00', (size + 7) / 8), 'hex'));
        FOREACH place IN ARRAY positions LOOP
            marked := set_bit(marked, place, 1);
        END LOOP;
    END IF;
    RETURN marked;
END
$$;
COMMENT ON FUNCTION fanfare.with_marks IS 'The bits of a batch of that size with those at some positions set.';

-- Works on up to 20,000 reports at once, in one daemon at a time. A report of a device that did not get the event, or of
-- a push that was sent more than seven days ago, is dropped.
CREATE OR REPLACE FUNCTION fanfare.fold_reports(depth int DEFAULT 20000) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    taken bigint;
    events bigint[];
    devices bigint[];
    versions int[];
    variants smallint[];
    kinds int[];
    all_events bigint[];
    event_places int8multirange;
    places int8multirange;
    last_day CONSTANT bigint := (clock_timestamp() AT TIME ZONE 'UTC')::date - DATE '2020-01-01';
    days smallint[];
    b record;
    old fanfare.report_log;
    new fanfare.report_log;
    key fanfare.report_counts;
    count bigint;
    counted fanfare.report_counts[] := '{}';
    is_opened_told CONSTANT boolean := EXISTS (SELECT FROM fanfare.feedback_hooks AS h WHERE 1002 = ANY (h.codes));
    has_untracked CONSTANT boolean := EXISTS (SELECT FROM fanfare.untracked_users);
BEGIN
    -- Only the daemon that maintains calls it, but a lost session of that daemon may still be running it.
    PERFORM pg_advisory_xact_lock(1178685254, 8);
    WITH taken AS (
        DELETE FROM fanfare.reports_pending AS p
        WHERE p.ctid = ANY (ARRAY(SELECT x.ctid FROM fanfare.reports_pending AS x LIMIT fold_reports.depth FOR UPDATE SKIP LOCKED))
        RETURNING p.*
    ),
    grouped AS (
        SELECT t.event_id, t.device_id, t.rule_version, min(t.variant) AS variant, bit_or(1 << t.kind) AS kinds, count(*) AS count
        FROM taken AS t GROUP BY 1, 2, 3 ORDER BY 1, 3, 2
    )
    SELECT sum(g.count), array_agg(g.event_id), array_agg(g.device_id), array_agg(g.rule_version), array_agg(g.variant), array_agg(g.kinds),
        array_agg(DISTINCT g.event_id), range_agg(int8range(g.event_id, g.event_id, '[]')), range_agg(int8range(g.device_id, g.device_id, '[]'))
    INTO taken, events, devices, versions, variants, kinds, all_events, event_places, places
    FROM grouped AS g;
    IF taken IS NULL THEN
        RETURN 0;
    END IF;
    days := ARRAY(SELECT DISTINCT (d % 32)::smallint
        FROM generate_series(greatest((SELECT min(e) FROM unnest(all_events) AS e) >> 32, last_day - 31), last_day) AS d);
    FOR b IN
        WITH wanted AS MATERIALIZED (
            SELECT * FROM unnest(events, devices, versions, variants, kinds) AS w (event_id, device_id, rule_version, variant, kinds)
        ),
        grouped AS MATERIALIZED (
            SELECT w.event_id, w.rule_version, array_agg(w.device_id) AS devices, array_agg(w.variant) AS variants, array_agg(w.kinds) AS kinds
            FROM wanted AS w GROUP BY 1, 2
        ),
        -- Batches of one event. Arrays are concatenated to decompress them once.
        single AS MATERIALIZED (
            SELECT l.id, l.event_id, l.rule_version, l.device_ids || '{}'::bigint[] AS device_ids, l.outcomes || ''::bytea AS outcomes,
                l.first_device, l.last_device, l.created_at, l.closed_at AS at
            FROM unnest(all_events) AS e (id) JOIN fanfare.batch_log AS l ON l.event_id = e.id
            WHERE l.day = ANY (days) AND int8range(l.first_device, l.last_device, '[]') && places
                AND l.closed_at > clock_timestamp() - interval '7 days'
            UNION ALL
            SELECT q.id, q.event_id, q.rule_version, q.device_ids || '{}'::bigint[], q.outcomes || ''::bytea,
                q.device_ids[1], q.device_ids[cardinality(q.device_ids)], q.created_at, clock_timestamp()
            FROM fanfare.batches AS q
            WHERE q.event_id = ANY (all_events)
                AND (octet_length(q.outcomes) > 0 OR fanfare.may_be_sent(q.owner IS NOT NULL, q.not_before, q.gate_id))
        ),
        -- Batches of many events. Those that no daemon has claimed are unsent.
        several AS MATERIALIZED (
            SELECT l.id, l.rule_version, l.device_ids, l.event_ids, l.outcomes || ''::bytea AS outcomes, l.created_at, l.closed_at AS at
            FROM fanfare.batch_log AS l
            WHERE l.event_id IS NULL AND l.day = ANY (days) AND int8range(l.first_event, l.last_event, '[]') && event_places
                AND int8range(l.first_device, l.last_device, '[]') && places AND l.closed_at > clock_timestamp() - interval '7 days'
            UNION ALL
            SELECT q.id, q.rule_version, q.device_ids, q.event_ids, q.outcomes || ''::bytea, q.created_at, clock_timestamp()
            FROM fanfare.batches AS q WHERE q.event_id IS NULL AND q.owner IS NOT NULL
        ),
        members AS (
            SELECT s.id, s.event_id AS only_event, cardinality(s.device_ids) AS size, s.outcomes, s.event_id, s.rule_version,
                u.device_id, u.variant, u.kinds, width_bucket(u.device_id, s.device_ids) AS position, s.created_at, s.at
            FROM single AS s JOIN grouped AS g ON g.event_id = s.event_id AND g.rule_version = s.rule_version
            CROSS JOIN LATERAL (
                SELECT width_bucket(s.first_device - 1, g.devices) + 1 AS first, width_bucket(s.last_device, g.devices) AS last
            ) AS p
            CROSS JOIN LATERAL unnest(g.devices[p.first : p.last], g.variants[p.first : p.last], g.kinds[p.first : p.last])
                AS u (device_id, variant, kinds)
            WHERE s.device_ids[width_bucket(u.device_id, s.device_ids)] = u.device_id
            UNION ALL
            SELECT s.id, NULL, cardinality(s.device_ids), s.outcomes, w.event_id, w.rule_version, w.device_id, w.variant, w.kinds, u.position::int,
                s.created_at, s.at
            FROM several AS s CROSS JOIN LATERAL unnest(s.device_ids, s.event_ids) WITH ORDINALITY AS u (device_id, event_id, position)
            JOIN wanted AS w ON w.event_id = u.event_id AND w.device_id = u.device_id AND w.rule_version = s.rule_version
        ),
        tried AS (
            SELECT m.*, count(*) OVER w AS batches, min(m.created_at) OVER w AS planned_at
            FROM members AS m
            WHERE (octet_length(m.outcomes) = 0 OR get_byte(m.outcomes, m.position - 1) = 0
                    OR fanfare.may_have_arrived(get_byte(m.outcomes, m.position - 1)))
                AND NOT (has_untracked AND EXISTS (
                    SELECT FROM fanfare.devices AS d JOIN fanfare.untracked_users AS u ON u.app_id = d.app_id AND u.user_id = d.user_id
                    WHERE d.id = m.device_id))
            WINDOW w AS (PARTITION BY m.event_id, m.device_id, m.rule_version)
        ),
        -- A delivery that was retried counts once: in the batch that has its first report.
        found AS (
            SELECT DISTINCT ON (t.event_id, t.device_id, t.rule_version)
                t.id, t.only_event, t.size, t.position - 1 AS position, t.rule_version,
                t.variant, t.kinds, t.event_id, t.device_id, t.planned_at, t.at
            FROM tried AS t
            ORDER BY t.event_id, t.device_id, t.rule_version, CASE WHEN t.batches > 1 THEN EXISTS (
                SELECT FROM fanfare.report_log AS x WHERE x.day = fanfare.ring_day(t.id) AND x.batch_id = t.id
                    AND 1 IN (get_bit(x.received, t.position - 1), get_bit(x.shown, t.position - 1), get_bit(x.opened, t.position - 1),
                        get_bit(x.acted, t.position - 1), get_bit(x.dismissed, t.position - 1)))
                ELSE false END DESC, t.id DESC
        ),
        -- A device that is being forgotten leaves nothing. It is skipped, because a transaction that forgets many users locks
        -- their devices in another order.
        kept AS MATERIALIZED (
            SELECT d.id, d.user_id FROM fanfare.devices AS d
            WHERE d.id = ANY (ARRAY(
                SELECT f.device_id FROM found AS f
                WHERE f.kinds & 3 > 0 AND NOT EXISTS (SELECT FROM fanfare.reporting_devices AS r WHERE r.device_id = f.device_id)
                    OR f.kinds & 12 > 0 AND EXISTS (
                        SELECT FROM fanfare.rule_versions AS v WHERE v.id = f.rule_version AND v.conversion_event IS NOT NULL)))
            ORDER BY d.id FOR KEY SHARE SKIP LOCKED
        ),
        able AS (
            INSERT INTO fanfare.reporting_devices (device_id)
            SELECT DISTINCT k.id FROM kept AS k JOIN found AS f ON f.device_id = k.id WHERE f.kinds & 3 > 0
            ON CONFLICT DO NOTHING
        ),
        touched AS (
            INSERT INTO fanfare.touches (app_id, path_id, person, event_id, rule_version, variant, planned_at, until)
            SELECT DISTINCT ON (p.id, x.person, f.event_id, f.rule_version)
                v.app_id, p.id, x.person, f.event_id, f.rule_version, f.variant, f.planned_at, f.at + CASE WHEN EXISTS (
                    SELECT FROM fanfare.policies AS y WHERE y.app_id = v.app_id AND y.definition ->> 'report_devices' = 'false')
                THEN least(v.conversion_within, interval '7 days') ELSE v.conversion_within END
            FROM found AS f
            JOIN fanfare.rule_versions AS v ON v.id = f.rule_version AND v.conversion_event IS NOT NULL
            JOIN fanfare.value_paths AS p ON p.event_type = v.conversion_event AND p.path = v.conversion_user
            JOIN kept AS d ON d.id = f.device_id AND d.user_id IS NOT NULL
            CROSS JOIN LATERAL (SELECT hashtextextended(d.user_id, 0) AS person) AS x
            WHERE f.kinds & 12 > 0
            ORDER BY p.id, x.person, f.event_id, f.rule_version, f.at
            ON CONFLICT DO NOTHING
        )
        SELECT f.id, f.only_event, f.size, f.rule_version, f.variant,
            array_agg(f.position) FILTER (WHERE f.kinds & 1 > 0) AS received, array_agg(f.position) FILTER (WHERE f.kinds & 2 > 0) AS shown,
            array_agg(f.position) FILTER (WHERE f.kinds & 4 > 0) AS opened, array_agg(f.position) FILTER (WHERE f.kinds & 8 > 0) AS acted,
            array_agg(f.position) FILTER (WHERE f.kinds & 16 > 0) AS dismissed,
            array_agg(f.event_id) FILTER (WHERE f.kinds & 4 > 0) AS opened_events,
            array_agg(f.device_id) FILTER (WHERE f.kinds & 4 > 0) AS opened_devices
        FROM found AS f GROUP BY 1, 2, 3, 4, 5 ORDER BY 1
    LOOP
        SELECT r.* INTO old FROM fanfare.report_log AS r WHERE r.day = fanfare.ring_day(b.id) AND r.batch_id = b.id;
        new.accepted := old.accepted;
        IF old.accepted IS NULL AND b.only_event IS NOT NULL THEN
            SELECT fanfare.count_accepted(l.outcomes) INTO new.accepted FROM fanfare.batch_log AS l WHERE l.day = fanfare.ring_day(b.id) AND l.id = b.id;
        END IF;
        new.received := fanfare.with_marks(old.received, b.size, b.received);
        new.shown := fanfare.with_marks(old.shown, b.size, b.shown);
        new.opened := fanfare.with_marks(old.opened, b.size, b.opened);
        new.acted := fanfare.with_marks(old.acted, b.size, b.acted);
        new.dismissed := fanfare.with_marks(old.dismissed, b.size, b.dismissed);
        INSERT INTO fanfare.report_log AS r (day, batch_id, event_id, accepted, received, shown, opened, acted, dismissed)
        VALUES (fanfare.ring_day(b.id), b.id, b.only_event, new.accepted, new.received, new.shown, new.opened, new.acted, new.dismissed)
        ON CONFLICT (day, batch_id) DO UPDATE SET accepted = excluded.accepted, received = excluded.received, shown = excluded.shown, opened = excluded.opened,
            acted = excluded.acted, dismissed = excluded.dismissed;
        IF is_opened_told AND b.opened IS NOT NULL THEN
            PERFORM fanfare.note_report(u.event_id, u.device_id, b.rule_version, 2::smallint)
            FROM unnest(b.opened, b.opened_events, b.opened_devices) AS u (position, event_id, device_id)
            WHERE coalesce(get_bit(old.opened, u.position), 0) = 0;
        END IF;
        key := (b.only_event, b.rule_version, b.variant, 0, 0, 0);
        FOREACH count IN ARRAY ARRAY[
            bit_count(new.received) - coalesce(bit_count(old.received), 0), bit_count(new.shown) - coalesce(bit_count(old.shown), 0),
            bit_count(new.opened) - coalesce(bit_count(old.opened), 0), bit_count(new.acted) - coalesce(bit_count(old.acted), 0),
            bit_count(new.dismissed) - coalesce(bit_count(old.dismissed), 0)]
        LOOP
            IF count > 0 THEN
                key.devices := count;
                counted := counted || key;
            END IF;
            key.kind := key.kind + 1;
        END LOOP;
    END LOOP;
    INSERT INTO fanfare.report_counts AS c (event_id, rule_version, variant, kind, devices)
    SELECT x.event_id, x.rule_version, x.variant, x.kind, sum(x.devices) FROM unnest(counted) AS x WHERE x.event_id IS NOT NULL GROUP BY 1, 2, 3, 4
    ON CONFLICT (event_id, rule_version, variant, kind) DO UPDATE SET devices = c.devices + excluded.devices;
    INSERT INTO fanfare.report_stats AS c (day, rule_version, variant, kind, devices)
    SELECT DATE '2020-01-01' + last_day::int, x.rule_version, x.variant, x.kind, sum(x.devices) FROM unnest(counted) AS x GROUP BY 2, 3, 4
    ON CONFLICT (day, rule_version, variant, kind) DO UPDATE SET devices = c.devices + excluded.devices;
    RETURN taken;
END
$$;
COMMENT ON FUNCTION fanfare.fold_reports IS 'Moves some reports that wait into the log, counts those that are new, and returns how many waited.';

-- A value that an event has at a path, as a number; NULL for anything else.
CREATE OR REPLACE FUNCTION fanfare.amount_at(payload jsonb, path text[]) RETURNS numeric LANGUAGE sql IMMUTABLE
BEGIN ATOMIC
    SELECT CASE WHEN octet_length(payload #>> path) > 40 THEN NULL
        WHEN jsonb_typeof(payload #> path) = 'number' THEN (payload #> path)::numeric
        WHEN jsonb_typeof(payload #> path) = 'string' AND payload #>> path ~ '^-?[0-9]{1,30}([.][0-9]{1,30})?$' THEN (payload #>> path)::numeric END;
END;
COMMENT ON FUNCTION fanfare.amount_at IS 'The number at a path of a payload, also if it is text; null if it is longer than 40 characters or no number.';

-- Credits events of `conversion` types to the last push that the person opened, one push per app. A person counts once for
-- each push, and the values of all events are summed. Only one daemon folds and credits.
CREATE OR REPLACE FUNCTION fanfare.credit_conversions(depth int DEFAULT 5000) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    due fanfare.conversions_pending[];
BEGIN
    PERFORM pg_advisory_xact_lock(1178685254, 8);
    WITH taken AS (
        DELETE FROM fanfare.conversions_pending AS p
        WHERE p.ctid = ANY (ARRAY(SELECT x.ctid FROM fanfare.conversions_pending AS x WHERE x.due_at <= statement_timestamp()
            ORDER BY x.due_at LIMIT credit_conversions.depth FOR UPDATE SKIP LOCKED))
        RETURNING p
    )
    SELECT array_agg(t.p) INTO due FROM taken AS t;
    IF due IS NULL THEN
        RETURN 0;
    END IF;
    WITH last AS MATERIALIZED (
        SELECT DISTINCT ON (c.path_id, c.person, c.event_id, t.app_id) t.path_id, t.person, t.event_id AS touch_id, t.rule_version, t.variant,
            t.has_converted, coalesce(c.amount, fanfare.amount_at(e.payload, v.conversion_value)) AS amount
        FROM unnest(due) AS c
        JOIN fanfare.touches AS t ON t.path_id = c.path_id AND t.person = c.person AND t.event_id <> c.event_id
            -- The report of the open may come shortly after the event.
            AND t.opened_at <= c.created_at + interval '1 minute' AND t.planned_at <= c.created_at AND t.until > c.created_at
        JOIN fanfare.rule_versions AS v ON v.id = t.rule_version
        LEFT JOIN fanfare.event_log AS e ON e.day = fanfare.ring_day(c.event_id) AND e.id = c.event_id
        ORDER BY c.path_id, c.person, c.event_id, t.app_id, t.opened_at DESC, t.event_id DESC
    ),
    credited AS MATERIALIZED (
        SELECT l.path_id, l.person, l.touch_id, l.rule_version, l.variant, bool_or(l.has_converted) AS had_converted, coalesce(sum(l.amount), 0) AS amount
        FROM last AS l GROUP BY 1, 2, 3, 4, 5
    ),
    marked AS (
        UPDATE fanfare.touches AS t SET has_converted = true FROM credited AS c
        WHERE t.path_id = c.path_id AND t.person = c.person AND t.event_id = c.touch_id AND t.rule_version = c.rule_version AND NOT c.had_converted
    ),
    counted AS (
        INSERT INTO fanfare.report_counts AS r (event_id, rule_version, variant, kind, devices, value)
        SELECT c.touch_id, c.rule_version, c.variant, 5, count(*) FILTER (WHERE NOT c.had_converted), sum(c.amount)
        FROM credited AS c GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
        ON CONFLICT (event_id, rule_version, variant, kind) DO UPDATE SET devices = r.devices + excluded.devices, value = r.value + excluded.value
    )
    INSERT INTO fanfare.report_stats AS r (day, rule_version, variant, kind, devices, value)
    SELECT (clock_timestamp() AT TIME ZONE 'UTC')::date, c.rule_version, c.variant, 5, count(*) FILTER (WHERE NOT c.had_converted), sum(c.amount)
    FROM credited AS c GROUP BY 2, 3 ORDER BY 2, 3
    ON CONFLICT (day, rule_version, variant, kind) DO UPDATE SET devices = r.devices + excluded.devices, value = r.value + excluded.value;
    RETURN cardinality(due);
END
$$;
COMMENT ON FUNCTION fanfare.credit_conversions IS 'Credits some events of `conversion` types that are due to pushes, and returns how many were due.';

CREATE OR REPLACE FUNCTION fanfare.reports_of(batch_id bigint, event_id bigint, device_id bigint) RETURNS text[]
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
SELECT ARRAY(
    SELECT k.kind
    FROM fanfare.report_log AS x
    CROSS JOIN LATERAL (
        SELECT b.rule_version, b.device_ids, b.event_ids FROM fanfare.batch_log AS b WHERE b.day = x.day AND b.id = x.batch_id
        UNION ALL
        SELECT b.rule_version, b.device_ids, b.event_ids FROM fanfare.batches AS b WHERE b.id = x.batch_id
        LIMIT 1
    ) AS b
    JOIN fanfare.rule_versions AS v ON v.id = b.rule_version JOIN fanfare.rules AS r ON r.id = v.rule_id
    CROSS JOIN LATERAL (
        SELECT u.position FROM unnest(array_positions(b.device_ids, $3)) AS u (position)
        WHERE b.event_ids IS NULL OR b.event_ids[u.position] = $2 LIMIT 1
    ) AS p
    CROSS JOIN LATERAL (VALUES (0, 'received', x.received), (1, 'shown', x.shown), (2, 'opened', x.opened), (3, 'action', x.acted),
        (4, 'dismissed', x.dismissed)) AS k (place, kind, marks)
    WHERE x.day = fanfare.ring_day($1) AND x.batch_id = $1 AND get_bit(k.marks, p.position - 1) = 1
        AND NOT EXISTS (SELECT FROM fanfare.policies AS y WHERE y.app_id = r.app_id AND y.definition ->> 'report_devices' = 'false')
    ORDER BY k.place)
$$;
COMMENT ON FUNCTION fanfare.reports_of IS 'What a device reported of a push: the column `reports` of the view deliveries, for one delivery.';
GRANT EXECUTE ON FUNCTION fanfare.reports_of TO fanfare_reader;

CREATE OR REPLACE FUNCTION fanfare.report_variant(rule_version int, variant int) RETURNS text LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT v.definition -> 'variants' -> variant ->> 'name' FROM fanfare.rule_versions AS v WHERE v.id = rule_version;
END;
COMMENT ON FUNCTION fanfare.report_variant IS 'The name of a variant by its index; null for a rule without variants.';
GRANT EXECUTE ON FUNCTION fanfare.report_variant TO fanfare_reader;

CREATE OR REPLACE FUNCTION fanfare.count_accepted(outcomes bytea) RETURNS int LANGUAGE sql IMMUTABLE
BEGIN ATOMIC
    -- OFFSET 0: encoded once.
    SELECT length(x.codes) - length(translate(x.codes, chr(1), '')) FROM (SELECT encode(outcomes, 'escape') COLLATE "C" AS codes OFFSET 0) AS x;
END;
COMMENT ON FUNCTION fanfare.count_accepted IS 'How many of a batch''s outcomes are `accepted`.';
GRANT EXECUTE ON FUNCTION fanfare.count_accepted TO fanfare_reader;

-- Reports of an event that has its batches for itself are counted by fold_reports. Events that share batches with others
-- are few pushes each, and are counted from the logs.
--
-- What was accepted is the sum over the event's batches. Once these are deleted, only the counts of a run's gates remain;
-- both only grow, so the larger one is right. The log does not store the variant of a recipient. It is computed from the
-- user for up to 5,000 deliveries. Beyond, the row of a variant has no `accepted`, and a row without a variant has that of
-- the rule, so that the sum of a rule's rows is always right.
CREATE OR REPLACE FUNCTION fanfare.funnel(event_id bigint)
RETURNS TABLE (app text, rule text, variant text, accepted bigint, received bigint, shown bigint, opened bigint, acted bigint, dismissed bigint,
    converted bigint, value numeric)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
WITH own AS MATERIALIZED (
    SELECT x.rule_version, sum(x.accepted) AS accepted, sum(x.deliveries) AS deliveries
    FROM (
        SELECT b.rule_version, coalesce(x.accepted, fanfare.count_accepted(b.outcomes)) AS accepted, octet_length(b.outcomes) AS deliveries
        FROM fanfare.batch_log AS b LEFT JOIN fanfare.report_log AS x ON x.day = b.day AND x.batch_id = b.id
        WHERE b.event_id = $1
        UNION ALL
        -- In flight: what the last checkpoint stored.
        SELECT b.rule_version, fanfare.count_accepted(b.outcomes), octet_length(b.outcomes)
        FROM fanfare.batches AS b WHERE b.event_id = $1
    ) AS x GROUP BY 1
),
size AS MATERIALIZED (SELECT sum(o.deliveries) <= 5000 AS is_small FROM own AS o),
shared AS MATERIALIZED (
    SELECT b.rule_version, u.device_id, get_byte(b.outcomes, u.position::int - 1) AS code,
        x.received, x.shown, x.opened, x.acted, x.dismissed, u.position - 1 AS place
    FROM fanfare.batch_log AS b
    CROSS JOIN LATERAL unnest(b.event_ids, b.device_ids) WITH ORDINALITY AS u (event_id, device_id, position)
    LEFT JOIN fanfare.report_log AS x ON x.day = b.day AND x.batch_id = b.id
    WHERE b.event_id IS NULL AND int8range(b.first_event, b.last_event, '[]') @> $1 AND u.event_id = $1
    UNION ALL
    -- A report may come before the batch is closed.
    SELECT b.rule_version, u.device_id, CASE WHEN octet_length(b.outcomes) > 0 THEN get_byte(b.outcomes, u.position::int - 1) ELSE 0 END,
        x.received, x.shown, x.opened, x.acted, x.dismissed, u.position - 1
    FROM fanfare.batches AS b
    CROSS JOIN LATERAL unnest(b.event_ids, b.device_ids) WITH ORDINALITY AS u (event_id, device_id, position)
    LEFT JOIN fanfare.report_log AS x ON x.day = fanfare.ring_day(b.id) AND x.batch_id = b.id
    WHERE b.event_id IS NULL AND b.owner IS NOT NULL AND u.event_id = $1
),
-- The rule versions whose pushes have a handle, or had one when a device reported.
reporting AS MATERIALIZED (
    SELECT v.id, v.rule_id, v.definition -> 'variants' IS NOT NULL AS is_divided, g.*
    FROM (
        SELECT y.rule_version, bool_or(y.has_reports) AS has_reports
        FROM (
            SELECT o.rule_version, false AS has_reports FROM own AS o
            UNION ALL
            SELECT s.rule_version, num_nonnulls(s.received, s.shown, s.opened, s.acted, s.dismissed) > 0 FROM shared AS s
            UNION ALL
            SELECT c.rule_version, true FROM fanfare.report_counts AS c WHERE c.event_id = $1
        ) AS y GROUP BY 1
    ) AS k
    JOIN fanfare.rule_versions AS v ON v.id = k.rule_version JOIN fanfare.rules AS r ON r.id = v.rule_id
    CROSS JOIN LATERAL fanfare.rule_groups(v.definition::jsonb) AS g
    WHERE k.has_reports OR coalesce((v.definition ->> 'report')::boolean,
        (SELECT (p.definition ->> 'report')::boolean FROM fanfare.policies AS p WHERE p.app_id = r.app_id), false)
),
-- A run of a campaign has one rule.
of_run AS (
    SELECT g.rule_id, sum(y.deliveries) AS accepted
    FROM fanfare.runs AS o JOIN fanfare.gates AS g ON g.run_id = o.id
    CROSS JOIN LATERAL (
        SELECT s.deliveries FROM fanfare.gate_stats AS s WHERE s.gate_id = g.id AND s.outcome = 1
        UNION ALL
        SELECT p.deliveries FROM fanfare.stats_pending AS p WHERE p.gate_id = g.id AND p.gate_id <> 0 AND p.outcome = 1
    ) AS y
    WHERE o.event_id = $1 GROUP BY 1
),
pushes AS (
    SELECT b.rule_version, u.device_id, get_byte(b.outcomes, u.position::int - 1) AS code
    FROM fanfare.batch_log AS b JOIN reporting AS p ON p.id = b.rule_version AND p.is_divided
    CROSS JOIN LATERAL unnest(b.device_ids) WITH ORDINALITY AS u (device_id, position)
    WHERE b.event_id = $1 AND (SELECT s.is_small FROM size AS s)
    UNION ALL
    SELECT b.rule_version, u.device_id, get_byte(b.outcomes, u.position::int - 1)
    FROM fanfare.batches AS b JOIN reporting AS p ON p.id = b.rule_version AND p.is_divided
    CROSS JOIN LATERAL unnest(b.device_ids) WITH ORDINALITY AS u (device_id, position)
    WHERE b.event_id = $1 AND octet_length(b.outcomes) > 0 AND (SELECT s.is_small FROM size AS s)
    UNION ALL
    SELECT s.rule_version, s.device_id, s.code FROM shared AS s
),
counts AS (
    -- NULL as a kind stands for accepted. The gates of a run count what is not in the log, or not there any more.
    SELECT p.rule_id, NULL::text AS variant, NULL::int AS kind, greatest(sum(o.accepted), max(g.accepted)) AS devices, 0::numeric AS value
    FROM reporting AS p LEFT JOIN own AS o ON o.rule_version = p.id LEFT JOIN of_run AS g ON g.rule_id = p.rule_id
    WHERE NOT p.is_divided OR (SELECT s.is_small FROM size AS s) IS NOT TRUE
    GROUP BY 1 HAVING num_nonnulls(sum(o.accepted), max(g.accepted)) > 0
    UNION ALL
    SELECT p.rule_id, CASE WHEN p.is_divided THEN x.variant END, NULL, count(*) FILTER (WHERE u.code = 1), 0
    FROM pushes AS u JOIN reporting AS p ON p.id = u.rule_version
    LEFT JOIN LATERAL (
        SELECT fanfare.group_of(p.seed, p.holdout, p.names, p.upto, coalesce(d.user_id, 'device:' || d.id)) AS variant
        FROM fanfare.devices AS d WHERE d.id = u.device_id OFFSET 0
    ) AS x ON p.is_divided
    WHERE u.code = 1 OR NOT p.is_divided GROUP BY 1, 2
    UNION ALL
    SELECT p.rule_id, fanfare.report_variant(c.rule_version, c.variant), c.kind, c.devices, c.value
    FROM fanfare.report_counts AS c JOIN reporting AS p ON p.id = c.rule_version WHERE c.event_id = $1
    UNION ALL
    SELECT p.rule_id, CASE WHEN d.id IS NOT NULL THEN fanfare.variant_of(v.definition::jsonb, d.user_id, s.device_id) END, k.kind, 1, 0
    FROM shared AS s JOIN reporting AS p ON p.id = s.rule_version
    JOIN fanfare.rule_versions AS v ON v.id = s.rule_version
    LEFT JOIN fanfare.devices AS d ON d.id = s.device_id
    CROSS JOIN LATERAL (VALUES (0, s.received), (1, s.shown), (2, s.opened), (3, s.acted), (4, s.dismissed)) AS k (kind, marks)
    WHERE get_bit(k.marks, s.place) = 1
)
SELECT a.name, r.name, c.variant, sum(c.devices) FILTER (WHERE c.kind IS NULL)::bigint,
    coalesce(sum(c.devices) FILTER (WHERE c.kind = 0), 0)::bigint, coalesce(sum(c.devices) FILTER (WHERE c.kind = 1), 0)::bigint,
    coalesce(sum(c.devices) FILTER (WHERE c.kind = 2), 0)::bigint, coalesce(sum(c.devices) FILTER (WHERE c.kind = 3), 0)::bigint,
    coalesce(sum(c.devices) FILTER (WHERE c.kind = 4), 0)::bigint, coalesce(sum(c.devices) FILTER (WHERE c.kind = 5), 0)::bigint,
    sum(c.value) FILTER (WHERE c.kind = 5)
FROM counts AS c JOIN fanfare.rules AS r ON r.id = c.rule_id JOIN fanfare.apps AS a ON a.id = r.app_id
GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
$$;
COMMENT ON FUNCTION fanfare.funnel IS
    'How many pushes of an event were accepted, and how many devices reported what, by rule and variant, for the rules whose pushes devices '
    'report on. `accepted` is NULL if the log is deleted. For more than 5,000 deliveries, it is in a row without a variant. Only devices whose '
    'app reports can be counted.';
GRANT EXECUTE ON FUNCTION fanfare.funnel TO fanfare_reader;

-- The groups that a rule divides people into, with what the people of each did: of one event, or of a rule's pushes that
-- were sent in a period. A person is a user, or a device without one, and counts once. Users without tracking are left
-- out.
--
--   people     those whose delivery ended after the holdout was checked
--   reporting  those with a device that reports receipts, if it accepted the push or was held out: one that reported the
--              receipt of this push or of an earlier one. Devices that report only opens are left out, because a better
--              variant makes more of them report
--   opened     those of `reporting` who opened the push or chose an action
--   converted  those of `people` with a conversion within the rule's window from when the push was planned
--
-- The holdout is chosen before preferences, caps and the provider's response are known. So those who opted out count as
-- people of a variant, as they do in the holdout: both are chosen by the hash alone.
--
-- Reads every delivery, about 8 microseconds each, or those of most_batches: who is in which batch has nothing to do with
-- the groups. If a rule has versions with and without a conversion, those without are left out.
CREATE OR REPLACE FUNCTION fanfare.arms(event_id bigint, of_app text DEFAULT NULL, of_rule text DEFAULT NULL, since timestamptz DEFAULT NULL,
    until timestamptz DEFAULT NULL, most_batches bigint DEFAULT NULL)
RETURNS TABLE (app text, rule text, variant text, people bigint, reporting bigint, opened bigint, converted bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off SET work_mem = '64MB' AS $$
-- Outcomes are concatenated to decompress them once.
WITH batches AS MATERIALIZED (
    (SELECT b.id, b.rule_version, b.device_ids, NULL::bigint[] AS event_ids, b.outcomes || ''::bytea AS outcomes, b.created_at
    FROM fanfare.batch_log AS b WHERE b.event_id = $1 ORDER BY b.id LIMIT $6)
    UNION ALL
    SELECT b.id, b.rule_version, b.device_ids, b.event_ids, b.outcomes || ''::bytea, b.created_at FROM fanfare.batch_log AS b
    WHERE b.event_id IS NULL AND int8range(b.first_event, b.last_event, '[]') @> $1
    UNION ALL
    SELECT b.id, b.rule_version, b.device_ids, NULL, b.outcomes || ''::bytea, b.created_at FROM fanfare.batch_log AS b
    WHERE b.closed_at >= $4 AND b.closed_at < $5 AND b.rule_version = ANY (ARRAY(
        SELECT v.id FROM fanfare.rule_versions AS v JOIN fanfare.rules AS r ON r.id = v.rule_id JOIN fanfare.apps AS a ON a.id = r.app_id
        WHERE a.name = $2 AND r.name = $3))
),
versions AS MATERIALIZED (
    SELECT * FROM (
        SELECT v.id, r.id AS rule_id, r.app_id, g.*, v.conversion_within AS within, p.id AS path_id,
            bool_or(p.id IS NOT NULL) OVER (PARTITION BY r.id) AS has_conversions
        FROM fanfare.rule_versions AS v JOIN fanfare.rules AS r ON r.id = v.rule_id
        CROSS JOIN LATERAL fanfare.rule_groups(v.definition::jsonb) AS g
        LEFT JOIN fanfare.value_paths AS p ON p.event_type = v.conversion_event AND p.path = v.conversion_user
        WHERE v.id = ANY (ARRAY(SELECT DISTINCT b.rule_version FROM batches AS b))
    ) AS x
    WHERE x.path_id IS NOT NULL OR NOT x.has_conversions
),
-- OFFSET 0: a sort of the people would otherwise carry the outcomes of whole batches.
deliveries AS (
    SELECT b.rule_version, u.device_id, b.created_at, c.code,
        c.code IN (1, 3, 8, 9, 11, 12, 13, 14, 15, 16, 17, 18) OR c.code >= 64 AS is_decided,
        get_bit(x.received, u.position - 1) = 1 OR get_bit(x.shown, u.position - 1) = 1 AS has_received,
        get_bit(x.opened, u.position - 1) = 1 OR get_bit(x.acted, u.position - 1) = 1 AS has_opened
    FROM batches AS b
    CROSS JOIN LATERAL unnest(b.device_ids, b.event_ids) WITH ORDINALITY AS u (device_id, event_id, position)
    CROSS JOIN LATERAL (SELECT get_byte(b.outcomes, u.position::int - 1) AS code) AS c
    LEFT JOIN fanfare.report_log AS x ON x.day = fanfare.ring_day(b.id) AND x.batch_id = b.id
    WHERE b.event_ids IS NULL OR u.event_id = $1
    OFFSET 0
),
-- A person by the hash of the user's id, as in event_values; a device without a user by its own id.
people AS (
    SELECT v.rule_id, d.user_id IS NULL AS is_device, CASE WHEN d.user_id IS NULL THEN p.device_id ELSE h.hash END AS person,
        min(d.user_id COLLATE "C") AS user_id, bool_or(p.code = 14) AS is_held_out, max(v.id) AS version,
        -- The reports on a delivery that was retried may be in the batch of an earlier attempt.
        bool_or(p.code IN (1, 14)) AND (bool_or(p.has_received) OR bool_or(p.code IN (1, 14) AND r.since < p.created_at)) AS is_reporting,
        bool_or(p.code = 1) AND bool_or(p.has_opened) AS has_opened,
        bool_or(d.user_id IS NOT NULL AND EXISTS (
            SELECT FROM fanfare.event_values AS e
            WHERE e.path_id = v.path_id AND e.value = h.hash AND e.created_at >= p.created_at AND e.created_at < p.created_at + v.within)) AS has_converted
    FROM deliveries AS p JOIN versions AS v ON v.id = p.rule_version
    JOIN fanfare.devices AS d ON d.id = p.device_id
    LEFT JOIN fanfare.reporting_devices AS r ON r.device_id = p.device_id
    CROSS JOIN LATERAL (SELECT hashtextextended(d.user_id, 0) AS hash) AS h
    WHERE (p.is_decided OR p.has_received OR p.has_opened)
        AND NOT EXISTS (SELECT FROM fanfare.untracked_users AS u WHERE u.app_id = v.app_id AND u.user_id = d.user_id)
    GROUP BY 1, 2, 3 HAVING bool_or(p.is_decided)
)
SELECT a.name, r.name, x.variant, count(*), count(*) FILTER (WHERE p.is_reporting), count(*) FILTER (WHERE p.is_reporting AND p.has_opened),
    CASE WHEN bool_or(v.has_conversions) THEN count(*) FILTER (WHERE p.has_converted) END
FROM people AS p JOIN versions AS v ON v.id = p.version
JOIN fanfare.rules AS r ON r.id = p.rule_id JOIN fanfare.apps AS a ON a.id = r.app_id
CROSS JOIN LATERAL (SELECT CASE WHEN p.is_held_out THEN 'holdout'
    ELSE fanfare.group_of(v.seed, 0, v.names, v.upto, coalesce(p.user_id, 'device:' || p.person)) END AS variant) AS x
GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
$$;
COMMENT ON FUNCTION fanfare.arms IS
    'For each group of people that a rule divides: how many there are, how many have a device that can report, and of these how many opened '
    'the push, and how many converted; of an event, or of a rule''s pushes in a period.';
GRANT EXECUTE ON FUNCTION fanfare.arms TO fanfare_reader;

-- A rate of 0 or 1 counts one success and one failure more: a few equal results are no certainty.
CREATE OR REPLACE FUNCTION fanfare.rate_variance(successes bigint, people bigint) RETURNS float8 LANGUAGE sql IMMUTABLE
RETURN (SELECT x.rate * (1 - x.rate) / people::float8 FROM (
    SELECT CASE WHEN successes IN (0, people) THEN (successes + 1)::float8 / (people + 2) ELSE successes::float8 / people END AS rate) AS x);
COMMENT ON FUNCTION fanfare.rate_variance IS 'The square of the standard error of a rate.';

-- The interval is that of two rates compared once: 95 % of such intervals contain the true difference.
CREATE OR REPLACE FUNCTION fanfare.lift(event_id bigint, of_app text, of_rule text, since timestamptz, until timestamptz)
RETURNS TABLE (app text, rule text, variant text, people bigint, not_reporting bigint, opened bigint, converted bigint, rate float8,
    lift float8, low float8, high float8)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
WITH arms AS (
    SELECT * FROM fanfare.arms($1, $2, $3, $4, $5)
)
SELECT a.app, a.rule, a.variant, a.people, a.people - a.reporting, a.opened, a.converted, p.rate,
    p.rate - q.rate, p.rate - q.rate - i.half, p.rate - q.rate + i.half
FROM arms AS a
LEFT JOIN arms AS h ON h.app = a.app AND h.rule = a.rule AND h.variant = 'holdout' AND a.variant IS DISTINCT FROM 'holdout'
CROSS JOIN LATERAL (SELECT a.converted::float8 / a.people::float8 AS rate) AS p
CROSS JOIN LATERAL (SELECT h.converted::float8 / h.people::float8 AS rate) AS q
CROSS JOIN LATERAL (
    SELECT 1.959963984540054 * sqrt(fanfare.rate_variance(a.converted, a.people) + fanfare.rate_variance(h.converted, h.people)) AS half
) AS i
ORDER BY 1, 2, a.variant IS NOT DISTINCT FROM 'holdout' DESC, 3
$$;
COMMENT ON FUNCTION fanfare.lift(bigint, text, text, timestamptz, timestamptz) IS 'What both forms of `lift` return.';
CREATE OR REPLACE FUNCTION fanfare.lift(event_id bigint)
RETURNS TABLE (app text, rule text, variant text, people bigint, not_reporting bigint, opened bigint, converted bigint, rate float8,
    lift float8, low float8, high float8)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
SELECT * FROM fanfare.lift($1, NULL, NULL, NULL, NULL)
$$;
COMMENT ON FUNCTION fanfare.lift(bigint) IS
    'For each variant of an event''s rules and for their holdout: the people, how many of them have no device that can report, and what share '
    'converted; and by how much this is more than in the holdout, with an interval of 95 %.';
GRANT EXECUTE ON FUNCTION fanfare.lift(bigint) TO fanfare_reader;
CREATE OR REPLACE FUNCTION fanfare.lift(of_app text, of_rule text, since timestamptz, until timestamptz DEFAULT clock_timestamp())
RETURNS TABLE (app text, rule text, variant text, people bigint, not_reporting bigint, opened bigint, converted bigint, rate float8,
    lift float8, low float8, high float8)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
SELECT * FROM fanfare.lift(NULL, $1, $2, $3, $4)
$$;
COMMENT ON FUNCTION fanfare.lift(text, text, timestamptz, timestamptz) IS 'The same for the pushes of a rule that were sent in a period.';
GRANT EXECUTE ON FUNCTION fanfare.lift(text, text, timestamptz, timestamptz) TO fanfare_reader;

-- The experiment that has been due for the longest time: its variants with a weight above 0, in the order of the definition,
-- and the figures of the people in its sample. It has no variants if no recipient waits any more.
CREATE OR REPLACE FUNCTION fanfare.experiments_due(now timestamptz)
RETURNS TABLE (run_id bigint, app text, campaign text, event_id bigint, unclear text, variants text[], weights bigint[], people bigint[], successes bigint[])
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
WITH due AS MATERIALIZED (
    SELECT o.id, a.name AS app, c.name AS campaign, o.event_id, o.experiment ->> 'by' AS by, o.experiment ->> 'unclear' AS unclear
    FROM fanfare.runs AS o
    JOIN fanfare.campaigns AS c ON c.id = o.campaign_id JOIN fanfare.apps AS a ON a.id = c.app_id
    JOIN fanfare.gates AS g ON g.id = o.held_gate_id
    WHERE o.state = 'running' AND o.experiment IS NOT NULL AND o.look_at <= $1 AND o.verdict = 'passed' AND g.state = 'held' AND NOT g.is_paused
    -- One at a time, because each may take seconds; it is decided or due later then.
    ORDER BY o.look_at, o.id LIMIT 1
), arms AS MATERIALIZED (
    SELECT f.variant, f.people, f.reporting, f.opened, f.converted
    FROM due AS d CROSS JOIN LATERAL fanfare.arms(d.event_id, most_batches => 500) AS f
    WHERE f.app = d.app AND f.rule = 'campaign/' || d.campaign
), compared AS MATERIALIZED (
    SELECT v.variant ->> 'name' AS name, coalesce((v.variant -> 'weight')::bigint, 1) AS weight, v.place
    FROM due AS d JOIN fanfare.rule_versions AS r ON r.id = fanfare.experiment_version(d.id)
    CROSS JOIN LATERAL jsonb_array_elements(r.definition::jsonb -> 'variants') WITH ORDINALITY AS v (variant, place)
)
SELECT d.id, d.app, d.campaign, d.event_id, d.unclear, coalesce(x.names, '{}'), coalesce(x.weights, '{}'), coalesce(x.people, '{}'),
    coalesce(x.successes, '{}')
FROM due AS d CROSS JOIN LATERAL (
    SELECT array_agg(w.name ORDER BY w.place) AS names, array_agg(w.weight ORDER BY w.place) AS weights,
        array_agg(coalesce(CASE d.by WHEN 'opened' THEN f.reporting ELSE f.people END, 0) ORDER BY w.place) AS people,
        array_agg(coalesce(CASE d.by WHEN 'opened' THEN f.opened ELSE f.converted END, 0) ORDER BY w.place) AS successes
    FROM compared AS w LEFT JOIN arms AS f ON f.variant = w.name WHERE w.weight > 0
) AS x
$$;
COMMENT ON FUNCTION fanfare.experiments_due IS 'The experiment that has been due for the longest time, with its figures.';

SELECT fanfare.create_view('engagement', 'How many pushes were accepted, and how many devices reported what, by day, rule and variant.', $view$
SELECT x.day, a.name AS app, r.name AS rule, v.version AS rule_version, fanfare.report_variant(x.rule_version, x.variant) AS variant,
    CASE WHEN v.definition -> 'variants' IS NULL THEN coalesce((
        SELECT sum(s.deliveries) FROM fanfare.stats AS s WHERE s.day = x.day AND s.rule_version = x.rule_version AND s.outcome = 1), 0) + coalesce((
        SELECT sum(s.deliveries) FROM fanfare.stats_pending AS s
        WHERE (s.at AT TIME ZONE 'UTC')::date = x.day AND s.rule_version = x.rule_version AND s.outcome = 1), 0) END::bigint AS accepted,
    sum(x.devices) FILTER (WHERE x.kind = 0)::bigint AS received, sum(x.devices) FILTER (WHERE x.kind = 1)::bigint AS shown,
    sum(x.devices) FILTER (WHERE x.kind = 2)::bigint AS opened, sum(x.devices) FILTER (WHERE x.kind = 3)::bigint AS acted,
    sum(x.devices) FILTER (WHERE x.kind = 4)::bigint AS dismissed, sum(x.devices) FILTER (WHERE x.kind = 5)::bigint AS converted,
    sum(x.value) FILTER (WHERE x.kind = 5) AS value
FROM fanfare.report_stats AS x
JOIN fanfare.rule_versions AS v ON v.id = x.rule_version
JOIN fanfare.rules AS r ON r.id = v.rule_id
JOIN fanfare.apps AS a ON a.id = r.app_id
GROUP BY x.day, x.rule_version, x.variant, a.name, r.name, v.version, v.definition -> 'variants' IS NULL
$view$);
GRANT SELECT ON fanfare.engagement TO fanfare_reader;

CREATE OR REPLACE FUNCTION fanfare.export_user(app text, user_id text) RETURNS jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
WITH app AS MATERIALIZED (
    SELECT a.id FROM fanfare.apps AS a WHERE a.name = $1
), devices AS MATERIALIZED (
    SELECT d.* FROM fanfare.devices AS d WHERE d.app_id = (SELECT app.id FROM app) AND d.user_id = $2
)
SELECT jsonb_build_object(
    'app', $1, 'user_id', $2,
    'devices', (SELECT coalesce(jsonb_agg(to_jsonb(d) - '{app_id,target_id,token,token_hash,auth,p256dh,doubted_by}'::text[]
            || jsonb_build_object('topics', (SELECT coalesce(jsonb_agg(t.name ORDER BY t.name), '[]')
                FROM fanfare.subscriptions AS s JOIN fanfare.topics AS t ON t.id = s.topic_id WHERE s.device_id = d.id),
                'retracted', (SELECT to_jsonb(x.ids) FROM fanfare.retracted_devices AS x WHERE x.device_id = d.id),
                'first_receipt', (SELECT x.since FROM fanfare.reporting_devices AS x WHERE x.device_id = d.id))
            ORDER BY d.id), '[]') FROM devices AS d),
    'preferences', (SELECT coalesce(jsonb_agg(to_jsonb(p) - '{app_id,user_id,xid}'::text[] ORDER BY p.category), '[]') FROM fanfare.preferences AS p
        WHERE p.app_id = (SELECT app.id FROM app) AND p.user_id = $2),
    'capped_events', (SELECT to_jsonb(g.grants) FROM fanfare.cap_grants AS g WHERE g.app_id = (SELECT app.id FROM app) AND g.user_id = $2),
    'tracked', NOT EXISTS (SELECT FROM fanfare.untracked_users AS u WHERE u.app_id = (SELECT app.id FROM app) AND u.user_id = $2),
    'actions', (SELECT coalesce(jsonb_agg(to_jsonb(x) - '{day,rule_version,variant}'::text[] ORDER BY x.at), '[]')
        FROM fanfare.report_actions AS x JOIN devices AS d ON d.id = x.device_id),
    'emitted', (SELECT jsonb_build_object('since', r.since, 'events', r.events) FROM fanfare.report_rates AS r
        WHERE r.app_id = (SELECT app.id FROM app) AND r.user_id = $2),
    'opened', (SELECT coalesce(jsonb_agg(jsonb_build_object('event_id', t.event_id, 'opened_at', t.opened_at, 'until', t.until,
            'converted', t.has_converted) ORDER BY t.event_id), '[]')
        FROM fanfare.touches AS t
        WHERE t.path_id = ANY (ARRAY(SELECT p.id FROM fanfare.value_paths AS p)) AND t.person = hashtextextended($2, 0)
            AND t.app_id = (SELECT app.id FROM app)),
    'audiences', (SELECT coalesce(jsonb_agg(jsonb_build_object('campaign', c.name, 'event_id', o.event_id, 'variables', u.variables)
            ORDER BY o.event_id), '[]')
        FROM fanfare.campaigns AS c JOIN fanfare.runs AS o ON o.campaign_id = c.id JOIN fanfare.audiences AS u ON u.event_id = o.event_id
        WHERE c.app_id = (SELECT app.id FROM app) AND (o.state IN ('running', 'aborting') OR o.test_users IS NOT NULL)
            AND u.bucket = fanfare.bucket(fanfare.audience_seed(o.event_id), $2) AND u.user_id = $2),
    'pushes', (SELECT coalesce(jsonb_agg(jsonb_build_object('event_id', p.event_id, 'type', p.event_type, 'rule', p.rule, 'device_id', p.device_id,
            'outcome', p.outcome, 'at', p.at, 'reports', p.reports) ORDER BY p.event_id, p.device_id), '[]')
        FROM fanfare.deliveries AS p WHERE p.user_id = $2 AND p.app = $1),
    'scheduled', (SELECT coalesce(jsonb_agg(jsonb_build_object('id', s.id, 'type', s.type, 'at', s.at, 'payload', s.payload) ORDER BY s.id), '[]')
        FROM fanfare.scheduled AS s WHERE EXISTS (
            SELECT FROM fanfare.users_rules((SELECT app.id FROM app)) AS r
            WHERE r.event_type = s.type AND fanfare.named_users(s.payload, r.path) = ARRAY[$2])))
$$;
COMMENT ON FUNCTION fanfare.export_user IS
    'What is stored of a user of an app, as one document: what forget_user deletes, and the pushes of the log. Tokens and keys are left out.';
GRANT EXECUTE ON FUNCTION fanfare.export_user TO fanfare_registrar;

-- ---------------------------------------------------------------------------------------------------------------
-- 29. Rights
-- ---------------------------------------------------------------------------------------------------------------
-- The rights on one object follow its definition; here are those on all objects. PUBLIC has no rights.
--
-- * fanfare_emitter emits, cancels and watches tables. fanfare_registrar registers devices.
-- * fanfare_author puts rules, campaigns and policies, runs campaigns, and sends messages without a rule. For `fanfare rules plan` and `fanfare
--   campaigns plan` it calls the functions that find errors, with its own rights except for authors' queries. It reads
--   what it compares with a file, and whether a daemon will check it.
-- * fanfare_operator sees and runs what authors wrote.
-- * fanfare_reader reads what holds no tokens, and calls the functions that views call: these run with their reader's
--   rights.

REVOKE ALL ON ALL TABLES IN SCHEMA fanfare FROM PUBLIC;
REVOKE ALL ON ALL SEQUENCES IN SCHEMA fanfare FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA fanfare FROM PUBLIC;

-- The daemon works on every table, but owns none and cannot change their shape.
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA fanfare TO fanfare_daemon;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA fanfare TO fanfare_daemon;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA fanfare TO fanfare_daemon;
-- A copy of a database would otherwise adopt itself.
REVOKE EXECUTE ON FUNCTION fanfare.adopt FROM fanfare_daemon;

-- ---------------------------------------------------------------------------------------------------------------
-- 30. No JIT
-- ---------------------------------------------------------------------------------------------------------------
-- PostgreSQL estimates jsonpath functions and 32 partitions as so expensive that it compiles the plan: put_rule took far longer to compile
-- than to run. A function without a setting is left as it is, since a setting would prevent inlining.

DO $$
DECLARE
    compiled regprocedure;
BEGIN
    FOR compiled IN
        SELECT p.oid FROM pg_proc AS p
        WHERE p.pronamespace = 'fanfare'::regnamespace AND p.proconfig IS NOT NULL AND NOT 'jit=off' = ANY (p.proconfig)
    LOOP
        EXECUTE format('ALTER FUNCTION %s SET jit = off', compiled);
    END LOOP;
END
$$;

COMMIT;
