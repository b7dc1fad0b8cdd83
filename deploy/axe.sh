#!/usr/bin/env bash
# Fetches axe-core, by which tests of the web console look for what shuts people out, and prints where it is:
#
#   export FANFARE_AXE=$(deploy/axe.sh)
#
# It comes with a package of PyPI, of an exact version, and stays in .build/axe. Needs Python with pip the first time.
# Exit codes: 0 it is there, 69 it cannot be fetched.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# With axe-core 4.12.1.
readonly package=axe-playwright-python version=0.1.8
readonly folder=$PWD/.build/axe/$version
readonly file=$folder/axe_playwright_python/axe.min.js

if [[ ! -s "$file" ]]; then
    mkdir -p .build/axe
    made=$(mktemp --directory .build/axe/making.XXXXXX)
    trap 'rm -rf "$made"' EXIT
    # Without what it depends on: only the script is wanted. In a venv, since Debian's own pip does not install beside packages.
    {
        python3 -m venv "$made/venv" \
            && "$made/venv/bin/pip" install --quiet --no-deps --target "$made/axe" "$package==$version" \
            && [[ -s "$made/axe/axe_playwright_python/axe.min.js" ]]
    } > "$made/pip" 2>&1 || {
        cat "$made/pip" >&2
        echo "axe.sh: $package $version cannot be fetched from PyPI, or Python has no venv" >&2
        exit 69
    }
    rm -rf "$folder"
    mv "$made/axe" "$folder"
fi
echo "$file"
