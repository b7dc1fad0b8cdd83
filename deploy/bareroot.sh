#!/usr/bin/env bash
# Tries the release where there is no Swift: in a bare root of the Debian that runs here, with the packages that
# Documentation.docc/Operation.md names and nothing else. Its libraries are found, it prints its version, `migrate` and `check`
# pass, `serve` starts and drains, and the simulated APNs gets a push.
#
#   deploy/bareroot.sh [PROGRAM]     builds the release, unless a program is named; fanfare-lab is beside it
#
# As root, with debootstrap, a Debian mirror and PostgreSQL; leaves nothing. Exit codes: 0 it works, 1 not, 69 it cannot be tried.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

root=$(mktemp --directory --tmpdir fanfare-bareroot.XXXXXX)
readonly root
processes=()
postgres=""

fail() {
    echo "bareroot: $1" >&2
    exit "${2:-1}"
}

clean_up() {
    local process
    for process in "${processes[@]}"; do kill "$process" 2> /dev/null || true; done
    [[ -z "$postgres" ]] || as_postgres "$postgres/pg_ctl" --pgdata="$root/database" --mode=immediate stop > /dev/null || true
    if mountpoint --quiet "$root/proc"; then umount "$root/proc"; fi
    rm -rf --one-file-system "$root"
}

as_postgres() { runuser --user=postgres -- "$@"; }

# await WHAT FILE TEXT: waits until a file has a text.
await() {
    local _
    for _ in {1..150}; do
        if grep --quiet --fixed-strings "$3" "$2" 2> /dev/null; then return; fi
        sleep 0.2
    done
    cat "$2" >&2
    fail "$1"
}

# Prints what Documentation.docc/Operation.md says is needed; Debian renamed some of it for times of 64 bits.
packages() {
    local package
    for package in libpq5 libcurl4 libssl3 libnghttp2-14 ca-certificates tzdata; do
        if apt-cache show "${package}t64" > /dev/null 2>&1; then echo "${package}t64"; else echo "$package"; fi
    done | paste --serial --delimiters=,
}

make_root() {
    local codename mirror
    codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
    mirror=$(apt-get indextargets --format '$(REPO_URI)' "Codename: $codename" | awk 'NR == 1')
    debootstrap --variant=minbase --include="$(packages)" "$codename" "$root" "${mirror%/}" > "$root.log" 2>&1 \
        || { tail -n 20 "$root.log" >&2 && rm -f "$root.log" && fail "debootstrap could not make a root" 69; }
    rm -f "$root.log"
    echo "127.0.0.1 localhost" > "$root/etc/hosts"
    # Programs find their arguments there.
    mount --types proc proc "$root/proc"
    install --mode 755 --target-directory "$root/usr/local/bin" "$1" "$(dirname "$1")/fanfare-lab"
}

# A PostgreSQL of the machine, whose socket is inside the root.
start_database() {
    local folder
    for folder in /usr/lib/postgresql/*/bin; do [[ -x "$folder/postgres" ]] && postgres=$folder; done
    [[ -n "$postgres" ]] || fail "there is no PostgreSQL; deploy/install-dependencies.sh installs it" 69
    chmod 755 "$root"
    install --directory --owner postgres "$root/database" "$root/run/postgresql"
    as_postgres "$postgres/initdb" --pgdata="$root/database" --auth=trust > /dev/null
    as_postgres "$postgres/pg_ctl" --pgdata="$root/database" --wait --log="$root/database/log" start \
        --options="-c listen_addresses='' -c unix_socket_directories='$root/run/postgresql'" > /dev/null
}

main() {
    ((EUID == 0)) || fail "run it as root" 69
    command -v debootstrap > /dev/null || fail "debootstrap is missing; on Debian: apt install debootstrap" 69
    local program=${1:-}
    trap clean_up EXIT
    [[ -n "$program" ]] || program=$(deploy/release.sh && deploy/release.sh fanfare-lab > /dev/null)
    # SwiftPM lets a program look beside itself first.
    if readelf --dynamic "$program" | grep --extended-regexp 'R(UN)?PATH' | grep --invert-match --fixed-strings '[$ORIGIN]'; then
        fail "the program names a folder of this machine"
    fi
    make_root "$program"
    if chroot "$root" ldd /usr/local/bin/fanfare | grep "not found"; then fail "Operation.md names too few packages"; fi
    start_database

    local inside=(chroot "$root" env --ignore-environment PATH=/usr/bin:/bin FANFARE_CONFIG=/box/fanfare.yaml
        "DATABASE_URL=postgres:///postgres?host=/run/postgresql&user=postgres" /usr/local/bin/fanfare)
    "${inside[@]}" version
    "${inside[@]}" sandbox --dir /box > "$root/sandbox.log" 2>&1 &
    processes+=($!)
    await "the sandbox does not start" "$root/sandbox.log" control_port
    "${inside[@]}" migrate
    "${inside[@]}" check
    "${inside[@]}" serve --json 2> "$root/serve.log" &
    local daemon=$!
    processes+=("$daemon")
    await "the daemon does not start" "$root/serve.log" '"msg":"ready"'
    "${inside[@]}" devices register --app demo --platform apns --user ann "$(printf 'a1%.0s' {1..32})" > /dev/null
    echo '{ name: hello, app: demo, event: hello, to: { users: $.user }, message: { notification: { title: Hello } } }' \
        | "${inside[@]}" rules apply -
    "${inside[@]}" emit hello '{"user": "ann"}' > /dev/null
    local _
    for _ in {1..150}; do
        "${inside[@]}" tail --no-follow --since 1h --outcome accepted > "$root/tail.log"
        [[ ! -s "$root/tail.log" ]] || break
        sleep 0.2
    done
    [[ -s "$root/tail.log" ]] || { cat "$root/serve.log" >&2 && fail "no push was accepted"; }
    kill "$daemon"
    wait "$daemon" || fail "the daemon did not drain: exit code $?"
    echo "bareroot: a program of $(du --apparent-size --block-size=1M "$program" | cut -f 1) MB runs with $(packages)"
}

main "$@"
