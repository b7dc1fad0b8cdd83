#!/usr/bin/env bash
# Installs what is missing and runs all tests. Safe to run again.
#
#   deploy/test.sh           format, documentation, alerts, all tests, the main flow on each PostgreSQL, half a minute of generated
#                            requests to the HTTP API; tests of C and threads under the address and the thread sanitizer
#   deploy/test.sh --quick   the same without sanitizers
#   deploy/test.sh --soak [PART …]
#                            the long forms of some tests, half an hour each; a part that passed is not run again at
#                            the same commit. Parts: crash planning conditions simulator topics fuzz; coverage, which runs all tests
#                            and prints the lines that they reach; versions, which runs all tests
#                            that need a database on PostgreSQL 16 and 18, or on the server whose programs are in the
#                            directory FANFARE_POSTGRES; webhook, which checks requests
#                            with the standard's library from PyPI; clients, which runs those of deploy/examples;
#                            contract, which generates requests from the HTTP API's description;
#                            metrics, which tests alerts and a daemon with Prometheus; schedules, which tests cron and
#                            pg_cron; and bareroot, which tests the package on a machine without Swift. The last two as root
#
# It leaves build folders in the checkout. PostgreSQL 16 and 18 stay in /tmp if the user that runs servers cannot read the checkout
# (deploy/servers.sh). At the end it lists the seconds of each part; the last line has the total:
# "N passed, N failed". Exit codes: 0 all passed, 1 not, 64 usage.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Tests that use C or threads; the rest is pure Swift, which the compiler checks. The part `sanitized` of the manifest has their targets.
readonly address_sanitized="ThreadingTests PushCryptoTests PostgresClientTests HTTP2EngineTests"
readonly thread_sanitized="ThreadingTests FanfareMetricsTests PostgresClientTests TransportTests HTTP2EngineTests"
# Tests that need a database.
readonly database_tests="PostgresClientTests FanfareStoreTests FanfareSendingTests FanfareServiceTests FanfareCampaignsTests FanfareToolsTests FanfareExplainTests FlowTests FanfareAPITests FanfareConsoleTests"
readonly all_parts="crash planning conditions simulator topics fuzz coverage versions webhook clients contract metrics schedules bareroot"
# Many daemons and clusters at once starve each other on two cores, and then exceed their time limits.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=${SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH:-8}
results=""
passed=0
failed=0
part=""
part_began=0
memory=""
servers=""
sanitized=""
beside=""

# announce TEXT: begins a part, and records how long the previous one took.
announce() {
    note_time
    part=$1
    printf '\n== %s (after %d s)\n' "$part" "$SECONDS"
}

note_time() {
    [[ -z "$part" ]] || printf '%5d s  %s\n' "$((SECONDS - part_began))" "$part" >> "$results/times"
    part_began=$SECONDS
}

# complain TEXT: reports a failure, now and once more at the end.
complain() { echo "$1" | tee -a "$results/failures" >&2; }

# run NAME SCRATCH TARGETS ARGUMENT…: runs tests of a build, each target as a separate process, and counts them. Tests that wait for a
# database block their threads, and would starve others in the same process.
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
        # Swift Testing adds its name to the last part of the given path.
        [[ -s "$report" ]] || report="${report%.xml}-swift-testing.xml"
        count "$name $target" "$report" "$target" "$status"
        keep_profiles "$scratch/debug/codecov" "$target"
    done
}

# Gives tests a temporary folder in memory if there is room. They create and drop a thousand databases of 500 files each, which takes two to
# five times as long on a disk.
use_memory() {
    local room
    room=$(df --output=avail --block-size=1G /dev/shm 2> /dev/null | tail -n 1) || return 0
    if ((room < 8)) || [[ ! -w /dev/shm ]] || findmnt --noheadings --output OPTIONS --target /dev/shm | grep --quiet noexec; then return 0; fi
    memory=$(mktemp --directory /dev/shm/fanfare.XXXXXX)
    # If this user is root, servers run as another user.
    chmod 1777 "$memory"
    export TMPDIR=$memory
}

# keep_profiles FOLDER TARGET: saves the coverage data, because the next run empties the folder.
keep_profiles() {
    local profile
    for profile in "$1"/*.profraw; do
        if [[ -e "$profile" ]]; then mv "$profile" "$results/$2-$(basename "$profile")"; fi
    done
}

# count NAME REPORT TARGETS STATUS: adds up a report. A run without a report, a skipped test and a target without tests are failures,
# although Swift Testing reports success.
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

# Prints the tests of each long run, by part.
soak_tests() {
    case $1 in
        crash) echo FlowTests.CrashTests ;;
        planning) echo FanfareServiceTests.ExactlyOnceTests ;;
        conditions) echo FanfareServiceTests.ConditionTests ;;
        simulator) echo SimulatorTests ;;
        topics) echo FanfareToolsTests.TopicProcessTests ;;
        fuzz | coverage | versions | webhook | clients | contract | metrics | schedules | bareroot) echo "" ;;
        *)
            echo "test.sh: no long run is called '$1'; there are: $all_parts" >&2
            exit 64
            ;;
    esac
}

# check NAME COMMAND…: runs one check, which counts as one test.
check() {
    local name=$1
    shift
    announce "$name"
    if "$@"; then
        passed=$((passed + 1))
    else
        complain "$name: failed; see above"
        failed=$((failed + 1))
    fi
}

# begin_check COMMAND…: starts one check in the background; finish_check waits for it. One at a time.
begin_check() {
    "$@" > "$results/beside" 2>&1 &
    beside=$!
}

# finish_check NAME: waits for the background check, and counts it as one test.
finish_check() { check "$1" wait_beside; }

wait_beside() {
    local status=0
    wait "$beside" || status=$?
    cat "$results/beside"
    return "$status"
}

# Runs the one test that waits minutes for quiet hours to end. Fails if there is no such test.
test_suppressions() {
    .build/debug/fanfarePackageTests.xctest --testing-library swift-testing --filter '^FanfareServiceTests.SuppressionMatrixTests/'
}

# with PACKAGES COMMAND…: installs a command's packages, and runs it.
with() { deploy/install-dependencies.sh "--$1" && "${@:2}"; }

# Sets `servers`, the directories of the servers to test besides the installed one: PostgreSQL 16 and 18, or FANFARE_POSTGRES if it is set.
fetch_servers() { servers=${FANFARE_POSTGRES:-$(deploy/servers.sh)}; }

# play_versions PROGRAM: runs the main flow on each available PostgreSQL.
play_versions() {
    local server
    check "the other PostgreSQL servers" fetch_servers
    check "main flow on the installed PostgreSQL" deploy/versions.sh "" "$1"
    for server in $servers; do
        check "main flow on $("$server/postgres" --version)" deploy/versions.sh "$server" "$1"
    done
}

# Runs the main flow, pg_upgrade and all tests that need a database on each of the other servers.
test_versions() {
    local server
    play_versions .build/debug/fanfare
    for server in $servers; do
        check "pg_upgrade to $("$server/postgres" --version)" with metrics deploy/upgrade.sh /usr/lib/postgresql/15/bin "$server"
        FANFARE_POSTGRES=$server run "$("$server/postgres" --version | tr -d ' ()')" .build "$database_tests" --skip-build
    done
}

# run_soak PART…: runs the long forms, each part that has not passed at this commit.
run_soak() {
    local name tests marks before
    marks=.build/soak-$(git rev-parse HEAD)
    [[ -z "$(git status --porcelain)" ]] || marks=$(mktemp --directory "$results/soak.XXXXXX")
    mkdir -p "$marks"
    export FANFARE_SOAK=1
    for name in "$@"; do
        tests=$(soak_tests "$name")
        if [[ -e "$marks/$name" ]]; then
            announce "soak: $name passed at this commit before"
            continue
        fi
        before=$failed
        case "$name" in
            fuzz)
                check "fuzz: 180 s of each parser" deploy/fuzz.sh 180
                check "requests: 180 s of mutated requests" deploy/requests.sh 180
                ;;
            coverage) test_coverage ;;
            versions) test_versions ;;
            webhook) check webhook deploy/webhook.sh ;;
            clients)
                check clients with clients deploy/clients.sh
                check "tests of one's own, also by Swift Testing" deploy/testing.sh --swift
                ;;
            contract) check "contract: 600 s of made up requests" with clients deploy/contract.sh 600 ;;
            metrics) check metrics with metrics deploy/metrics.sh .build/debug/fanfare ;;
            schedules) check schedules with schedules deploy/schedules.sh ;;
            bareroot) check bareroot with bareroot deploy/bareroot.sh ;;
            *) run "soak-$name" .build "$tests" --skip-build ;;
        esac
        if ((failed == before)); then touch "$marks/$name"; fi
    done
}

# test_targets [SANITIZED]: prints the names of the test targets; if SANITIZED is set, without those that run under a sanitizer. Includes
# the faults of the daemons; deploy/faults.sh runs all faults.
test_targets() {
    local path name without=" FaultTests "
    [[ -z "${1:-}" ]] || without+="$address_sanitized $thread_sanitized "
    for path in Tests/*Tests; do
        name=${path#Tests/}
        [[ "$without" == *" $name "* ]] || echo "$name"
    done
    printf 'FaultTests.%s\n' DeliveryAuditTests UnitHardeningTests DaemonFaultTests
}

# build ARGUMENT…: builds; a second time if the build tool itself crashed, which continues the first.
build() {
    local status=0
    swift build --build-tests --disable-xctest "$@" || status=$?
    ((status < 128)) || swift build --build-tests --disable-xctest "$@"
    ((status == 0 || status >= 128))
}

# Runs all tests in a build that records line coverage.
test_coverage() {
    announce "swift build: coverage"
    build --scratch-path .build-coverage --enable-code-coverage
    rm -rf .build-coverage/debug/codecov
    run coverage .build-coverage "$(test_targets)" --skip-build --enable-code-coverage
    print_coverage .build-coverage/debug
}

# Prints the share of covered lines by target.
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

# build_sanitized: starts the builds for the sanitizers with low priority, in a copy of the package: the manifest resolves fewer packages
# for them, and would leave its Package.resolved behind. Hard links, so that the next build is incremental.
build_sanitized() {
    rm -rf .build/sanitized
    mkdir .build/sanitized
    cp --archive --link Package.swift Sources Tests schema.sql .build/sanitized
    (
        renice --priority 19 --pid "$BASHPID" > /dev/null
        for kind in address thread; do
            FANFARE_BUILD=sanitized build --quiet --package-path .build/sanitized --scratch-path ".build-$kind" --sanitize "$kind" \
                > "$results/build-$kind" 2>&1 && touch "$results/built-$kind"
        done
    ) &
    sanitized=$!
}

# These builds contain only what their tests need, so the simulated services run as the program of the other build.
run_sanitizers() {
    local kind targets
    announce "swift build: address and thread sanitizer, what is left of it"
    wait "$sanitized" || true
    export FANFARE_BUILD=sanitized FANFARE_BINARY=$PWD/.build/debug/fanfare
    export TSAN_OPTIONS=suppressions=$PWD/deploy/thread.supp
    for kind in address thread; do
        if [[ -e "$results/built-$kind" ]]; then
            targets="${kind}_sanitized"
            run "$kind" ".build-$kind" "${!targets}" --package-path .build/sanitized --skip-build --sanitize "$kind"
        else
            cat "$results/build-$kind"
            count "$kind" /dev/null "" 1
        fi
    done
}

main() {
    local sanitize="" parts=()
    case "${1:-}" in
        "") sanitize=yes ;;
        --quick) ;;
        --soak)
            shift
            parts=("$@")
            if (($# == 0)); then read -ra parts <<< "$all_parts"; fi
            ;;
        *)
            echo "usage: test.sh [--quick | --soak [PART …]]" >&2
            exit 64
            ;;
    esac
    PATH="$PATH:$HOME/.local/share/swiftly/bin:/usr/libexec/swift/bin"
    mkdir -p .build
    results=$(mktemp --directory "$PWD/.build/results.XXXXXX")
    trap 'kill $sanitized $beside 2> /dev/null || true; rm -rf "$results" "$memory"' EXIT
    use_memory
    announce "dependencies"
    deploy/install-dependencies.sh
    if ((${#parts[@]} == 0)); then
        deploy/install-dependencies.sh --browser
        deploy/install-dependencies.sh --metrics
        # Tests of pages check accessibility with it.
        deploy/install-dependencies.sh --clients
        FANFARE_AXE=$(deploy/axe.sh)
        export FANFARE_AXE
        check "swift format lint" swift format lint --strict --recursive Sources Tests Package.swift
    fi
    announce "swift build"
    build
    if ((${#parts[@]} > 0)); then
        run_soak "${parts[@]}"
    else
        [[ -z "$sanitize" ]] || build_sanitized
        begin_check test_suppressions
        run all .build "$(test_targets "$sanitize")" --skip-build --skip SuppressionMatrixTests
        finish_check "all suppressions together, what is left of it"
        # Its daemon is mostly idle, because it gets one request at a time.
        begin_check with clients deploy/contract.sh 30
        check "documentation" deploy/docs.sh
        # A test of the API checks a daemon's metrics with Prometheus' tools.
        check "alerts" deploy/metrics.sh
        check "tests of one's own" deploy/testing.sh
        play_versions .build/debug/fanfare
        finish_check "contract: 30 s of made up requests, what is left of it"
    fi
    [[ -z "$sanitize" ]] || run_sanitizers
    if [[ -s "$results/failures" ]]; then
        announce "What failed"
        cat "$results/failures"
    fi
    announce "Where $SECONDS s went"
    cat "$results/times"
    printf '\n%d passed, %d failed\n' "$passed" "$failed"
    ((failed == 0))
}

main "$@"
