#!/usr/bin/env bash
# Upgrades a live database with pg_upgrade: kills the daemon in the middle of a broadcast, stops and upgrades the server, and starts the
# daemon again. Counts the pushes that the simulated providers get before and after.
#
#   deploy/upgrade.sh OLD NEW [PROGRAM]   directories of the old and of the new server's programs (initdb, pg_ctl, …), such as
#                                         /usr/lib/postgresql/15/bin; PROGRAM is the debug build unless named, with fanfare-lab in
#                                         the same directory
#
# Needs curl, jq and both servers, built for the same locales; leaves nothing. Exit codes: 0 all was sent, 1 not, 64 usage, 69 it
# cannot be tried.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

(($# == 2 || $# == 3)) || { echo "usage: upgrade.sh OLD NEW [PROGRAM]" >&2 && exit 64; }
old=$1 new=$2
program=$(readlink -f "${3:-.build/debug/fanfare}")
readonly old new program trial=upgrade devices=6000
. deploy/lib.sh

# control REQUEST [OPTION…]: sends a request to the simulated providers.
control() { curl --silent --show-error --fail "http://127.0.0.1:$control/$1" "${@:2}"; }

# accepted [EXPRESSION]: prints the pushes accepted so far, by an expression of jq.
accepted() { control "received?after=0" | jq --raw-output "select(.status == 200) | ${1:-.target}"; }

# stop_server: shuts the server down cleanly, as pg_upgrade requires.
stop_server() { as_postgres "$postgres/pg_ctl" --pgdata="$made/database" --mode=fast --wait stop > "$made/pg_ctl"; }

# has OPTION PROGRAM: returns whether a server's program has an option.
has() { "$2" --help | grep --quiet -e "$1"; }

# prepare: starts the old server, with rules and many devices.
prepare() {
    postgres=$old
    start_postgres
    configure upgrade << YAML
installation: production
database: { url: "$url" }
log: { format: text }
YAML
    fanfare migrate > "$made/migrated"
    sql "SET client_min_messages = warning;
        SELECT fanfare.register_device('demo', 'apns', encode(sha256(('device ' || n)::bytea), 'hex'), 'user-' || n)
        FROM generate_series(1, $devices) AS n" > "$made/devices"
    cat > "$made/rules.yaml" << 'YAML'
- name: sale
  app: demo
  event: sale.started
  to: { everyone: true }
  message: { notification: { title: "Sale" } }
- name: note
  app: demo
  event: note.written
  to: { users: $.users }
  message: { notification: { title: "{{text}}" } }
YAML
    start_daemon 'lease taken'
    fanfare rules apply "$made/rules.yaml" > "$made/rules" 2>&1 || { cat "$made/rules" >&2 && fail "rules were refused"; }
    await_value 2 "SELECT count(*) FROM fanfare.rule_versions WHERE state = 'active'"
}

# interrupt: kills the daemon in the middle of a broadcast, with two more events waiting, one of them cancelled.
interrupt() {
    # Each answer is delayed; otherwise the broadcast would end at once.
    control faults --request POST --header 'Content-Type: application/json' --data '[{"do": "slow", "ms": 400}]' > "$made/faults"
    sql "SELECT fanfare.emit('sale.started', '{}')" > "$made/emitted"
    control "counts?at_least=$((devices / 3))&wait=120" > "$made/counts"
    kill -KILL "$daemon"
    wait "$daemon" 2> /dev/null || true
    sql "SELECT fanfare.emit('note.written', '{\"users\": [\"user-1\"], \"text\": \"kept\"}', 'kept')" > "$made/emitted"
    sql "SELECT fanfare.emit('note.written', '{\"users\": [\"user-1\"], \"text\": \"taken back\"}', 'taken back');
        SELECT fanfare.cancel('note.written', 'taken back')" > "$made/emitted"
    recorded=$(sql "SELECT count(*) FROM fanfare.deliveries WHERE outcome = 'accepted'")
    control faults --request DELETE > "$made/faults"
}

# upgrade: moves the data to the new server.
upgrade() {
    local sums=()
    stop_server
    if as_postgres "$old/pg_controldata" "$made/database" | grep --quiet -e 'checksum version: *0' && has --no-data-checksums "$new/initdb"; then
        sums=(--no-data-checksums)
    fi
    mv "$made/database" "$made/old"
    mkdir "$made/database"
    ((EUID != 0)) || chown postgres: "$made/database"
    as_postgres "$new/initdb" --pgdata="$made/database" --username=postgres --auth=trust --no-sync "${sums[@]}" > "$made/initdb"
    grep --after-context=3 "^listen_addresses" "$made/old/postgresql.conf" >> "$made/database/postgresql.conf"
    (cd "$made/socket" && as_postgres "$new/pg_upgrade" --old-datadir="$made/old" --new-datadir="$made/database" --old-bindir="$old" \
        --new-bindir="$new" --username=postgres --socketdir="$made/socket" > "$made/pg_upgrade") \
        || { cat "$made/pg_upgrade" >&2 && fail "pg_upgrade refused"; }
    postgres=$new
    start_server
    # The providers have answered all requests in flight by now.
    before=$(accepted | wc -l)
    ((before > 0 && before < devices)) || fail "the broadcast was not interrupted: $before of $devices"
}

# resume: follows the steps of Upgrade.md, and checks that nothing is sent before adopt.
resume() {
    local status=0
    fanfare migrate > "$made/migrated"
    expect "ids that skipped ahead" t "$(sql "SELECT last_value > 10000000 FROM fanfare.event_sequence")"
    fanfare serve > "$made/refused" 2>&1 || status=$?
    expect "exit code before adopt" 78 "$status"
    grep --quiet 'is a copy of the one that was adopted' "$made/refused" || { cat "$made/refused" >&2 && fail "other words"; }
    expect "accepted before adopt" "$before" "$(accepted | wc -l)"
    fanfare adopt > "$made/adopted"
    start_daemon 'lease taken'
    await_value 0 "SELECT count(*) FROM fanfare.deliveries WHERE outcome = 'pending'"
    await_value "planned" "SELECT fate FROM fanfare.events WHERE key = 'kept'"
}

# judge: checks that each device got the broadcast, and that repeated pushes kept their apns-id.
judge() {
    expect "fate of the cancelled event" cancelled "$(sql "SELECT fate FROM fanfare.events WHERE key = 'taken back'")"
    expect "devices that got the broadcast" "$devices" "$(accepted 'select(.body | tostring | contains("Sale")) | .target' | sort --unique | wc -l)"
    expect "pushes of the event that waited" 1 "$(accepted 'select(.body | tostring | contains("kept")) | .target' | wc -l)"
    expect "pushes of the cancelled event" 0 "$(accepted 'select(.body | tostring | contains("taken back")) | .target' | wc -l)"
    ids=$(accepted '"\(.target) \(.headers["apns-id"] | ascii_downcase)"' | sort --unique | wc -l)
    expect "deliveries, each under one apns-id" "$((devices + 1))" "$ids"
    repeated=$(($(accepted | wc -l) - devices - 1))
    ((repeated <= before - recorded && repeated <= 4096)) || fail "$repeated repeated, $before accepted and $recorded recorded"
    sed 's/^- name: note/- name: note\n  lane: transactional/' "$made/rules.yaml" > "$made/newer.yaml"
    fanfare rules apply "$made/newer.yaml" > "$made/rules" 2>&1 || { cat "$made/rules" >&2 && fail "rules were refused after the upgrade"; }
    await_value 2 "SELECT max(version) FROM fanfare.rules AS r JOIN fanfare.rule_versions AS v ON v.rule_id = r.id
        WHERE r.name = 'note' AND v.state = 'active'"
    sql "SELECT fanfare.emit('note.written', '{\"users\": [\"user-2\"], \"text\": \"afterwards\"}')" > "$made/emitted"
    await_value $((devices + 2)) "SELECT count(DISTINCT (event_id, device_id)) FROM fanfare.deliveries WHERE outcome = 'accepted'"
    expect "ill rows of health" "" "$(sql "SELECT name, detail FROM fanfare.health WHERE NOT ok")"
}

need curl jq
[[ -x "$old/initdb" && -x "$new/initdb" && -x "$new/pg_upgrade" ]] || fail "no servers in $old and $new" 69
start_sandbox
prepare
from=$(sql "SHOW server_version")
interrupt
upgrade
resume
judge
echo "upgrade: $from to $(sql "SHOW server_version"): $before accepted and $recorded recorded at kill -9, $repeated of them repeated;" \
    "$devices devices got the broadcast, the event that waited was sent, the cancelled one was not"
