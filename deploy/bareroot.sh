#!/usr/bin/env bash
# Tests the packages of deploy/package.sh on a machine without Swift: in a bare root of the running Debian release, with their dependencies
# and nothing else. They are installed, fanfare's is upgraded beside an edited configuration, removed, and purged without leftovers. In
# between, `migrate` and `check` pass, `serve` starts and drains, and the simulated APNs gets a push. No systemd runs there: the calls to it
# are recorded and compared.
#
#   deploy/bareroot.sh [PROGRAM]     builds the release, unless a program is named; fanfare-lab is beside it
#
# Runs as root, with debootstrap, dpkg-dev, a Debian mirror and PostgreSQL; leaves nothing. Exit codes: 0 it works, 1 not, 69 it cannot be
# tested.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

root=$(mktemp --directory --tmpdir fanfare-bareroot.XXXXXX)
made=$(mktemp --directory --tmpdir fanfare-bareroot.XXXXXX)
readonly root made
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
    rm -rf --one-file-system "$root" "$made"
}

as_postgres() { runuser --user=postgres -- "$@"; }

# await WHAT FILE TEXT: waits until a file contains a text.
await() {
    local _
    for _ in {1..150}; do
        if grep --quiet --fixed-strings "$3" "$2" 2> /dev/null; then return; fi
        sleep 0.2
    done
    cat "$2" >&2
    fail "$1"
}

# packages DEB: prints its dependencies, for debootstrap.
packages() { dpkg-deb --field "$1" Depends | sed --regexp-extended 's/ \([^)]*\)//g; s/ //g'; }

# make_root DEB
make_root() {
    local codename mirror
    codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
    mirror=$(apt-get indextargets --format '$(REPO_URI)' "Codename: $codename" | awk 'NR == 1')
    debootstrap --variant=minbase --include="$(packages "$1")" "$codename" "$root" "${mirror%/}" > "$made/debootstrap" 2>&1 \
        || { tail -n 20 "$made/debootstrap" >&2 && fail "debootstrap could not make a root" 69; }
    echo "127.0.0.1 localhost" > "$root/etc/hosts"
    # Programs read their own arguments there.
    mount --types proc proc "$root/proc"
    # Simulates a running systemd for the package's scripts, and records the calls.
    install --directory "$root/run/systemd/system"
    printf '#!/bin/sh\necho "$*" >> /run/systemd/told\n' | install --mode 755 /dev/stdin "$root/usr/bin/systemctl"
}

# dpkg OPTION …: runs the root's dpkg, without prompts.
dpkg() {
    DEBIAN_FRONTEND=noninteractive chroot "$root" dpkg --force-confold "$@" > "$made/dpkg" 2>&1 < /dev/null \
        || { cat "$made/dpkg" >&2 && fail "dpkg $* failed"; }
}

# expect_systemd TEXT: compares the calls to systemd since the last time.
expect_systemd() {
    local told
    told=$(paste --serial --delimiters=, "$root/run/systemd/told")
    rm "$root/run/systemd/told"
    [[ "$told" == "$1" ]] || fail "systemd was told '$told', and not '$1'"
}

# expect_said TEXT: expects a text in the package's output of the last dpkg run.
expect_said() { grep --quiet --fixed-strings "$1" "$made/dpkg" || { cat "$made/dpkg" >&2 && fail "the package did not say '$1'"; }; }

# expect_file PATH OWNER MODE
expect_file() {
    local is
    is=$(chroot "$root" stat --format '%U:%G %a' "$1") || fail "$1 is not there"
    [[ "$is" == "$2 $3" ]] || fail "$1 is $is, and not $2 $3"
}

# Lists the files where packages install them, without dpkg's own; /etc/shadow- and the like are adduser's.
list_files() { (cd "$root" && find etc usr var/lib -path var/lib/dpkg -prune -o -print) | grep --invert-match '^etc/[a-z]*-$' | sort; }

try_install() {
    list_files > "$made/before"
    dpkg --install /fanfare.deb
    expect_systemd "--system daemon-reload"
    expect_said "1. edit /etc/fanfare/fanfare.yaml"
    expect_said "systemctl enable --now fanfare"
    expect_file /usr/bin/fanfare root:root 755
    expect_file /usr/lib/systemd/system/fanfare.service root:root 644
    expect_file /usr/share/man/man1/fanfare.1.gz root:root 644
    expect_file /etc/fanfare/fanfare.yaml root:root 644
    expect_file /usr/share/doc/fanfare/deploy/prometheus.yaml root:root 644
    expect_file /usr/share/doc/fanfare/deploy/grafana-dashboard.json root:root 644
    expect_file /usr/share/doc/fanfare/deploy/examples/backend.py root:root 755
    # Each runbook must be an existing article.
    [[ "$(sed -nE 's|^ *runbook_url: file://(.*\.md)#.*|\1|p' "$root/usr/share/doc/fanfare/deploy/alerts.yaml" | sort --unique)" \
        == /usr/share/doc/fanfare/Operation.md ]] || fail "runbooks are not where the package has its articles"
    expect_file /etc/fanfare/credentials root:root 700
    chroot "$root" id fanfare > /dev/null || fail "there is no user fanfare"
    dpkg --install /fanfare-lab.deb
    expect_file /usr/libexec/fanfare/fanfare-lab root:root 755
    if chroot "$root" ldd /usr/bin/fanfare /usr/libexec/fanfare/fanfare-lab | grep "not found"; then fail "the packages depend on too little"; fi
}

# Upgrades to a higher version with another example, beside an edited configuration and a key.
try_upgrade() {
    local version
    version=$(dpkg-deb --field "$root/fanfare.deb" Version)
    dpkg-deb --raw-extract "$root/fanfare.deb" "$made/higher"
    sed --in-place "s/^Version: .*/&.1/" "$made/higher/DEBIAN/control"
    echo "# another example" >> "$made/higher/etc/fanfare/fanfare.yaml"
    dpkg-deb -Zgzip --root-owner-group --build "$made/higher" "$root/higher.deb" > /dev/null
    echo "# edited" >> "$root/etc/fanfare/fanfare.yaml"
    echo secret > "$root/etc/fanfare/credentials/apns.p8"
    # The package depends on the exact version of fanfare.
    dpkg --purge fanfare-lab
    dpkg --install /higher.deb
    # A running daemon continues until the schema is upgraded.
    expect_systemd "--system daemon-reload"
    expect_said "goes on with the old program"
    expect_said "fanfare migrate"
    [[ "$(chroot "$root" dpkg-query --show --showformat '${Version} ${db:Status-Status}' fanfare)" == "$version.1 installed" ]] \
        || fail "it was not upgraded"
    [[ "$(tail -n 1 "$root/etc/fanfare/fanfare.yaml")" == "# edited" ]] || fail "the upgrade took an edited configuration away"
}

try_removal() {
    dpkg --remove fanfare
    expect_systemd "stop fanfare.service,--system daemon-reload"
    [[ ! -e "$root/usr/bin/fanfare" ]] || fail "the program was left"
    [[ "$(tail -n 1 "$root/etc/fanfare/fanfare.yaml")" == "# edited" ]] || fail "the removal took the configuration"
    [[ -e "$root/etc/fanfare/credentials/apns.p8" ]] || fail "the removal took the credentials"
    dpkg --purge fanfare
    list_files | diff "$made/before" - || fail "these files were left or taken"
    if chroot "$root" id fanfare > /dev/null 2>&1; then fail "the user fanfare was left"; fi
}

# Starts a PostgreSQL of the machine, with its socket inside the root.
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

# Runs the program with a database and the simulated APNs.
try_program() {
    local inside=(chroot "$root" env --ignore-environment PATH=/usr/bin:/bin FANFARE_CONFIG=/box/fanfare.yaml
        "DATABASE_URL=postgres:///postgres?host=/run/postgresql&user=postgres" fanfare)
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
    "${inside[@]}" devices register --app demo --provider apns --user ann "$(printf 'a1%.0s' {1..32})" > /dev/null
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
}

main() {
    ((EUID == 0)) || fail "run it as root" 69
    command -v debootstrap > /dev/null || fail "debootstrap is missing; on Debian: apt install debootstrap" 69
    local program=${1:-} package
    trap clean_up EXIT
    [[ -n "$program" ]] || program=$(deploy/release.sh && deploy/release.sh fanfare-lab > /dev/null)
    # SwiftPM adds the program's own directory to its library path.
    if readelf --dynamic "$program" | grep --extended-regexp 'R(UN)?PATH' | grep --invert-match --fixed-strings '[$ORIGIN]'; then
        fail "the program names a folder of this machine"
    fi
    package=$(deploy/package.sh --output "$made" "$program")
    make_root "$package"
    install --mode 644 "$package" "$root/fanfare.deb"
    install --mode 644 "$(deploy/package.sh --lab --output "$made" "$(dirname "$program")/fanfare-lab")" "$root/fanfare-lab.deb"
    try_install
    start_database
    try_program
    try_upgrade
    try_removal
    echo "bareroot: $(basename "$package") installs, runs, upgrades and is removed with $(packages "$package")"
}

main "$@"
