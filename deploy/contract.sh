#!/usr/bin/env bash
# Lets schemathesis, from PyPI, generate requests from the HTTP API's description and send them to a daemon. A 5xx answer, or one that the
# description does not contain, is an error.
#
#   deploy/contract.sh [SECONDS [PROGRAM]]      a minute and the debug build, unless others are named; fanfare-lab is beside it
#
# All operations except /v1/tail, whose answer never ends. Needs PostgreSQL's server, Python with venv, and PyPI; leaves nothing. Exit
# codes: 0 daemon and description agree, 1 not, 69 it cannot be tested.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

seconds=${1:-60}
program=$(readlink -f "${2:-.build/debug/fanfare}")
readonly seconds program trial=contract
. deploy/lib.sh

need curl python3
python3 -m venv "$made/venv" > "$made/pip" 2>&1 && "$made/venv/bin/pip" install --quiet 'schemathesis>=4,<5' >> "$made/pip" 2>&1 \
    || { cat "$made/pip" >&2 && fail "schemathesis cannot be installed" 69; }
start_postgres

start_sandbox
configure contract << YAML
installation: contract
database: { url: "$url" }
api: { listen: "127.0.0.1:0" }
log: { format: text }
YAML
fanfare migrate > "$made/migrated"
start_daemon 'HTTP API listening' ' ready '
daemon=http://$(sed -nE 's/.*HTTP API listening.* listen=([^ ]+).*/\1/p' "$made/daemon.log")
token=$(fanfare tokens create contract --scope emitter --scope registrar --scope author --scope operator --scope reader --rate 100000)
curl --silent --show-error --fail "$daemon/v1/openapi.json" > "$made/openapi.json"

# The token is in a file, because every user of the machine can see a program's arguments.
cat > "$made/schemathesis.toml" << TOML
headers = { Authorization = "Bearer $token" }
TOML
checks=not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,response_schema_conformance
checks+=,unsupported_method,allow_header_conformance,ignored_auth
# Its results are stored in the current folder. One worker: in Python 3.11, two threads that parse Python at the same time make each other
# fail ("AST constructor recursion depth mismatch").
(cd "$made" && venv/bin/schemathesis --config-file schemathesis.toml run openapi.json --url "$daemon" \
    --exclude-path /v1/tail --checks "$checks" --max-time "$seconds" --request-timeout 30 --workers 1 --warnings off \
    --suppress-health-check all --continue-on-failure > "$made/report" 2>&1) \
    || { cat "$made/report" >&2 && fail "daemon and description do not agree"; }
sed -n '/SUMMARY/,$p' "$made/report"
