#!/usr/bin/env bash
# Builds a release and takes all figures of `fanfare bench`; arguments go to the daemon's bench, such as --devices 1000000. Takes half an hour.
# Needs nghttpd and h2load (Debian: nghttp2-server, nghttp2-client). Leaves nothing outside the checkout.
set -euo pipefail
cd "$(dirname "$0")/.."

swift build -c release --product fanfare
fanfare=$(swift build -c release --show-bin-path)/fanfare
"$fanfare" bench transport
# Rates and latency at the simulated providers: nghttpd, which keeps each body in a file, is slower than the daemon.
"$fanfare" bench "$@"
# The CPU of a push beside bare libcurl's, which has no provider token that the simulated APNs would take.
"$fanfare" bench --sink nghttpd --samples 0 "$@"
"$fanfare" bench emit
"$fanfare" bench rounds
