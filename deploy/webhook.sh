#!/usr/bin/env bash
# Lets a daemon post to a receiver that checks signatures with the standard's own library, from PyPI: over TLS and HTTP/1.1, rejected once
# and retried with the same id. A request with another secret must not be accepted.
#
#   deploy/webhook.sh [PROGRAM]      the debug build, unless a program is named; fanfare-lab is beside it
#
# Needs Python with venv, PyPI and openssl; leaves nothing. Exit codes: 0 it works, 1 not, 69 it cannot be tested.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

program=$(readlink -f "${1:-.build/debug/fanfare}")
readonly program trial=webhook
. deploy/lib.sh

secret() { echo "whsec_$(openssl rand -base64 32)"; }

python3 -m venv "$made/venv" > "$made/pip" 2>&1 && "$made/venv/bin/pip" install --quiet standardwebhooks >> "$made/pip" 2>&1 \
    || { cat "$made/pip" >&2 && fail "the standard's library cannot be installed" 69; }

openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost \
    -keyout "$made/key.pem" -out "$made/certificate.pem" 2> "$made/openssl"
own=$(secret)
"$made/venv/bin/python" Tests/WebhookReceiver/receiver.py "$made/certificate.pem" "$made/key.pem" "$own" > "$made/received" &
processes+=($!)
await "$made/received" '^[0-9]+$'
port=$(head -n 1 "$made/received")

# A temporary database and daemon, beside the simulated providers, which it does not use.
"$program" dev --dir "$made/dev" > "$made/dev.log" 2>&1 &
processes+=($!)
await "$made/dev.log" 'Ctrl-C'
url=$(sed -nE 's/^  url: "(.*)"$/\1/p' "$made/dev/sandbox/fanfare.yaml")
configuration=$made/fanfare.yaml
cat > "$configuration" << YAML
database: { url: "$url" }
apps:
  hooks:
    webhook:
      allowed_hosts: [ "localhost:$port" ]
      allowed_networks: [ 127.0.0.1/32 ]
      ca_file: $made/certificate.pem
YAML
start_daemon 'lease taken'

fanfare devices register --app hooks --provider webhook --user alice --auth "$own" "https://localhost:$port/alice" > "$made/ids"
fanfare devices register --app hooks --provider webhook --user mallory --auth "$(secret)" "https://localhost:$port/mallory" >> "$made/ids"
cat > "$made/rules.yaml" << 'YAML'
- name: told
  app: hooks
  event: order.shipped
  to: { users: $.users }
  message:
    webhook: { data: { order: "{{order}}", to: "{{user.id}}" } }
YAML
fanfare rules apply "$made/rules.yaml" > "$made/rules"
# An event only matches rules that are in force when it is emitted.
for _ in {1..100}; do
    fanfare rules list > "$made/rules"
    if grep --quiet 'told.* active' "$made/rules"; then break; fi
    sleep 0.2
done
fanfare emit order.shipped '{"order": 7, "users": ["alice", "mallory"]}' > "$made/emitted"

await "$made/received" '"path": "/alice".*"status": 204'
await "$made/received" '"path": "/mallory".*"status": 401'
sed 1d "$made/received"
"$made/venv/bin/python" - "$made/received" << 'PYTHON' || fail "that is not what was to come"
import json, sys

told = [json.loads(line) for line in open(sys.argv[1]).readlines()[1:]]
alice = [request for request in told if request["path"] == "/alice"]
assert [request["status"] for request in alice] == [503, 204] and alice[0]["id"] == alice[1]["id"]
for request in alice:
    assert request["verified"] and request["http"] == "HTTP/1.1" and request["type"] == "order.shipped"
    assert request["data"] == {"order": 7, "to": "alice"}
assert not any(request["verified"] for request in told if request["path"] != "/alice")
PYTHON
echo "webhook: verified by standardwebhooks $("$made/venv/bin/pip" show standardwebhooks | sed -n 's/^Version: //p'), refused once and repeated with the same id"
