#!/usr/bin/env bash
# Runs the tests of deploy/examples/tests with the commands of Documentation.docc/Testing.md, and compares the article with the files.
#
#   deploy/testing.sh [--swift] [PROGRAM]      the debug build, unless a program is named; fanfare-lab is beside it. With --swift also
#                                              the package for Swift Testing, whose build takes up to half a minute
#
# Needs PostgreSQL's server, jq, pytest and Node 18 or later; leaves nothing. Exit codes: 0 they work, 1 not, 69 they cannot be tested.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

swift=false
if [[ "${1:-}" == --swift ]]; then
    swift=true
    shift
fi
program=$(readlink -f "${1:-.build/debug/fanfare}")
readonly program trial=testing article=Sources/fanfare/Documentation.docc/Testing.md tests=deploy/examples/tests
. deploy/lib.sh

# Every block of the article, except commands and the workflow, is a part of one of the files.
compare_article() {
    python3 - "$article" "$tests" << 'PYTHON'
import pathlib, re, sys
files = [path.read_text() for path in pathlib.Path(sys.argv[2]).iterdir() if path.is_file()]
blocks = re.findall(r"^```(\w+)\n(.*?)\n```$", pathlib.Path(sys.argv[1]).read_text(), re.MULTILINE | re.DOTALL)
shown = [text for kind, text in blocks if kind in ("sql", "python") or text.startswith(("- name:", "#!"))]
lost = [text for text in shown if not any(text in file for file in files)]
sys.exit(f"Testing.md shows what no file has:\n{lost[0]}" if lost or len(shown) < 7 else 0)
PYTHON
}

need createdb dropdb psql jq node pytest python3
compare_article || fail "the article and the files differ"
start_postgres
# The user's own settings must not affect them.
unset FANFARE_CONFIG DATABASE_URL
export PATH="${program%/*}:$PATH" PGHOST=$made/socket PGUSER=postgres PYTEST_ADDOPTS="-p no:cacheprovider" PYTHONDONTWRITEBYTECODE=1
# Runs in a copy, so that the checkout is not changed.
cp -r "$tests" "$made/tests"
cd "$made/tests"

./explain.sh > "$made/explained" || fail "explain.sh failed"
sed --in-place 's/order-7/order-8/' explain.sh
if ./explain.sh > "$made/explained"; then fail "explain.sh does not see another collapse id"; fi

# A role with the rights that the article requires.
export DATABASE_URL=$url
"$program" migrate > "$made/migrated"
psql --quiet --file=schema.sql "$url"
sql "CREATE ROLE application LOGIN IN ROLE fanfare_emitter, fanfare_reader; GRANT SELECT, INSERT, UPDATE ON orders TO application"
expect "trigger.sql" $'ok  a packed order is not an event\nok  a shipped order is one event' \
    "$(psql --quiet --no-align --tuples-only --file=trigger.sql "${url/user=postgres/user=application}" 2>&1)"
expect "rows and events that trigger.sql left" "0 0" "$(sql "SELECT (SELECT count(*) FROM orders) || ' ' || (SELECT count(*) FROM fanfare.events)")"
sed --in-place 's/"ann"/"bob"/' trigger.sql
if psql --quiet --file=trigger.sql "$url" > "$made/trigger" 2>&1; then fail "trigger.sql does not see another user"; fi
grep --quiet 'a shipped order is one event: wanted \["bob"\], got \["ann"\]' "$made/trigger" || fail "$(< "$made/trigger")"
unset DATABASE_URL
echo "testing: explain.sh and trigger.sql pass, and fail where they should"

suites=("pytest test_pushes.py" "node --test pushes.test.mjs")
if "$swift"; then suites+=("swift test --package-path swift"); fi
for suite in "${suites[@]}"; do
    # shellcheck disable=SC2086 # The words of a command.
    ./with-fanfare.sh $suite > "$made/suite" 2>&1 || { cat "$made/suite" >&2 && fail "$suite failed"; }
    grep --quiet --extended-regexp '(3 passed|^# pass 3$|with 3 tests .*passed)' "$made/suite" || { cat "$made/suite" >&2 && fail "$suite: not 3 tests passed"; }
    echo "testing: $suite passes"
done
# A rule with another text must make a suite fail; both runs leave nothing behind.
sed --in-place 's/Sie ist unterwegs/Sie kommt/' rules.yaml
if ./with-fanfare.sh pytest test_pushes.py > "$made/suite" 2>&1; then fail "pytest does not see another text"; fi
expect "databases that were left" 0 "$(sql "SELECT count(*) FROM pg_database WHERE datname LIKE 'fanfare_test_%'")"
