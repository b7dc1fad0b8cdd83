#!/usr/bin/env bash
# Upgrades two daemons one after the other, and the schema between them, in the middle of a broadcast. Counts the pushes that the simulated
# providers get: each device must get the broadcast once.
#
#   deploy/rolling.sh OLD NEW   the two programs, each with fanfare-lab in the same directory; the schema of NEW is the same or newer
#
# Needs curl and jq; leaves nothing. Exit codes: 0 each device got it once, 1 not, 64 usage, 69 it cannot be tried.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

(($# == 2)) || { echo "usage: rolling.sh OLD NEW" >&2 && exit 64; }
old=$(readlink -f "$1") new=$(readlink -f "$2")
program=$old
readonly old new trial=rolling devices=20000
. deploy/lib.sh

trouble() { tail -n 20 "$made"/*.log; }

# control REQUEST [OPTION…]: sends a request to the simulated providers.
control() { curl --silent --show-error --fail "http://127.0.0.1:$control/$1" "${@:2}"; }

# accepted: prints the number of pushes that the providers have accepted.
accepted() { control counts | jq .received; }

# await_accepted COUNT: waits until that many pushes were accepted.
await_accepted() { control "counts?at_least=$1&wait=120" > "$made/counts"; }

# begin_daemon NAME PROGRAM: starts a daemon beside the others, sets `daemon` to its process id, and waits until it has its lease.
begin_daemon() {
    "$2" serve --config "$configuration" > "$made/$1.log" 2>&1 &
    daemon=$!
    processes+=("$daemon")
    await "$made/$1.log" 'lease taken'
}

# end_daemon PID: ends a daemon as systemd does, and expects that it ends well.
end_daemon() {
    local status=0
    kill -TERM "$1"
    wait "$1" || status=$?
    expect "exit code of a daemon after SIGTERM" 0 "$status"
}

schema_version() { sql "SELECT version FROM fanfare.schema_version"; }

need curl jq
start_sandbox
start_postgres
configure rolling << YAML
installation: production
database: { url: "$url" }
log: { format: text }
YAML
fanfare migrate > "$made/migrated"
from=$(schema_version)
sql "SET client_min_messages = warning;
    SELECT fanfare.register_device('demo', 'apns', encode(sha256(('device ' || n)::bytea), 'hex'), 'user-' || n)
    FROM generate_series(1, $devices) AS n" > "$made/devices"
cat > "$made/rules.yaml" << 'YAML'
- name: sale
  app: demo
  event: sale.started
  to: { everyone: true }
  message: { notification: { title: "Sale" } }
YAML
begin_daemon first "$old"
first=$daemon
begin_daemon second "$old"
second=$daemon
fanfare rules apply "$made/rules.yaml" > "$made/rules" 2>&1 || { cat "$made/rules" >&2 && fail "rules were refused"; }
await_value 1 "SELECT count(*) FROM fanfare.rule_versions WHERE state = 'active'"
# Each answer is delayed, so that the broadcast lasts as long as the upgrade.
control faults --request POST --header 'Content-Type: application/json' --data '[{"do": "slow", "ms": 300}]' > "$made/faults"
sql "SELECT fanfare.emit('sale.started', '{}')" > "$made/emitted"

await_accepted $((devices / 20))
program=$new
fanfare migrate > "$made/migrated"
to=$(schema_version)
migrated=$(accepted)
begin_daemon third "$new"
await_accepted $((migrated + devices / 20))
beside=$(accepted)
((beside < devices)) || fail "the broadcast ended before a daemon was replaced"
expect "daemons with a lease" 3 "$(sql "SELECT count(*) FROM fanfare.instances WHERE lease_until > clock_timestamp()")"
end_daemon "$first"
begin_daemon fourth "$new"
end_daemon "$second"
replaced=$(accepted)
((replaced < devices)) || fail "the broadcast ended before both daemons were replaced"
await_value 0 "SELECT count(*) FROM fanfare.deliveries WHERE outcome = 'pending'"

expect "outcomes" "accepted $devices" "$(sql "SELECT outcome || ' ' || count(*) FROM fanfare.deliveries GROUP BY outcome")"
expect "pushes" "$devices" "$(accepted)"
expect "devices that got one" "$devices" "$(control "received?after=0" | jq --raw-output .target | sort --unique | wc -l)"
expect "ill rows of health" "" "$(sql "SELECT name, detail FROM fanfare.health WHERE NOT ok")"
echo "rolling: schema $from to $to at $migrated pushes, two daemons replaced at $replaced; $devices devices got the broadcast once"
