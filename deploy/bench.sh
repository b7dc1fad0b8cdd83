#!/usr/bin/env bash
# Builds a release and measures all figures of `fanfare bench`, as medians of five runs; arguments are passed to the daemon's benchmark,
# such as --devices 1000000. Takes an hour. Needs nghttpd and h2load (Debian: nghttp2-server, nghttp2-client). Leaves nothing outside the
# checkout.
set -euo pipefail
cd "$(dirname "$0")/.."

deploy/install-dependencies.sh
command -v h2load > /dev/null || { echo "bench: h2load is missing; on Debian: apt install nghttp2-client" >&2 && exit 69; }
fanfare=$(deploy/release.sh)
# `bench` is a part of fanfare-lab, which `fanfare` finds beside itself.
deploy/release.sh fanfare-lab > /dev/null

# The engine and h2load, against one nghttpd.
"$fanfare" bench transport --runs 5
# Rates, and the CPU of the whole daemon compared with h2load, against nghttpd; latency against the simulated APNs.
"$fanfare" bench --runs 5 "$@"
"$fanfare" bench emit --runs 5
"$fanfare" bench encryption
"$fanfare" bench rounds
