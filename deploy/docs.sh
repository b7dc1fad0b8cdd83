#!/usr/bin/env bash
# Builds the documentation with DocC; a broken link is an error. Prints its path: any web server can serve it.
#
#   deploy/docs.sh          leaves it in .build-docs/documentation
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly scratch=.build-docs output=.build-docs/documentation
mkdir -p "$scratch"
# The manifest without the programs resolves other packages, and would leave its Package.resolved behind.
if [[ -e Package.resolved ]]; then
    cp Package.resolved "$scratch/resolved"
    trap 'cp "$scratch/resolved" Package.resolved' EXIT
else
    trap 'rm -f Package.resolved' EXIT
fi
FANFARE_BUILD=docs swift package --scratch-path "$scratch" --disable-sandbox --allow-writing-to-directory "$output" \
    generate-documentation --target fanfare --output-path "$output" --warnings-as-errors >&2
echo "$output"
