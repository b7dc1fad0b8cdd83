#!/usr/bin/env bash
# Runs Fanfare's main flow on one PostgreSQL server, installed once by a superuser and once by a role with CREATEROLE that is not a
# superuser: migrate, adopt, watch triggers, rules with users_sql and badge_sql, a campaign with audience_sql, why, explain, check, and
# migrate again while the daemon runs.
#
#   deploy/versions.sh [DIRECTORY [PROGRAM]]   DIRECTORY contains initdb; by default that of the newest server that Debian installed.
#                                              PROGRAM is the debug build unless named, with fanfare-lab in the same directory
#
# Needs curl and PostgreSQL's server; leaves nothing. Exit codes: 0 all was delivered, 1 not, 69 it cannot be tried.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

program=$(readlink -f "${2:-.build/debug/fanfare}")
readonly program
trial=versions
. deploy/lib.sh

# as ROLE TEXT: runs statements as a role in the current database.
as() { as_postgres env PGOPTIONS="-c client_min_messages=warning" psql --host="$made/socket" --username="$1" --dbname="$database" -qAtX --set=ON_ERROR_STOP=1 --command="$2"; }

# ask QUERY: asks as the installing role.
ask() { as "$owner" "$1"; }

# configure_as ROLE: writes a configuration for a role.
configure_as() {
    configure "$database" << YAML
installation: versions
database: { url: "postgres:///$database?host=$made/socket&user=$1" }
log: { format: text }
YAML
}

# make_shop: creates the application's tables, owned by a role that may emit and has no other right in Fanfare.
make_shop() {
    as "$owner" "GRANT fanfare_emitter TO shop; GRANT CREATE ON DATABASE $database TO shop"
    as shop "
        CREATE SCHEMA shop;
        GRANT USAGE ON SCHEMA shop TO fanfare_sql;
        CREATE TABLE shop.orders (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, customer text, total numeric, status text DEFAULT 'new',
            twice numeric GENERATED ALWAYS AS (total * 2) STORED, note json);
        CREATE TABLE shop.members (team text, customer text);
        INSERT INTO shop.members VALUES ('red', 'ann'), ('red', 'bob');
        GRANT SELECT ON ALL TABLES IN SCHEMA shop TO fanfare_sql;
        SELECT fanfare.watch_table('shop.orders', 'order.changed')" > "$made/watched"
}

put_rules() {
    cat > "$made/rules.yaml" << 'YAML'
- name: shipped
  app: demo
  event: order.changed
  when: $.op == "update" && $.new.status == "shipped"
  to: { users: $.new.customer }
  badge_sql: "SELECT customer, count(*) FROM shop.orders WHERE customer = ANY ($1) GROUP BY customer"
  message: { notification: { title: "Order {{new.id}}", body: "{{new.total}}" } }
- name: team
  app: demo
  event: team.called
  to: { users_sql: "SELECT customer FROM shop.members WHERE team = $1->>'team'" }
  message: { notification: { title: "{{team}}" } }
YAML
    fanfare rules apply "$made/rules.yaml" > "$made/rules" 2>&1 || { cat "$made/rules" >&2 && fail "rules were refused"; }
    as "$owner" "SELECT fanfare.put_campaign('{\"app\": \"demo\", \"name\": \"news\", \"schedule\": {\"cron\": \"0 9 1 1 *\", \"time_zone\": \"UTC\"},
        \"audience_sql\": \"SELECT DISTINCT customer FROM shop.members\", \"message\": {\"notification\": {\"title\": \"News\"}}}')" > "$made/campaign"
}

# play DATABASE OWNER: tests one installation, from an empty database to pushes.
play() {
    database=$1 owner=$2 trial="versions: $1"
    local device
    as_postgres createdb --host="$made/socket" --username=postgres --owner="$owner" "$database"
    configure_as "$owner"
    fanfare migrate > "$made/migrated" 2>&1 || { cat "$made/migrated" >&2 && fail "migrate as $owner failed"; }
    as "$owner" "CREATE ROLE ${database}_daemon LOGIN; GRANT fanfare_daemon TO ${database}_daemon"
    make_shop
    for device in ann bob; do
        as "$owner" "SELECT fanfare.register_device('demo', 'fcm', '$device:APA91b$(printf 'x%.0s' {1..140})', '$device')" > "$made/device"
    done
    configure_as "${database}_daemon"
    start_daemon ' ready '
    configure_as "$owner"
    put_rules
    await "$made/daemon.log" 'rule in force.*shipped'
    await "$made/daemon.log" 'rule in force.*team'

    as shop "INSERT INTO shop.orders (customer, total) SELECT 'ann', n FROM generate_series(1, 3) AS n;
        UPDATE shop.orders SET status = 'shipped' WHERE id = 2; DELETE FROM shop.orders WHERE id = 1"
    as shop "SELECT fanfare.emit('team.called', '{\"team\": \"red\"}')" > "$made/emitted"
    await_value 3 "SELECT count(*) FROM fanfare.deliveries WHERE outcome = 'accepted'"
    await_value 1 "SELECT count(*) FROM fanfare.campaigns WHERE name = 'news' AND state = 'active'"
    as "$owner" "SELECT fanfare.start_campaign('demo', 'news')" > "$made/started"
    await_value 5 "SELECT count(*) FROM fanfare.deliveries WHERE outcome = 'accepted'"
    expect "events of the watched table" "delete 1,insert 3,update 1" "$(as "$owner" "SELECT string_agg(op || ' ' || n, ',' ORDER BY op) FROM (
        SELECT payload->>'op' AS op, count(*) AS n FROM fanfare.events WHERE type = 'order.changed' GROUP BY 1) AS e")"
    fanfare why --user ann > "$made/why"
    grep --quiet accepted "$made/why" || { cat "$made/why" >&2 && fail "why does not say accepted"; }
    fanfare explain --rule shipped --event '{"op": "update", "new": {"id": 9, "customer": "ann", "status": "shipped", "total": 1}}' > "$made/explained" 2>&1 \
        || { cat "$made/explained" >&2 && fail "explain failed"; }
    # Authors' SQL stays read-only, even when it is only checked.
    as shop "CREATE FUNCTION shop.spoil() RETURNS text LANGUAGE plpgsql IMMUTABLE SECURITY DEFINER AS
        'BEGIN PERFORM set_config(''transaction_read_only'', ''off'', true); DELETE FROM shop.members; RETURN ''ann''; END'"
    as "$owner" "SELECT fanfare.put_rule('{\"app\": \"demo\", \"name\": \"spoiler\", \"event\": \"x\", \"to\": {\"users_sql\": \"SELECT shop.spoil()\"},
        \"message\": {\"notification\": {\"title\": \"x\"}}}')" > "$made/spoiled" 2>&1 || true
    expect "members after a users_sql that deletes" 2 "$(as shop "SELECT count(*) FROM shop.members")"
    fanfare migrate > "$made/migrated" 2>&1 || { cat "$made/migrated" >&2 && fail "migrate again as $owner failed"; }
    fanfare check > "$made/check" 2>&1 || { cat "$made/check" >&2 && fail "check fails"; }
    expect "ill rows of health" "" "$(as "$owner" "SELECT name, detail FROM fanfare.health WHERE NOT ok")"
    kill "$daemon"
    wait "$daemon" || fail "the daemon ended with status $?"
}

need curl
postgres=${1:-}
start_postgres
as_postgres psql --host="$made/socket" --username=postgres -qX --command="CREATE ROLE manager LOGIN CREATEROLE CREATEDB" \
    --command="CREATE ROLE shop LOGIN"
start_sandbox
trouble() {
    ask "SELECT id, type, fate, detail FROM fanfare.events; SELECT user_id, outcome, reason FROM fanfare.deliveries"
    tail -n 20 "$made/daemon.log"
}
play by_manager manager
play by_superuser postgres
echo "versions: all was delivered on $(as_postgres psql --host="$made/socket" --username=postgres -qAtXc 'SHOW server_version'), installed by a superuser and by a role with CREATEROLE"
