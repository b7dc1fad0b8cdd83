#!/usr/bin/env bash
# Starts a private Fanfare (an empty database, simulated providers and a daemon), runs a command such as a test suite, and removes all of it.
#
#   deploy/examples/tests/with-fanfare.sh pytest test_pushes.py
#
# The command finds the database's URL in DATABASE_URL, and the URL of the sandbox's control port in SANDBOX_URL. libpq's variables
# (PGHOST, PGUSER …) name the server; the user in them must be allowed to create databases and roles. Needs fanfare with fanfare-lab,
# psql and jq.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

made=$(mktemp --directory)
database=fanfare_test_$$
trap stop EXIT
stop() {
    kill $(jobs -p) 2> /dev/null || true
    wait
    dropdb --if-exists --force "$database"
    rm -rf "$made"
}

# await FILE TEXT PROCESS: waits until the process has written the text to the file. If the process ends before that, the script fails.
await() {
    until grep --quiet --no-messages --fixed-strings "$2" "$1"; do
        kill -0 "$3" 2> /dev/null || { cat "$1" >&2 && exit 1; }
        sleep 0.1
    done
}

createdb "$database"
export DATABASE_URL=postgres:///$database FANFARE_CONFIG=$made/fanfare.yaml

# Starts the simulated providers, and writes a configuration that uses them.
fanfare sandbox --app shop --dir "$made" > "$made/ready" 2>&1 &
await "$made/ready" control_port $!
SANDBOX_URL=http://127.0.0.1:$(jq .control_port "$made/ready")
export SANDBOX_URL

# Loads Fanfare's schema first, because the application's triggers call its functions.
fanfare migrate > "$made/migrated"
psql --quiet --no-psqlrc --set=ON_ERROR_STOP=1 --file=schema.sql "$DATABASE_URL"

fanfare serve > "$made/log" 2>&1 &
await "$made/log" '"msg":"ready"' $!
# Because a daemon runs, `rules apply` returns only when the rules are in force.
fanfare rules apply rules.yaml > "$made/applied" 2>&1 || { cat "$made/applied" >&2 && exit 1; }

"$@"
