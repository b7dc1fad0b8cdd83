#!/usr/bin/env bash
# Runs the clients of deploy/examples against a temporary daemon with simulated providers: the backends in curl, Python and Node, each
# through a proxy that rejects, loses and delays requests, and the page with its service worker in a simulated browser. Before that, what the
# worker and the app for iPhones report, to a local server.
#
#   deploy/clients.sh [PROGRAM]      the debug build, unless a program is named; fanfare-lab is beside it
#
# Needs PostgreSQL's server, curl, Python 3, Node 18 or later and Swift; leaves nothing. Exit codes: 0 they work, 1 not, 69 they cannot be tested.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

program=$(readlink -f "${1:-.build/debug/fanfare}")
readonly program trial=clients
. deploy/lib.sh

need curl python3 node swiftc
node --eval 'process.exit(Number.parseInt(process.versions.node) < 18 ? 1 : 0)' || fail "Node $(node --version) is older than 18" 69

node Tests/ClientExamples/reports.mjs || fail "the worker's reports are not as they should be"
# What needs UIKit is only parsed here.
swiftc -parse deploy/examples/ios/*.swift || fail "the app for iPhones cannot be parsed"
swiftc -swift-version 6 -warnings-as-errors -parse-as-library -o "$made/queue" deploy/examples/ios/ReportQueue.swift \
    Tests/ClientExamples/ReportQueueMain.swift
node Tests/ClientExamples/queue.mjs "$made/queue" "$made/reports" || fail "the reports of the app for iPhones are not as they should be"

# Compiling needs Google's SDK. In a venv, since Debian's pip refuses to install outside of one.
python3 -m venv "$made/kotlin"
"$made/kotlin/bin/pip" install --quiet tree-sitter==0.26.1 tree-sitter-kotlin==1.1.0 || fail "the parser of Kotlin cannot be fetched from PyPI" 69
"$made/kotlin/bin/python" Tests/ClientExamples/parse_kotlin.py deploy/examples/android/*.kt || fail "the app for Android cannot be parsed"

start_postgres
start_sandbox
configure clients << YAML
installation: clients
database: { url: "$url" }
api: { listen: "127.0.0.1:0" }
log: { format: text }
YAML
cat > "$made/rules.yaml" << 'YAML'
- name: sale-started
  app: demo
  event: sale.started
  to: { condition: "'news' in topics" }
  message: { notification: { title: "{{name}}", body: "Starts now" } }
- name: order-shipped
  app: demo
  event: order.shipped
  to: { users: $.customer_id }
  report: true
  message:
    notification: { title: "Order {{order_id}}", body: "On its way" }
    data: { order: "{{order_id}}" }
    webpush:
      notification: { dir: ltr }
      fcm_options: { link: https://shop.example.com/orders }
YAML
fanfare migrate > "$made/migrated"
start_daemon 'HTTP API listening' ' ready '
fanfare rules apply "$made/rules.yaml" > "$made/rules" 2>&1
# An event only matches rules that are in force when it is emitted.
await "$made/daemon.log" 'rule in force.*sale-started'
await "$made/daemon.log" 'rule in force.*order-shipped'

daemon=http://$(sed -nE 's/.*HTTP API listening.* listen=([^ ]+).*/\1/p' "$made/daemon.log")
FANFARE_TOKEN=$(fanfare tokens create clients --scope registrar --scope emitter --scope reader --rate 1000)
export FANFARE_TOKEN FANFARE_APP=demo
node Tests/ClientExamples/gate.mjs "$daemon" > "$made/gate" &
processes+=($!)
await "$made/gate" '^[0-9]+$'
FANFARE_URL=http://127.0.0.1:$(head -n 1 "$made/gate")
export FANFARE_URL

for tour in "bash deploy/examples/backend.sh" "python3 deploy/examples/backend.py" "node deploy/examples/backend.mjs"; do
    $tour > "$made/tour" 2>&1 || { cat "$made/tour" >&2 && fail "$tour failed"; }
    # The proxy lost the first answer, so the repeated request found an existing event.
    for line in '^preferences .*"marketing"' '^emitted [0-9]+ replayed$' '^fate planned' 'accepted' '^problem 422 refused:'; do
        grep --quiet --extended-regexp "$line" "$made/tour" || { cat "$made/tour" >&2 && fail "$tour does not say $line"; }
    done
    [[ "$(sed -n 's/^registered //p' "$made/tour")" == "$(sed -n 's/^rotated //p' "$made/tour")" ]] \
        || fail "$tour: rotating made another device"
    echo "clients: ${tour##*/} did all of it"
done
for trouble in 503 409 lost; do
    (($(grep --count " $trouble$" "$made/gate") >= 3)) || fail "the proxy made too little trouble"
done
events=$(sql "SELECT count(*) FROM fanfare.events WHERE type = 'sale.started'")
((events == 3)) || fail "there are $events events instead of one for each backend"

FANFARE_URL=$daemon node Tests/ClientExamples/browser.mjs "http://127.0.0.1:$control" > "$made/page" 2> "$made/browser" \
    || { cat "$made/browser" >&2 && fail "the browser page failed"; }
sed '/^reported /d' "$made/page"

# The daemon counts what was reported every two seconds. The page's user is deleted by now, and the reports of a batch are not.
shown_event=$(sed -n 's/^reported //p' "$made/page")
for _ in {1..100}; do
    reports=$(sql "SELECT array_to_string(reports, ' ') FROM fanfare.deliveries WHERE event_id = $shown_event")
    if [[ "$reports" == "received shown opened" ]]; then break; fi
    sleep 0.2
done
[[ "$reports" == "received shown opened" ]] || fail "the page's reports are ${reports:-missing}"
echo "clients: the browser's push was reported as $reports"
