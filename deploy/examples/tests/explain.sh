#!/usr/bin/env bash
# Checks what a rule would send for an event. Run ./explain.sh. It needs no database, only fanfare and jq.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

fanfare explain rules.yaml --event '{"order_id": 7, "customer_id": "ann"}' --locale de --json \
    | jq --exit-status 'map(select(.provider == "apns")) | length == 1 and all(
        .body.aps.alert == {title: "Deine Bestellung", body: "Sie ist unterwegs."}
        and .headers["apns-collapse-id"] == "order-7" and .problem == null)'
