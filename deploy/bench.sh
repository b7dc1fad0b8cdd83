#!/usr/bin/env bash
# Builds a release and takes all figures of `fanfare bench`; arguments go to the daemon's bench, such as --devices 1000000.
# Needs nghttpd and h2load (Debian: nghttp2-server, nghttp2-client). Leaves nothing outside the checkout.
set -euo pipefail
cd "$(dirname "$0")/.."

swift build -c release --product fanfare
fanfare=$(swift build -c release --show-bin-path)/fanfare
"$fanfare" bench transport
"$fanfare" bench --sink nghttpd "$@"
