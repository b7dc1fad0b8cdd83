#!/usr/bin/env bash
# Fanfare from a shell, with curl (7.84 or later) alone.
#
#   FANFARE_URL=http://127.0.0.1:8080 FANFARE_TOKEN=ff_... backend.sh
#
# Take the functions; the rest is a tour of their use: a device, a topic, preferences, an event and its fate. The token needs the scopes
# registrar, emitter and reader. FANFARE_APP (default: shop) and FANFARE_TOPIC (default: news) name the app and the topic.
set -euo pipefail

url=${FANFARE_URL:-http://127.0.0.1:8080}
app=${FANFARE_APP:-shop}
topic=${FANFARE_TOPIC:-news}
made=$(mktemp --directory)
readonly url app topic made
trap 'rm -rf "$made"' EXIT

# In a file, since every user of the machine can see a command's arguments.
(umask 077 && printf 'Authorization: Bearer %s\n' "${FANFARE_TOKEN:?is missing; fanfare tokens create makes one}" > "$made/token")

# ask METHOD PATH [BODY [IDEMPOTENCY-KEY]]: leaves the answer in $made/body, its status in $status, and whether it is that of an earlier
# request in $replayed. Retries what may succeed later: 409, the first request with this key is in progress; 429, too many requests; 503,
# the database is down; 502 and 504, a proxy cannot reach Fanfare; 000, no answer, so that it is unknown whether the request was processed.
ask() {
    local options=(--silent --show-error --max-time 10 --request "$1" --header "@$made/token" --output "$made/body"
        --write-out '%{http_code} %header{retry-after}|%header{idempotency-replayed}')
    if [[ -n "${3:-}" ]]; then options+=(--header 'Content-Type: application/json' --data-binary "$3"); fi
    if [[ -n "${4:-}" ]]; then options+=(--header "Idempotency-Key: $4"); fi
    local told after ends=$((SECONDS + 30)) pause=1
    while true; do
        : > "$made/body"
        told=$(curl "${options[@]}" "$url$2" 2> "$made/error") || true
        status=${told%% *} after=${told#* } replayed=${told#*|}
        after=${after%|*}
        case $status in
            2??) return 0 ;;
            409 | 429 | 502 | 503 | 504 | 000) ;;
            *) return 1 ;;
        esac
        [[ "$after" =~ ^[0-9]+$ ]] || after=$pause
        ((SECONDS + after <= ends)) || return 1
        sleep "$after.$((RANDOM % 10))"
        pause=$((pause < 4 ? pause * 2 : 5))
    done
}

# text NAME: prints a text of the answer, as it is in the JSON. Use jq for more than one flat object.
text() { sed -nE "s/.*\"$1\":\"(([^\"\\\\]|\\\\.)*)\".*/\1/p" "$made/body"; }

# problem: prints why a request failed; uses a problem document (RFC 9457) only if it is valid and about this answer.
problem() {
    if grep --quiet --fixed-strings "\"status\":$status," "$made/body" && [[ -n "$(text code)" ]]; then
        echo "$status $(text code): $(text detail) ($(text hint)); the request was $(text request_id)"
    else
        echo "$status unknown: no problem document; a proxy's answer? $(cat "$made/error")"
    fi
}

# must METHOD PATH …: like ask, but exits on failure.
must() { ask "$@" || { echo "backend.sh: $(problem)" >&2 && exit 1; }; }

# quoted TEXT: escapes text for a path; a user's id may have any characters.
quoted() {
    local LC_ALL=C text=$1 index byte
    for ((index = 0; index < ${#text}; index++)); do
        byte=${text:index:1}
        case $byte in
            [a-zA-Z0-9._~-]) printf %s "$byte" ;;
            *) printf %%%02X "'$byte" ;;
        esac
    done
}

made_up() { od -An -N16 -tx1 /dev/urandom | tr -d ' \n'; }

old=$(made_up) new=$(made_up) user=ann/curl

must PUT "/v1/apps/$app/devices" \
    '{"provider": "fcm", "token": "'"$old"'", "user_id": "'"$user"'", "locale": "es-MX", "time_zone": "America/Mexico_City"}'
device=$(text id)
echo "registered $device"
must PUT "/v1/apps/$app/devices" '{"provider": "fcm", "token": "'"$new"'", "replaces": "'"$old"'"}'
echo "rotated $(text id)"
must PUT "/v1/apps/$app/devices/$device/topics/$(quoted "$topic")"
echo "subscribed to $topic"

must PUT "/v1/apps/$app/users/$(quoted "$user")/preferences/marketing" '{"opted_out": true}'
must GET "/v1/apps/$app/users/$(quoted "$user")/preferences"
echo "preferences $(cat "$made/body")"

# With the same key twice, the event is emitted once. Store a key with the cause of the event, so that it survives a crash of yours as well.
once=sale-$(made_up)
for _ in 1 2; do
    must POST /v1/events '{"type": "sale.started", "payload": {"name": "Spring sale"}}' "$once"
    event=$(text id)
    echo "emitted $event $([[ "$replayed" == true ]] && echo replayed || echo new)"
done

for _ in {1..40}; do
    must GET "/v1/events/$event"
    fate=$(text fate)
    if [[ "$fate" != waiting ]]; then
        must GET "/v1/events/$event/deliveries?limit=1000"
        if ! grep --quiet '"outcome":"pending"' "$made/body"; then break; fi
    fi
    sleep 0.25
done
echo "fate $fate"
grep --only-matching '"outcome":"[a-z_]*","reason":"[A-Za-z_]*"' "$made/body" | sort | uniq --count || true

if ask PUT "/v1/apps/$app/devices" '{"provider": "apns", "token": "no hexadecimal digits"}'; then exit 1; fi
echo "problem $(problem)"
must POST "/v1/apps/$app/devices/unregister" '{"provider": "fcm", "token": "'"$new"'"}'
echo "unregistered $(cat "$made/body")"
must DELETE "/v1/apps/$app/users/$(quoted "$user")"
echo "forgotten $(cat "$made/body")"
