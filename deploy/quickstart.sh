#!/usr/bin/env bash
# From a fresh checkout to the first push: installs missing packages, builds, and runs `fanfare dev`.
#
#   deploy/quickstart.sh          shows a push, then waits for yours until Ctrl-C
#   deploy/quickstart.sh --once   shows a push, then exits
#
# Further arguments are passed to `fanfare dev`. Builds for debugging, which is faster. Runs as root or as an ordinary user, any number of
# times; its files stay in .build and .fanfare.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly log=.build/quickstart.log

fail() {
    echo "quickstart: $1" >&2
    exit "${2:-1}"
}

# The toolchain is too large to be installed without consent.
find_swift() {
    PATH="$PATH:$HOME/.local/share/swiftly/bin:/usr/libexec/swift/bin"
    command -v swift > /dev/null \
        || fail "there is no Swift. Install 6.3 (https://www.swift.org/install/linux), and run this again." 69
    local version major minor
    version=$(swift --version 2> /dev/null | sed -nE 's/.*Swift version ([0-9]+)\.([0-9]+).*/\1 \2/p' | head -n 1)
    read -r major minor <<< "${version:-0 0}"
    ((major > 6 || major == 6 && minor >= 2)) \
        || fail "Swift $major.$minor is too old. Install 6.3 (https://www.swift.org/install/linux)." 69
}

# Shows the progress of the build: continuously on a terminal, otherwise every 20 s.
show_progress() {
    local line shown=0
    while IFS= read -r line; do
        printf '%s\n' "$line" >> "$log"
        [[ "$line" == \[* || "$line" == Fetching* || "$line" == Computing* ]] || continue
        if [[ -t 1 ]]; then
            line="  $((SECONDS / 60)):$(printf '%02d' $((SECONDS % 60)))  $line"
            printf '\r\033[K%s' "${line:0:${COLUMNS:-79}}"
        elif ((SECONDS - shown >= 20)); then
            shown=$SECONDS
            printf '  %d:%02d  %s\n' $((SECONDS / 60)) $((SECONDS % 60)) "$line"
        fi
    done
    if [[ -t 1 ]]; then printf '\r\033[K'; fi
}

# Fetches the Swift packages while system packages are installed: one waits for the network, the other for the disk.
begin_fetch() {
    mkdir -p .build 2> /dev/null && [[ -w .build ]] \
        || fail "$PWD/.build belongs to another user. Delete it, or use a checkout of your own."
    [[ -d .build/checkouts ]] || echo "Fetching SwiftNIO, Hummingbird and what they need."
    swift package resolve > "$log" 2>&1 &
    fetch=$!
}

build() {
    wait "$fetch" || fail "the Swift packages could not be fetched; see $log"
    : > "$log"
    local first=""
    [[ -x .build/debug/fanfare ]] || first=" The first build takes some minutes, most of them for SwiftNIO and its TLS."
    echo "Building.$first"
    SECONDS=0
    if ! swift build 2>&1 | show_progress; then
        grep --extended-regexp --max-count=20 '(error|fatal): ' "$log" >&2 || tail -n 20 "$log" >&2
        fail "the build failed; all of its output is in $log"
    fi
    printf 'Built in %d:%02d.\n\n' $((SECONDS / 60)) $((SECONDS % 60))
}

find_swift
begin_fetch
deploy/install-dependencies.sh
build
exec .build/debug/fanfare dev "$@"
