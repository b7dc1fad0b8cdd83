#!/usr/bin/env bash
# Has Prometheus' own tools check what is watched: the alerts, which are played, the example configuration, every query of the
# dashboard, that each name in them is in Metrics.md, and that each runbook is a heading that there is.
#
#   deploy/metrics.sh             what needs no daemon
#   deploy/metrics.sh PROGRAM     also what a daemon tells; fanfare-lab is beside it. `promtool check metrics` reads it, all of it has
#                                 to be in Metrics.md, and a Prometheus of its own with the example's configuration scrapes it
#
# Needs promtool, prometheus and jq (deploy/install-dependencies.sh --metrics); leaves nothing. Exit codes: 0 all is well, 1 not,
# 64 usage, 69 it cannot be tried.
set -euo pipefail

readonly articles=Sources/fanfare/Documentation.docc
program=""
made=$(mktemp --directory --tmpdir fanfare-metrics.XXXXXX)
readonly made
processes=()

fail() {
    echo "metrics: $1" >&2
    exit "${2:-1}"
}

clean_up() {
    local process
    for process in "${processes[@]}"; do kill "$process" 2> /dev/null || true; done
    for process in "${processes[@]}"; do wait "$process" 2> /dev/null || true; done
    rm -rf "$made"
}
trap clean_up EXIT

# await FILE TEXT: waits until a file has a line that matches.
await() {
    local _
    for _ in {1..300}; do
        if grep --quiet --extended-regexp "$2" "$1" 2> /dev/null; then return; fi
        sleep 0.2
    done
    tail -n 20 "$1" >&2 || true
    fail "$1 never had: $2"
}

# The names that Metrics.md has a row for.
documented() { sed -nE '/^\| `(fanfare|process)_/{s/^\| ([^|]*)\|.*/\1/; s/[`, ]+/\n/g; p}' "$articles/Metrics.md" | sed '/^$/d' | sort --unique; }

# The queries of the dashboard as Prometheus would get them.
queries() { jq --raw-output '.. | .expr? // empty' deploy/grafana-dashboard.json | sed 's/\$__rate_interval/5m/g'; }

# A rule for each query is what promtool can read.
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

# What is asked for and not told would never be seen to be missing.
check_names() {
    local unknown
    documented > "$made/documented"
    [[ -s "$made/documented" ]] || fail "Metrics.md has no table of metrics"
    unknown=$({ queries && sed '/^ *#/d; /runbook_url/d; /description:/d; /summary:/d' deploy/alerts.yaml; } \
        | grep --only-matching --extended-regexp '\b(fanfare|process)_[a-z_]+' | sed -E 's/_(bucket|count|sum)$//' | sort --unique | comm -23 - "$made/documented")
    [[ -z "$unknown" ]] || fail "Metrics.md does not have: ${unknown//$'\n'/ }"
}

# Prints the headings of an article as the code host's anchors.
anchors() { sed -nE 's/^#+ //p' "$1" | tr '[:upper:]' '[:lower:]' | tr --complement --delete 'a-z0-9 _\n-' | tr ' ' '-'; }

check_runbooks() {
    local page alerts runbooks=0
    while read -r page; do
        runbooks=$((runbooks + 1))
        # What differs by label is each heading that begins so.
        anchors "$articles/${page%%#*}" | grep --quiet --extended-regexp "^${page#*#}\$" || fail "alerts.yaml: there is no heading for $page"
    done < <(sed -nE 's/\{\{[^}]*\}\}/.+/; s|^ *runbook_url: .*/([A-Za-z]+\.md#[^ ]+)$|\1|p' deploy/alerts.yaml)
    alerts=$(grep --count -- '- alert:' deploy/alerts.yaml)
    ((runbooks == alerts)) || fail "alerts.yaml has $alerts alerts, of which $runbooks have a runbook"
    while read -r page; do
        grep --quiet "alertname: $page," deploy/alerts-test.yaml && grep --quiet "alertname: $page\$" deploy/alerts-test.yaml \
            || fail "alerts-test.yaml does not play that $page fires and clears"
    done < <(sed -nE 's/^ *- alert: //p' deploy/alerts.yaml)
}

# ask QUERY: prints what the Prometheus of check_daemon answers.
ask() { promtool query instant "http://$prometheus" "$1"; }

check_daemon() {
    local address unknown _
    "$program" dev --dir "$made/dev" > "$made/dev.log" 2>&1 &
    processes+=($!)
    await "$made/dev.log" 'Ctrl-C'
    address=$(sed -nE 's|.*http://([0-9.:]+), token.*|\1|p' "$made/dev.log")
    [[ -n "$address" ]] || fail "fanfare dev does not tell where its API is"

    curl --silent --show-error --fail "http://$address/metrics" > "$made/metrics"
    promtool check metrics < "$made/metrics"
    unknown=$(sed -nE 's/^# TYPE ([^ ]+) .*/\1/p' "$made/metrics" | sort --unique | comm -23 - "$made/documented")
    [[ -z "$unknown" ]] || fail "Metrics.md does not have: ${unknown//$'\n'/ }"

    sed "s/127\.0\.0\.1:8080/$address/; s/15s/1s/; s/scrape_timeout: .*/scrape_timeout: 1s/" deploy/prometheus.yaml > "$made/prometheus.yaml"
    cp deploy/alerts.yaml "$made"
    prometheus --config.file "$made/prometheus.yaml" --storage.tsdb.path "$made/data" --web.listen-address 127.0.0.1:0 \
        > "$made/prometheus.log" 2>&1 &
    processes+=($!)
    await "$made/prometheus.log" 'msg="Listening on"'
    prometheus=$(sed -nE 's/.*msg="Listening on" .*address=([0-9.:]+).*/\1/p' "$made/prometheus.log")
    for _ in {1..100}; do
        if [[ "$(ask 'count(up == 1 and on (instance) fanfare_pushes_total{outcome="accepted"} > 0)')" == *"=> "* ]]; then break; fi
        sleep 0.2
    done
    [[ "$(ask 'sum(fanfare_pushes_total{outcome="accepted"}) > 0')" == *"=> "* ]] || fail "Prometheus did not see the pushes of $address"
    [[ -z "$(ask 'ALERTS{alertstate="firing"}')" ]] || fail "an alert fires although all is well: $(ask ALERTS)"
}

main() {
    local tool
    if (($# > 1)) || [[ "${1:-}" == -* ]]; then fail "usage: metrics.sh [PROGRAM]" 64; fi
    if (($# == 1)); then
        [[ -x "$1" && -f "$1" ]] || fail "there is no program $1" 64
        program=$(realpath "$1")
    fi
    cd "$(dirname "${BASH_SOURCE[0]}")/.."
    for tool in promtool prometheus jq curl; do
        command -v "$tool" > /dev/null || fail "$tool is missing; deploy/install-dependencies.sh --metrics installs it" 69
    done
    promtool check config deploy/prometheus.yaml
    promtool test rules deploy/alerts-test.yaml
    check_dashboard
    check_names
    check_runbooks
    [[ -z "$program" ]] || check_daemon
    echo "metrics: $(wc --lines < "$made/documented") metrics, $(grep --count -- '- alert:' deploy/alerts.yaml) alerts, all in order"
}

main "$@"
