#!/usr/bin/env bash
# Tries what starts campaigns from outside for real: busybox's cron runs the line of a crontab, and pg_cron calls fanfare.emit, each
# at the next full minute, in a PostgreSQL of its own.
#
#   deploy/schedules.sh [PROGRAM]      the debug build, unless a program is named
#
# As root, on Debian with postgresql-15-cron and busybox (apt install postgresql-15-cron busybox-static); leaves nothing.
# Exit codes: 0 it works, 1 not, 69 it cannot be tried.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

program=$(readlink -f "${1:-.build/debug/fanfare}")
made=$(mktemp --directory --tmpdir fanfare-schedules.XXXXXX)
readonly program made
postgres=""
cron=""

fail() {
    echo "schedules: $1" >&2
    exit "${2:-1}"
}

as_postgres() { runuser --user=postgres -- "$@"; }

clean_up() {
    [[ -z "$cron" ]] || kill "$cron" 2> /dev/null || true
    [[ -z "$postgres" ]] || as_postgres "$postgres/pg_ctl" --pgdata="$made/data" --mode=immediate stop > /dev/null || true
    rm -rf "$made"
}
trap clean_up EXIT

((EUID == 0)) || fail "needs root, to run a server as postgres" 69
command -v busybox > /dev/null || fail "busybox is missing" 69
for extension in /usr/share/postgresql/*/extension/pg_cron.control; do
    [[ -e "$extension" ]] || fail "pg_cron is missing" 69
    version=$(basename "$(dirname "$(dirname "$extension")")")
    postgres=/usr/lib/postgresql/$version/bin
done

chmod 755 "$made"
install --directory --owner=postgres "$made/data" "$made/socket"
as_postgres "$postgres/initdb" --pgdata="$made/data" --auth=trust > "$made/initdb"
cat >> "$made/data/postgresql.conf" << CONF
listen_addresses = ''
unix_socket_directories = '$made/socket'
shared_preload_libraries = 'pg_cron'
cron.database_name = 'app'
cron.host = '$made/socket'
CONF
as_postgres "$postgres/pg_ctl" --pgdata="$made/data" --log="$made/data/log" --wait start > /dev/null \
    || { cat "$made/data/log" >&2; fail "no server"; }
as_postgres "$postgres/createdb" --host="$made/socket" app
sql() { as_postgres psql --host="$made/socket" --dbname=app --no-align --tuples-only --quiet --command="$1"; }

cat > "$made/fanfare.yaml" << YAML
database: { url: "postgres:///app?host=$made/socket&user=postgres" }
YAML
"$program" migrate --config "$made/fanfare.yaml" > "$made/migrate"

sql "CREATE EXTENSION pg_cron"
sql "SELECT cron.schedule('spring-sale', '* * * * *', \$\$SELECT fanfare.emit('sale.started', '{\"name\": \"Spring sale\"}', 'pg_cron ' || current_date)\$\$)" > /dev/null

install --directory --mode=700 "$made/crontabs"
echo "* * * * * $program emit --config $made/fanfare.yaml --key \"crontab \$(date +\\%F)\" sale.started '{\"name\": \"Spring sale\"}'" > "$made/crontabs/root"
chmod 600 "$made/crontabs/root"
busybox crond -f -c "$made/crontabs" -L "$made/crond" &
cron=$!

for _ in {1..150}; do
    if [[ "$(sql "SELECT count(DISTINCT key) FROM fanfare.outbox WHERE type = 'sale.started'")" == 2 ]]; then
        sql "SELECT type || ' ' || key || ' ' || payload || ' ' || to_char(created_at, 'HH24:MI:SS') FROM fanfare.outbox ORDER BY id"
        echo "schedules: a crontab and pg_cron $(sql "SELECT extversion FROM pg_extension WHERE extname = 'pg_cron'") emitted"
        exit 0
    fi
    sleep 0.5
done
sql "SELECT status, return_message FROM cron.job_run_details" >&2
cat "$made/crond" >&2 || true
fail "not both emitted within 75 s"
