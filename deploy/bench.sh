#!/usr/bin/env bash
# Builds a release and takes all figures of `fanfare bench`, medians of five; arguments go to the daemon's bench, such as
# --devices 1000000. Takes an hour. Needs nghttpd and h2load (Debian: nghttp2-server, nghttp2-client). Leaves nothing
# outside the checkout.
set -euo pipefail
cd "$(dirname "$0")/.."

deploy/install-dependencies.sh
command -v h2load > /dev/null || { echo "bench: h2load is missing; on Debian: apt install nghttp2-client" >&2 && exit 69; }
fanfare=$(deploy/release.sh)

# h2load, bare libcurl and both transports, all against one nghttpd.
"$fanfare" bench transport --runs 5
# Rates, and the CPU of the whole daemon beside the bare client of the library that it sends over, at nghttpd; latency at
# the simulated APNs.
"$fanfare" bench --runs 5 "$@"
"$fanfare" bench --runs 5 --samples 0 --transport curl "$@"
"$fanfare" bench emit --runs 5
"$fanfare" bench encryption
"$fanfare" bench rounds
