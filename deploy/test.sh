#!/usr/bin/env bash
# Installs what is missing and runs all tests. Safe to run again; leaves nothing outside the checkout.
#
#   deploy/test.sh           format, documentation, alerts, tests with coverage, a minute of made up requests to the HTTP API, then
#                            tests under the address and the thread sanitizer, then a little fuzzing
#   deploy/test.sh --quick   format, documentation, alerts, tests and made up requests, in the build folder of everyday work
#   deploy/test.sh --soak [PART …]
#                            the long forms of some tests, half an hour each; a part that passed is not run again at
#                            the same commit. Parts: crash planning conditions simulator fuzz; webhook, which has requests
#                            checked by the standard's library from PyPI; clients, which runs those of deploy/examples;
#                            contract, which has requests made up from the HTTP API's description;
#                            metrics, which has Prometheus look at alerts and at a daemon; schedules, which has cron and
#                            pg_cron emit; and bareroot, which tries the package where there is no Swift. The last two as root
#
# The last line counts all of it: "N passed, N failed". Exit codes: 0 all passed, 1 not, 64 usage.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Those that reach C or threads; the rest is pure Swift, which the compiler checks.
readonly address_sanitized="ThreadingTests PushCryptoTests PostgresClientTests HTTP2EngineTests"
readonly thread_sanitized="ThreadingTests FanfareMetricsTests PostgresClientTests TransportTests HTTP2EngineTests"
# Whole daemons and clusters that all run at once starve each other on two cores, and then their time limits end them.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=${SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH:-8}
results=""
passed=0
failed=0

announce() { printf '\n== %s\n' "$1"; }

# complain TEXT: tells what failed, now and once more at the end.
complain() { echo "$1" | tee -a "$results/failures" >&2; }

# run NAME SCRATCH TARGETS ARGUMENT…: runs tests of a build, each target in a process of its own, and counts them.
# Tests that wait for a database block their threads, and would starve others in the same process.
run() {
    local name=$1 scratch=$2 targets=$3 status report target
    shift 3
    for target in $targets; do
        status=0
        report="$results/$name-$target.xml"
        announce "swift test: $name $target"
        swift test --scratch-path "$scratch" --disable-xctest --xunit-output "$report" --filter "^$target[./]" "$@" 2>&1 \
            | tee "$results/output" || status=$?
        ((status == 0)) || grep -E "^✘|SUMMARY: |Fatal error" "$results/output" >> "$results/failures" || true
        # Swift Testing puts its name in front of the last part of the path that it is given.
        [[ -s "$report" ]] || report="${report%.xml}-swift-testing.xml"
        count "$name $target" "$report" "$target" "$status"
        keep_profiles "$scratch/debug/codecov" "$target"
    done
}

# keep_profiles FOLDER TARGET: the next run empties the folder in which this one left what it covered.
keep_profiles() {
    local profile
    for profile in "$1"/*.profraw; do
        if [[ -e "$profile" ]]; then mv "$profile" "$results/$2-$(basename "$profile")"; fi
    done
}

# count NAME REPORT TARGETS STATUS: adds up a report. A run without one, a skipped test and a target without tests are
# failures: Swift Testing takes them for success.
count() {
    local name=$1 report=$2 targets=$3 status=$4
    local tests=0 failures=0 skipped=0 target
    if [[ -s "$report" ]]; then
        tests=$(attribute tests "$report") failures=$(attribute failures "$report")
        skipped=$(attribute skipped "$report")
    fi
    for target in $targets; do
        if ! grep --quiet "classname=\"$target[.\"]" "$report" 2> /dev/null; then
            complain "$name: no test of $target ran"
            failures=$((failures + 1)) tests=$((tests + 1))
        fi
    done
    if ((skipped > 0)); then
        complain "$name: $skipped tests were skipped"
        failures=$((failures + skipped)) tests=$((tests + skipped))
    fi
    if ((status != 0 && failures == 0)); then
        complain "$name: swift test ended with status $status"
        failures=1 tests=$((tests + 1))
    fi
    passed=$((passed + tests - failures)) failed=$((failed + failures))
}

attribute() { sed -nE "s/.*<testsuite .* $1=\"([0-9]+)\".*/\1/p" "$2"; }

# The tests of each long run, by part.
soak_tests() {
    case $1 in
        crash) echo FanfareServiceTests.CrashTests ;;
        planning) echo FanfareServiceTests.ExactlyOnceTests ;;
        conditions) echo FanfareServiceTests.ConditionTests ;;
        simulator) echo SimulatorTests ;;
        fuzz | webhook | clients | contract | metrics | schedules | bareroot) echo "" ;;
        *)
            echo "test.sh: no long run is called '$1'; there are: crash planning conditions simulator fuzz webhook clients contract metrics schedules bareroot" >&2
            exit 64
            ;;
    esac
}

# run_fuzzers SECONDS: fuzzes each parser that reads what others wrote; together they count as one test.
run_fuzzers() {
    announce "fuzz: $1 s of each parser"
    if deploy/fuzz.sh "$1"; then
        passed=$((passed + 1))
    else
        complain "fuzz: something was found, or it could not be built"
        failed=$((failed + 1))
    fi
}

# Builds the documentation, whose links are checked; counts as one test.
build_docs() {
    announce "documentation"
    if deploy/docs.sh; then
        passed=$((passed + 1))
    else
        complain "documentation: an article is wrong, or DocC could not be built"
        failed=$((failed + 1))
    fi
}

# Has Prometheus' own tools check alerts and dashboard, without a daemon; counts as one test. What a daemon tells, they check in a test
# of the API.
check_alerts() {
    announce "alerts"
    if deploy/metrics.sh; then
        passed=$((passed + 1))
    else
        complain "alerts: promtool found something, or could not be tried"
        failed=$((failed + 1))
    fi
}

# Has webhooks checked by the standard's own library; counts as one test.
try_webhook() {
    announce "webhook"
    if deploy/webhook.sh; then
        passed=$((passed + 1))
    else
        complain "webhook: the standard's library does not take what is sent, or could not be tried"
        failed=$((failed + 1))
    fi
}

# Runs the clients of deploy/examples; counts as one test.
try_clients() {
    announce "clients"
    if deploy/install-dependencies.sh --clients && deploy/clients.sh; then
        passed=$((passed + 1))
    else
        complain "clients: an example does not work, or could not be tried"
        failed=$((failed + 1))
    fi
}

# try_contract PROGRAM SECONDS: has requests made up from the HTTP API's description; counts as one test.
try_contract() {
    announce "contract: $2 s of made up requests"
    if deploy/install-dependencies.sh --clients && deploy/contract.sh "$2" "$1"; then
        passed=$((passed + 1))
    else
        complain "contract: the HTTP API does not answer as its description says, or could not be tried"
        failed=$((failed + 1))
    fi
}

# The same, and has a Prometheus scrape a daemon while faults are played; counts as one test.
try_metrics() {
    announce "metrics"
    if deploy/install-dependencies.sh --metrics && deploy/metrics.sh .build/debug/fanfare; then
        passed=$((passed + 1))
    else
        complain "metrics: promtool found something, or could not be tried"
        failed=$((failed + 1))
    fi
}

# Has cron and pg_cron emit; counts as one test.
try_schedules() {
    announce "schedules"
    if deploy/install-dependencies.sh --schedules && deploy/schedules.sh; then
        passed=$((passed + 1))
    else
        complain "schedules: cron or pg_cron did not emit, or could not be tried"
        failed=$((failed + 1))
    fi
}

# Tries the package in a bare root; counts as one test.
try_bareroot() {
    announce "bareroot"
    if deploy/install-dependencies.sh --bareroot && deploy/bareroot.sh; then
        passed=$((passed + 1))
    else
        complain "bareroot: the package does not install or run without Swift, or could not be tried"
        failed=$((failed + 1))
    fi
}

# run_soak PART…: runs the long forms, each part that has not passed at this commit.
run_soak() {
    local part tests marks before
    marks=.build/soak-$(git rev-parse HEAD)
    [[ -z "$(git status --porcelain)" ]] || marks=$(mktemp --directory "$results/soak.XXXXXX")
    mkdir -p "$marks"
    export FANFARE_SOAK=1
    for part in "$@"; do
        tests=$(soak_tests "$part")
        if [[ -e "$marks/$part" ]]; then
            announce "soak: $part passed at this commit before"
            continue
        fi
        before=$failed
        case "$part" in
            fuzz) run_fuzzers 180 ;;
            webhook) try_webhook ;;
            clients) try_clients ;;
            contract) try_contract .build/debug/fanfare 600 ;;
            metrics) try_metrics ;;
            schedules) try_schedules ;;
            bareroot) try_bareroot ;;
            *) run "soak-$part" .build "$tests" --skip-build ;;
        esac
        if ((failed == before)); then touch "$marks/$part"; fi
    done
}

# Prints the names of the test targets, and of the faults that are played every time; deploy/faults.sh plays all.
test_targets() {
    local path
    for path in Tests/*Tests; do [[ "$path" == Tests/FaultTests ]] || echo "${path#Tests/}"; done
    printf 'FaultTests.%s\n' DeliveryAuditTests UnitHardeningTests DaemonFaultTests
}

# build ARGUMENT…: builds, once more where the build tool itself crashed: it goes on where it was.
build() {
    local status=0
    swift build --build-tests "$@" || status=$?
    ((status < 128)) || swift build --build-tests "$@"
    ((status == 0 || status >= 128))
}

check_format() {
    announce "swift format lint"
    swift format lint --strict --recursive Sources Tests Package.swift
}

# Prints the share of lines that tests ran, by target.
print_coverage() {
    local build=$1 tools
    tools=$(dirname "$(readlink -f "$(command -v swift)")")
    announce "Line coverage"
    "$tools/llvm-profdata" merge -o "$results/all.profdata" "$results"/*.profraw
    "$tools/llvm-cov" export -format=lcov -summary-only -instr-profile "$results/all.profdata" \
        "$build/fanfarePackageTests.xctest" -object "$build/fanfare" -object "$build/fanfare-lab" \
        | awk -F '[:]' -v root="$PWD/Sources/" '
            $1 == "SF" { target = ""; if (index($2, root) == 1) { split(substr($2, length(root) + 1), part, "/"); target = part[1] } }
            target != "" && $1 == "LF" { lines[target] += $2; all += $2 }
            target != "" && $1 == "LH" { hit[target] += $2; ran += $2 }
            END {
                for (target in lines) printf "%-16s %5.1f %%  of %5d\n", target, 100 * hit[target] / lines[target], lines[target] | "sort"
                close("sort")
                if (all > 0) printf "%-16s %5.1f %%  of %5d\n", "all", 100 * ran / all, all
            }'
}

# SwiftNIO is left out of these builds, so the simulated services run as the program of the plain build.
run_sanitizers() {
    local kind status targets
    export FANFARE_WITHOUT_SANDBOX=1 FANFARE_BINARY=$PWD/.build-coverage/debug/fanfare
    # Foundation's Process and URLSession, which tests use, leak by themselves and fill every leak report.
    export ASAN_OPTIONS=detect_leaks=0
    # That program was built for coverage, and would leave its profile here.
    export LLVM_PROFILE_FILE=/dev/null
    for kind in address thread; do
        status=0
        announce "swift build: $kind sanitizer"
        build --quiet --scratch-path ".build-$kind" --sanitize "$kind" || status=$?
        if ((status != 0)); then
            count "$kind" /dev/null "" "$status"
        else
            targets="${kind}_sanitized"
            run "$kind" ".build-$kind" "${!targets}" --skip-build --sanitize "$kind"
        fi
    done
}

main() {
    local build=.build parts=()
    case "${1:-}" in
        "") build=.build-coverage ;;
        --quick) ;;
        --soak)
            shift
            parts=("$@")
            if (($# == 0)); then parts=(crash planning conditions simulator fuzz webhook clients contract metrics schedules bareroot); fi
            ;;
        *)
            echo "usage: test.sh [--quick | --soak [PART …]]" >&2
            exit 64
            ;;
    esac
    PATH="$PATH:$HOME/.local/share/swiftly/bin:/usr/libexec/swift/bin"
    deploy/install-dependencies.sh
    if ((${#parts[@]} == 0)); then
        deploy/install-dependencies.sh --browser
        deploy/install-dependencies.sh --metrics
        # Tests of pages look by it for what shuts people out.
        deploy/install-dependencies.sh --clients
        FANFARE_AXE=$(deploy/axe.sh)
        export FANFARE_AXE
        check_format
    fi
    mkdir -p "$build"
    results=$(mktemp --directory "$PWD/$build/results.XXXXXX")
    # The manifest without the sandbox resolves fewer packages, and would leave that behind.
    trap 'if [[ -e "$results/resolved" ]]; then cp "$results/resolved" Package.resolved; fi; rm -rf "$results"' EXIT

    local coverage=()
    if [[ "$build" == .build-coverage ]]; then coverage=(--enable-code-coverage); fi
    announce "swift build"
    build --scratch-path "$build" "${coverage[@]}"
    rm -rf "$build/debug/codecov"
    if ((${#parts[@]} > 0)); then
        run_soak "${parts[@]}"
    else
        run all "$build" "$(test_targets)" --skip-build "${coverage[@]}"
        build_docs
        check_alerts
        # Debug builds leave their profile where they were started.
        LLVM_PROFILE_FILE=/dev/null try_contract "$build/debug/fanfare" 60
    fi
    if [[ "$build" == .build-coverage ]]; then
        print_coverage "$build/debug" || echo "coverage could not be told" >&2
        cp Package.resolved "$results/resolved"
        run_sanitizers
        run_fuzzers 5
    fi
    if [[ -s "$results/failures" ]]; then
        announce "What failed"
        cat "$results/failures"
    fi
    printf '\n%d passed, %d failed\n' "$passed" "$failed"
    ((failed == 0))
}

main "$@"
