# Shared functions of the scripts here that test real programs: a temporary folder, processes and a server, all removed at the end.
#
# Sourced after `cd` to the checkout, with `trial` set to the prefix of messages. `program` is the program, and `configuration` its
# configuration, for scripts that run it.

# shellcheck disable=SC2154 # `trial`, `program` and `configuration` are the script's.
made=$(mktemp --directory --tmpdir "fanfare-$trial.XXXXXX")
readonly made
processes=()
postgres=""

# trouble: prints hints for a failure: the end of the daemon's log, unless a script defines another function.
trouble() { [[ ! -s "$made/daemon.log" ]] || tail -n 20 "$made/daemon.log"; }

# fail TEXT [CODE]: prints the reason and exits.
fail() {
    echo "$trial: $1" >&2
    trouble >&2 || true
    exit "${2:-1}"
}

# expect WHAT WANTED FOUND
expect() { [[ "$2" == "$3" ]] || fail "$1: wanted '$2', found '$3'"; }

# A server must not run as root.
as_postgres() { if ((EUID == 0)); then runuser --user=postgres -- "$@"; else "$@"; fi; }

clean_up() {
    local process
    for process in "${processes[@]}"; do kill "$process" 2> /dev/null || true; done
    for process in "${processes[@]}"; do wait "$process" 2> /dev/null || true; done
    [[ -z "$postgres" ]] || as_postgres "$postgres/pg_ctl" --pgdata="$made/database" --mode=immediate stop > /dev/null || true
    rm -rf "$made"
}
trap clean_up EXIT

# await FILE TEXT: waits until a file has a matching line.
await() {
    local _
    for _ in {1..600}; do
        if grep --quiet --extended-regexp "$2" "$1" 2> /dev/null; then return; fi
        sleep 0.2
    done
    tail -n 50 "$1" >&2 || true
    fail "$1 never had: $2"
}

# ask QUERY: the query function of await_value; a script may define another.
ask() { sql "$1"; }

# await_value WANTED QUERY: waits until `ask` prints the value.
await_value() {
    local found="" _
    for _ in {1..600}; do
        found=$(ask "$2")
        if [[ "$found" == "$1" ]]; then return; fi
        sleep 0.2
    done
    fail "wanted '$1', found '$found': $2"
}

# need COMMAND…: exits if one is missing.
need() {
    local command
    for command in "$@"; do command -v "$command" > /dev/null || fail "$command is missing" 69; done
}

# start_server: starts the server again.
start_server() {
    as_postgres "$postgres/pg_ctl" --pgdata="$made/database" --wait --log="$made/socket/log" start > "$made/pg_ctl" \
        || { cat "$made/socket/log" >&2 && fail "no server"; }
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
    start_server
    as_postgres "$postgres/createdb" --host="$made/socket" --username=postgres app
    url="postgres:///app?host=$made/socket&user=postgres"
}

# sql TEXT: runs SQL in that database.
sql() { as_postgres psql --host="$made/socket" --username=postgres --dbname=app --no-align --tuples-only --quiet --command="$1"; }

fanfare() { "$program" "$@" --config "$configuration"; }

# start_sandbox: starts the simulated providers, with their keys and a configuration in $made/sandbox, and sets `control` to their control port.
start_sandbox() {
    "$program" sandbox --dir "$made/sandbox" > "$made/sandbox.json" &
    processes+=($!)
    await "$made/sandbox.json" control_port
    control=$(sed -nE 's/.*"control_port":([0-9]+).*/\1/p' "$made/sandbox.json")
}

# configure NAME: writes a configuration beside the sandbox's keys, to which it has relative paths: the sandbox's, and more from standard
# input.
configure() {
    configuration=$made/sandbox/$1.yaml
    cat "$made/sandbox/fanfare.yaml" - > "$configuration"
}

# start_daemon TEXT…: starts a daemon, sets `daemon` to its process id, and waits until its log has matching lines. Not through `fanfare`,
# because the shell would then be killed instead of the daemon.
start_daemon() {
    local text
    "$program" serve --config "$configuration" > "$made/daemon.log" 2>&1 &
    daemon=$!
    processes+=("$daemon")
    for text in "$@"; do await "$made/daemon.log" "$text"; done
}
