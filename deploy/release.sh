#!/usr/bin/env bash
# Builds a release with Swift's own libraries linked in, and prints its path: it runs on machines without Swift. Its requirements are in
# Documentation.docc/Operation.md, "Install". Takes some minutes; leaves nothing outside the checkout.
#
#   deploy/release.sh [PRODUCT]     fanfare by default; fanfare-lab has its `dev`, `sandbox` and `bench`
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly product=${1:-fanfare}

build() { swift build --configuration release --product "$product" --static-swift-stdlib "$@"; }

build >&2
echo "$(build --show-bin-path)/$product"
