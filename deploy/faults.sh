#!/usr/bin/env bash
# Runs three daemons, a PostgreSQL and the simulated providers with injected faults, and compares what was to be sent with what was received
# and recorded. Runs on loopback and leaves nothing behind.
#
#   deploy/faults.sh                  every fault, once and shortly; deploy/test.sh plays those of the daemons each time
#   deploy/faults.sh --soak [PART …]  the long forms; a part that passed is not run again at the same commit. Parts:
#                                     daemon database disk provider hostile throttle token setup clock pool random calm
#                                     mixed moves scheduled reports
#
# In long forms random faults continue for FANFARE_FAULT_MINUTES (60); calm sends FANFARE_FAULT_DELIVERIES (2,000,000) without faults, mixed
# as many (1,000,000) with every kind of answer. All three print their progress. moves changes as many FCM devices (1,000,000) from tokens to
# installation ids, some of them twice or back.
#
# FANFARE_FAULT_SEED=N repeats the random parameters of a run, which prints its seed. FANFARE_BINARY=FILE tests another program than the
# build's, such as a release build. Lines that begin with "fault:" are the results.
#
# Exit codes: 0 all passed, 1 not, 64 usage.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly all_parts="daemon database disk provider hostile throttle token setup clock pool random calm mixed moves scheduled reports"

# suite PART: prints the test suite of a part.
suite() {
    case $1 in
        daemon) echo DaemonFaultTests ;;
        database) echo DatabaseFaultTests ;;
        disk) echo DiskFullTests ;;
        provider) echo "Provider[A-Za-z]*Tests" ;;
        hostile) echo HostileProviderTests ;;
        throttle) echo ThrottleTests ;;
        token) echo TokenFaultTests ;;
        setup) echo SetupFaultTests ;;
        clock) echo ClockFaultTests ;;
        pool) echo PoolTests ;;
        random) echo RandomFaultTests ;;
        calm) echo SuppressionVolumeTests ;;
        mixed) echo MixedAnswerTests ;;
        moves) echo InstallationMoveTests ;;
        scheduled) echo ScheduledFaultTests ;;
        reports) echo ReportFaultTests ;;
        *)
            echo "faults.sh: no part is called '$1'; there are: $all_parts" >&2
            exit 64
            ;;
    esac
}

# play FILTER: runs suites of the build; a run without tests is a failure, although Swift Testing reports success.
play() {
    local output
    output=$(mktemp)
    if swift test --skip-build --disable-xctest --filter "^FaultTests\.($1)[./]" 2>&1 | tee "$output" \
        && grep --quiet 'Test run with [1-9][0-9]* test' "$output"; then
        rm "$output"
    else
        rm "$output"
        return 1
    fi
}

main() {
    local parts=() part marks failed=0
    case "${1:-}" in
        "") ;;
        --soak)
            shift
            read -ra parts <<< "${*:-$all_parts}"
            for part in "${parts[@]}"; do suite "$part" > /dev/null; done
            export FANFARE_SOAK=1
            ;;
        *)
            echo "usage: faults.sh [--soak [PART …]]" >&2
            exit 64
            ;;
    esac
    PATH="$PATH:$HOME/.local/share/swiftly/bin:/usr/libexec/swift/bin"
    deploy/install-dependencies.sh --faults
    swift build --build-tests
    if ((${#parts[@]} == 0)); then
        # One after the other, because parallel suites would distort the measured times.
        for part in $all_parts; do play "$(suite "$part")" || failed=1; done
        return "$failed"
    fi
    marks=.build/faults-$(git rev-parse HEAD)
    # Uncommitted changes have no commit for which a part could be marked as passed.
    [[ -z "$(git status --porcelain)" ]] || marks=$(mktemp --directory)
    mkdir -p "$marks"
    for part in "${parts[@]}"; do
        if [[ -e "$marks/$part" ]]; then
            echo "== $part passed at this commit before"
        elif play "$(suite "$part")"; then
            touch "$marks/$part"
        else
            failed=1
        fi
    done
    return "$failed"
}

main "$@"
