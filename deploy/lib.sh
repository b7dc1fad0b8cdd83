# What the scripts here share that try programs for real: a folder, processes and a server of their own, all gone in the end.
#
# Sourced after `cd` to the checkout, with `trial` set to what messages begin with.

# shellcheck disable=SC2154 # `trial` is the script's.
made=$(mktemp --directory --tmpdir "fanfare-$trial.XXXXXX")
readonly made
processes=()
postgres=""

# fail TEXT [CODE]: says why, with the end of the daemon's log where there is one.
fail() {
    echo "$trial: $1" >&2
    [[ ! -s "$made/daemon.log" ]] || tail -n 20 "$made/daemon.log" >&2
    exit "${2:-1}"
}

# No server runs as root.
as_postgres() { if ((EUID == 0)); then runuser --user=postgres -- "$@"; else "$@"; fi; }

clean_up() {
    local process
    for process in "${processes[@]}"; do kill "$process" 2> /dev/null || true; done
    for process in "${processes[@]}"; do wait "$process" 2> /dev/null || true; done
    [[ -z "$postgres" ]] || as_postgres "$postgres/pg_ctl" --pgdata="$made/database" --mode=immediate stop > /dev/null || true
    rm -rf "$made"
}
trap clean_up EXIT

# await FILE TEXT: waits until a file has a line that matches.
await() {
    local _
    for _ in {1..600}; do
        if grep --quiet --extended-regexp "$2" "$1" 2> /dev/null; then return; fi
        sleep 0.2
    done
    tail -n 50 "$1" >&2 || true
    fail "$1 never had: $2"
}

# need COMMAND…: ends where one is missing.
need() {
    local command
    for command in "$@"; do command -v "$command" > /dev/null || fail "$command is missing" 69; done
}

# start_postgres [LINE…]: starts a server with an empty database `app`, adds the lines to its configuration and sets `url`. It starts the
# newest server that Debian installed, or the one whose programs are in the directory `postgres`, if that is set.
start_postgres() {
    local folder
    if [[ -z "$postgres" ]]; then
        for folder in /usr/lib/postgresql/*/bin; do
            [[ ! -x "$folder/initdb" ]] || postgres=$folder
        done
    fi
    [[ -n "$postgres" ]] || fail "PostgreSQL's server is missing" 69
    chmod 755 "$made"
    mkdir "$made/database" "$made/socket"
    ((EUID != 0)) || chown postgres: "$made/database" "$made/socket"
    as_postgres "$postgres/initdb" --pgdata="$made/database" --username=postgres --auth=trust --no-sync > "$made/initdb"
    printf '%s\n' "listen_addresses = ''" "unix_socket_directories = '$made/socket'" "fsync = off" "$@" >> "$made/database/postgresql.conf"
    as_postgres "$postgres/pg_ctl" --pgdata="$made/database" --wait --log="$made/socket/log" start > "$made/pg_ctl" \
        || { cat "$made/socket/log" >&2 && fail "no server"; }
    as_postgres "$postgres/createdb" --host="$made/socket" --username=postgres app
    url="postgres:///app?host=$made/socket&user=postgres"
}

# sql TEXT: asks that database.
sql() { as_postgres psql --host="$made/socket" --username=postgres --dbname=app --no-align --tuples-only --quiet --command="$1"; }
