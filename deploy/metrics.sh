#!/usr/bin/env bash
# Checks the monitoring files with Prometheus' own tools: tests of the alerts, the example configuration, every query of the dashboard, that
# each metric in them is in Metrics.md, and that each runbook is an existing heading.
#
#   deploy/metrics.sh             the checks without a daemon
#   deploy/metrics.sh PROGRAM     also a daemon: a temporary Prometheus with the example's configuration scrapes it, reads exemplars, and
#                                 two injected faults make their alerts fire and clear. fanfare-lab is in the same directory
#
# Needs promtool and jq; with a program also prometheus, curl, Python 3 and PostgreSQL's server (deploy/install-dependencies.sh --metrics);
# leaves nothing. Exit codes: 0 all passed, 1 not, 64 usage, 69 it cannot be tested.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly articles=Sources/fanfare/Documentation.docc trial=metrics
program=""
. deploy/lib.sh

# Prints the metrics that have a row in Metrics.md.
documented() { sed -nE '/^\| `(fanfare|process)_/{s/^\| ([^|]*)\|.*/\1/; s/[`, ]+/\n/g; p}' "$articles/Metrics.md" | sed '/^$/d' | sort --unique; }

# Prints the dashboard's queries as Prometheus gets them.
queries() { jq --raw-output '.. | .expr? // empty' deploy/grafana-dashboard.json | sed 's/\$__rate_interval/5m/g'; }

# promtool can check rules only, so each query becomes a rule.
check_dashboard() {
    local query number=0
    echo "groups: [ { name: dashboard, rules: [" > "$made/dashboard.yaml"
    while read -r query; do
        number=$((number + 1))
        jq --null-input --compact-output --arg name "query:$number" --arg query "$query" '{record: $name, expr: $query}' | sed 's/$/,/' >> "$made/dashboard.yaml"
    done < <(queries)
    echo "] } ]" >> "$made/dashboard.yaml"
    ((number > 0)) || fail "the dashboard asks nothing"
    promtool check rules "$made/dashboard.yaml"
}

# A query for a metric that does not exist would not be noticed otherwise.
check_names() {
    local unknown
    documented > "$made/documented"
    [[ -s "$made/documented" ]] || fail "Metrics.md has no table of metrics"
    unknown=$({ queries && sed '/^ *#/d; /runbook_url/d; /description:/d; /summary:/d; /first_step:/d' deploy/alerts.yaml; } \
        | grep --only-matching --extended-regexp '\b(fanfare|process)_[a-z_]+' | sed -E 's/_(bucket|count|sum)$//' | sort --unique \
        | comm -23 - "$made/documented")
    [[ -z "$unknown" ]] || fail "Metrics.md does not have: ${unknown//$'\n'/ }"
}

# Prints the headings of an article as the code host's anchors.
anchors() { sed -nE 's/^#+ //p' "$1" | tr '[:upper:]' '[:lower:]' | tr --complement --delete 'a-z0-9 _\n-' | tr ' ' '-'; }

check_runbooks() {
    local page alerts runbooks=0
    while read -r page; do
        runbooks=$((runbooks + 1))
        # A runbook for a label matches each heading with the same start.
        anchors "$articles/${page%%#*}" | grep --quiet --extended-regexp "^${page#*#}\$" || fail "alerts.yaml: there is no heading for $page"
    done < <(sed -nE 's/\{\{[^}]*\}\}/.+/; s|^ *runbook_url: .*/([A-Za-z]+\.md#[^ ]+)$|\1|p' deploy/alerts.yaml)
    alerts=$(grep --count -- '- alert:' deploy/alerts.yaml)
    ((runbooks == alerts)) || fail "alerts.yaml has $alerts alerts, of which $runbooks have a runbook"
    (($(grep --count '^ *first_step: ' deploy/alerts.yaml) == alerts)) || fail "alerts.yaml: each of the $alerts alerts needs a first_step"
    while read -r page; do
        grep --quiet "alertname: $page," deploy/alerts-test.yaml && grep --quiet "alertname: $page\$" deploy/alerts-test.yaml \
            || fail "alerts-test.yaml does not play that $page fires and clears"
    done < <(sed -nE 's/^ *- alert: //p' deploy/alerts.yaml)
}

# Relays data between PostgreSQL and its client, on a socket of its own. After one signal it drops notifications, as a pool would; after
# another it passes them again.
write_deaf_proxy() {
    cat > "$made/deaf.py" << 'PYTHON'
import asyncio, signal, sys

deaf = False

def toggle():
    global deaf
    deaf = not deaf
    print("deaf" if deaf else "hears", flush=True)

async def to_server(reader, writer):
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    writer.close()

async def to_client(reader, writer):
    try:
        while True:
            head = await reader.readexactly(5)
            body = await reader.readexactly(int.from_bytes(head[1:], "big") - 4)
            if not (deaf and head[:1] == b"A"):
                writer.write(head + body)
                await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()

async def serve(reader, writer):
    up_reader, up_writer = await asyncio.open_unix_connection(sys.argv[1])
    await asyncio.gather(to_server(reader, up_writer), to_client(up_reader, writer), return_exceptions=True)

async def main():
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, toggle)
    server = await asyncio.start_unix_server(serve, sys.argv[2])
    print("listens", flush=True)
    await server.serve_forever()

asyncio.run(main())
PYTHON
}

# ask QUERY: prints the answer of check_daemon's Prometheus.
ask() { promtool query instant "http://$prometheus" "$1"; }

# await_answer QUERY TEXT: waits until there is an answer, for twice the time in which a daemon tests LISTEN again.
await_answer() {
    local _
    for _ in {1..450}; do
        if [[ "$(ask "$1")" == *"=> "* ]]; then return; fi
        sleep 0.2
    done
    ask ALERTS >&2
    fail "Prometheus never saw $2"
}

firing() { echo "ALERTS{alertstate=\"firing\", alertname=\"$1\"}"; }

await_firing() { await_answer "$(firing "$1")" "that $1 fires"; }

await_clear() { await_answer "absent($(firing "$1"))" "that $1 clears"; }

# Before the first scrape no daemon is visible, and a scrape may fail on a busy machine.
await_calm() { await_answer 'absent(ALERTS{alertstate="firing"})' "that nothing fires"; }

# Starts a daemon with simulated providers, on a database behind the proxy; FCM's credentials do not exist yet.
start_all() {
    start_postgres
    write_deaf_proxy
    mkdir "$made/proxy"
    python3 "$made/deaf.py" "$made/socket/.s.PGSQL.5432" "$made/proxy/.s.PGSQL.5432" > "$made/proxy.log" 2>&1 &
    proxy=$!
    processes+=("$proxy")
    await "$made/proxy.log" listens

    start_sandbox
    # Beside the sandbox's keys, to which its configuration has relative paths.
    configuration=$made/sandbox/metrics.yaml
    {
        cat "$made/sandbox/fanfare.yaml"
        echo "installation: metrics"
        echo "database: { url: \"postgres:///app?host=$made/proxy&user=postgres\" }"
        echo 'api: { listen: "127.0.0.1:0" }'
        echo "log: { format: text }"
    } > "$made/all.yaml"
    # Removes FCM's block, which ends where the next provider's begins.
    sed '/^    fcm:/,/^    [a-z]*:\|^[a-z]/{/^    fcm:/d;/^     /d}' "$made/all.yaml" > "$configuration"
    ! grep --quiet fcm: "$configuration" || fail "the sandbox's configuration is not as it was"
    cat > "$made/rules.yaml" << 'YAML'
- name: code-sent
  app: demo
  event: code.sent
  to: { users: $.user }
  lane: transactional
  message: { notification: { title: "Your code" } }
YAML
    fanfare migrate > "$made/migrated"
    start_daemon 'HTTP API listening' ' ready '
    fanfare rules apply "$made/rules.yaml" > "$made/rules" 2>&1
    await "$made/daemon.log" 'rule in force.*code-sent'
    address=$(sed -nE 's/.*HTTP API listening.* listen=([^ ]+).*/\1/p' "$made/daemon.log")
}

# Starts Prometheus with the example's configuration and alerts, with each minute shortened to five seconds.
start_prometheus() {
    sed "s/127\.0\.0\.1:8080/$address/; s/15s/2s/; s/scrape_timeout: .*/scrape_timeout: 2s/" deploy/prometheus.yaml > "$made/prometheus.yaml"
    sed -E 's/for: 1m$/for: 5s/; s/for: 2m$/for: 10s/; s/for: [0-9]+m$/for: 25s/; s/\) > 60$/) > 5/' deploy/alerts.yaml > "$made/alerts.yaml"
    prometheus --config.file "$made/prometheus.yaml" --storage.tsdb.path "$made/data" --web.listen-address 127.0.0.1:0 \
        --enable-feature=exemplar-storage > "$made/prometheus.log" 2>&1 &
    processes+=($!)
    await "$made/prometheus.log" 'msg="Listening on"'
    prometheus=$(sed -nE 's/.*msg="Listening on" .*address=([0-9.:]+).*/\1/p' "$made/prometheus.log")
}

# emit USER
emit() { sql "SELECT fanfare.emit('code.sent', '{\"user\": \"$1\"}')"; }

check_daemon() {
    local unknown event
    start_all
    start_prometheus
    sql "SELECT fanfare.register_device('demo', 'apns', repeat('ab', 32), 'ann'), fanfare.register_device('demo', 'fcm', 'android-1', 'ben')" > "$made/registered"
    event=$(emit ann)
    await_answer 'sum(fanfare_pushes_total{outcome="accepted"}) > 0' "a push"
    await_answer 'sum(fanfare_emit_to_accepted_seconds_count{lane="transactional"}) > 0' "how long it took"
    await_answer 'sum(fanfare_connections{state="open"}) > 0' "a connection"
    curl --silent --show-error --fail --get "http://$prometheus/api/v1/query_exemplars" --data-urlencode 'query=fanfare_emit_to_accepted_seconds_bucket' \
        --data-urlencode "start=$(($(date +%s) - 600))" --data-urlencode "end=$(($(date +%s) + 60))" > "$made/exemplars"
    jq --exit-status --arg event "$event" '.data[].exemplars[] | select(.labels.event_id == $event)' "$made/exemplars" > "$made/exemplar" \
        || fail "Prometheus has no exemplar of event $event: $(cat "$made/exemplars")"

    curl --silent --show-error --fail "http://$address/metrics" > "$made/told"
    promtool check metrics < "$made/told"
    unknown=$(sed -nE 's/^# TYPE ([^ ]+) .*/\1/p' "$made/told" | sort --unique | comm -23 - "$made/documented")
    [[ -z "$unknown" ]] || fail "Metrics.md does not have: ${unknown//$'\n'/ }"
    await_calm

    echo "metrics: nobody has credentials for FCM"
    emit ben > "$made/emitted"
    await_firing FanfarePushesWait
    cp "$made/all.yaml" "$configuration"
    kill -HUP "$daemon"
    await_clear FanfarePushesWait
    await_answer 'sum(fanfare_pushes_total{outcome="accepted", provider="fcm"}) > 0' "the push that waited"

    echo "metrics: a daemon hears no notifications"
    kill -USR1 "$proxy"
    await_firing FanfareNotListening
    kill -USR1 "$proxy"
    await_clear FanfareNotListening
    await_calm
}

main() {
    if (($# > 1)) || [[ "${1:-}" == -* ]]; then fail "usage: metrics.sh [PROGRAM]" 64; fi
    if (($# == 1)); then
        [[ -x "$1" && -f "$1" ]] || fail "there is no program $1" 64
        program=$(realpath "$1")
        need prometheus curl python3
    fi
    need promtool jq
    promtool check config deploy/prometheus.yaml
    promtool test rules deploy/alerts-test.yaml
    check_dashboard
    check_names
    check_runbooks
    [[ -z "$program" ]] || check_daemon
    echo "metrics: $(wc --lines < "$made/documented") metrics, $(grep --count -- '- alert:' deploy/alerts.yaml) alerts, all in order"
}

main "$@"
