#!/usr/bin/env bash
# Fetches axe-core, with which tests of the web console check accessibility, and prints its path:
#
#   export FANFARE_AXE=$(deploy/axe.sh)
#
# It is in a package of PyPI with a pinned version, and stays in .build/axe. Needs Python with pip the first time. Exit codes: 0 the file
# exists, 69 it cannot be fetched.
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
    # Without dependencies: only the script is needed. In a venv, since Debian's pip refuses to install outside of one.
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
