#!/usr/bin/env bash
# Fuzzes the parsers of untrusted input, with libFuzzer and the address sanitizer.
#
#   deploy/fuzz.sh [SECONDS [PARSER …]]   10 seconds of each, unless said otherwise
#
# Its findings stay in .build-fuzz/found; add a test for each once it is understood. Exit codes: 0 nothing found, 1 something found, or the
# build failed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
PATH="$PATH:$HOME/.local/share/swiftly/bin:/usr/libexec/swift/bin"

readonly seconds=${1:-10}
shift || true
parsers=("$@")
if (($# == 0)); then
    for path in Tests/Fuzz/Seeds/*; do parsers+=("${path##*/}"); done
fi

# Everything is compiled for the fuzzer, so that it can trace coverage in the parsers.
export FANFARE_BUILD=fuzz
swift build --quiet --scratch-path .build-fuzz --product Fuzz -Xswiftc -sanitize=fuzzer,address
export ASAN_OPTIONS=detect_leaks=0

failed=0
mkdir -p .build-fuzz/found
for parser in "${parsers[@]}"; do
    mkdir -p ".build-fuzz/corpus/$parser"
    if ! .build-fuzz/debug/Fuzz "$parser" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=4096 \
        -artifact_prefix=".build-fuzz/found/$parser-" -print_final_stats=1 \
        ".build-fuzz/corpus/$parser" "Tests/Fuzz/Seeds/$parser" > ".build-fuzz/$parser.log" 2>&1; then
        failed=$((failed + 1))
        tail -n 40 ".build-fuzz/$parser.log"
    fi
    awk -v parser="$parser" '/number_of_executed_units/ { print parser ": " $2 " inputs" }' ".build-fuzz/$parser.log"
done
exit $((failed > 0))
