#!/usr/bin/env bash
# Tests real schedulers that start campaigns: busybox's cron runs the line of a crontab, and pg_cron calls fanfare.emit, each at the next
# full minute, in a temporary PostgreSQL.
#
#   deploy/schedules.sh [PROGRAM]      the debug build, unless a program is named
#
# As root, on Debian with postgresql-15-cron and busybox (apt install postgresql-15-cron busybox-static); leaves nothing.
# Exit codes: 0 it works, 1 not, 69 it cannot be tested.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

program=$(readlink -f "${1:-.build/debug/fanfare}")
readonly program trial=schedules
. deploy/lib.sh

((EUID == 0)) || fail "needs root, to run a server as postgres" 69
need busybox
for extension in /usr/share/postgresql/*/extension/pg_cron.control; do
    [[ -e "$extension" ]] || fail "pg_cron is missing" 69
    version=$(basename "$(dirname "$(dirname "$extension")")")
    postgres=/usr/lib/postgresql/$version/bin
done

start_postgres "shared_preload_libraries = 'pg_cron'" "cron.database_name = 'app'" "cron.host = '$made/socket'"
configuration=$made/fanfare.yaml
echo "database: { url: \"$url\" }" > "$configuration"
fanfare migrate > "$made/migrate"

sql "CREATE EXTENSION pg_cron"
sql "SELECT cron.schedule('spring-sale', '* * * * *', \$\$SELECT fanfare.emit('sale.started', '{\"name\": \"Spring sale\"}', 'pg_cron ' || current_date)\$\$)" > /dev/null

install --directory --mode=700 "$made/crontabs"
echo "* * * * * $program emit --config $configuration --key \"crontab \$(date +\\%F)\" sale.started '{\"name\": \"Spring sale\"}'" > "$made/crontabs/root"
chmod 600 "$made/crontabs/root"
busybox crond -f -c "$made/crontabs" -L "$made/crond" &
processes+=($!)

trouble() {
    sql "SELECT status, return_message FROM cron.job_run_details"
    cat "$made/crond"
}

await_value 2 "SELECT count(DISTINCT key) FROM fanfare.outbox WHERE type = 'sale.started'"
sql "SELECT type || ' ' || key || ' ' || payload || ' ' || to_char(created_at, 'HH24:MI:SS') FROM fanfare.outbox ORDER BY id"
echo "schedules: a crontab and pg_cron $(sql "SELECT extversion FROM pg_extension WHERE extname = 'pg_cron'") emitted"
