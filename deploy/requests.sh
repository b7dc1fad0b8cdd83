#!/usr/bin/env bash
# Sends mutated HTTP requests, byte by byte, to a daemon's listener: request lines, headers, framing, bodies, cursors, cookies and
# Last-Event-ID. The daemon must live, answer /livez within 5 s, answer nothing with 500 and log nothing of level error.
#
#   deploy/requests.sh [SECONDS [PROGRAM [SEED]]]   a minute, the debug build and a random seed, unless others are named; fanfare-lab is
#                                                   beside the program
#
# Needs PostgreSQL's server, curl and Python; leaves nothing. Exit codes: 0 nothing found, 1 something found, 69 it cannot be tested.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

seconds=${1:-60}
program=$(readlink -f "${2:-.build/debug/fanfare}")
seed=${3:-$RANDOM}
readonly seconds program seed trial=requests
. deploy/lib.sh

need curl python3
start_postgres
start_sandbox
configure requests << YAML
installation: requests
database: { url: "$url" }
api: { listen: "127.0.0.1:0" }
log: { format: text }
YAML
fanfare migrate > "$made/migrated"
start_daemon 'HTTP API listening' ' ready '
port=$(sed -nE 's/.*HTTP API listening.* listen=[^ ]*:([0-9]+).*/\1/p' "$made/daemon.log")
fanfare tokens create requests --scope emitter --scope registrar --scope author --scope operator --scope reader --rate 100000 > "$made/token"

cat > "$made/requests.py" << 'PYTHON'
import os, random, re, select, socket, sys, threading, time

port, pid, seconds, seed = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
token = open(sys.argv[5]).read().strip().encode()
end = time.monotonic() + seconds


def talk(data, wait):
    """Sends bytes, and returns what comes back until nothing has for a while."""
    answer = b""
    try:
        with socket.create_connection(("127.0.0.1", port), 5) as wire:
            wire.settimeout(5)
            wire.sendall(data)
            while len(answer) < 200_000 and select.select([wire], [], [], wait)[0]:
                piece = wire.recv(65536)
                if not piece:
                    break
                answer += piece
    except (ConnectionError, TimeoutError):
        pass
    return answer


def request(line, body=b"", *headers):
    head = [line + b" HTTP/1.1", b"Host: localhost", b"Authorization: Bearer " + token, *headers]
    if body:
        head += [b"Content-Type: application/json", b"Content-Length: %d" % len(body)]
    return b"\r\n".join(head) + b"\r\n\r\n" + body


def found(pattern, answer):
    match = re.search(pattern, answer)
    if not match:
        sys.exit(f"requests: no {pattern!r} in {answer[:500]!r}")
    return match[1]


device = b'{"provider": "fcm", "token": "%s", "user_id": "u", "attributes": {"a": [1, "\\u00e9"]}}'
for name in (b"one", b"two"):
    talk(request(b"PUT /v1/apps/demo/devices", device % name), 1)
cursor = found(rb'"next":\s*"([^"]+)"', talk(request(b"GET /v1/apps/demo/devices?limit=1"), 1))
event = found(rb'"id":\s*"(\d+)"', talk(request(b"POST /v1/events", b'{"type": "e", "payload": {"u": "u"}}'), 1))
place = found(rb"\nid: ?(\S+)", talk(request(b"GET /v1/tail", b"", b"Last-Event-ID: %d" % ((time.time() - 60) * 1e6)), 3))
form = b"token=" + token
login = b"POST /login HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: same-origin\r\nContent-Type: application/x-www-form-urlencoded\r\n"
cookie = found(rb"(?i)set-cookie: ([^;]+)", talk(login + b"Content-Length: %d\r\n\r\n" % len(form) + form, 1))
batch = b'{"events": [{"type": "e", "payload": {"n": 1e3}, "key": "k"}, {"type": "f", "ttl": "4h"}]}'
rule = b'{"rules": [{"name": "r", "event": "e", "when": "$.a > 1", "to": {"users": "$.u"}, "message": {"notification": {"title": "{{a}}"}}}]}'
seeds = [
    request(b"POST /v1/events", b'{"type": "e", "payload": {"a": {"b": [1, null, "x"]}}}', b"Idempotency-Key: k", b"traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
    request(b"POST /v1/events/batch", batch),
    request(b"POST /v1/events", b"", b"Content-Type: application/json", b"Transfer-Encoding: chunked") + b'5\r\n{"typ\r\n9;x=y\r\ne": "eee"}\r\n0\r\nTrailer: x\r\n\r\n',
    request(b"GET /v1/apps/demo/devices?limit=1&after=" + cursor),
    request(b"GET /v1/events/" + event + b"/deliveries?limit=2"),
    request(b"GET /v1/tail?app=demo&type=e", b"", b"Last-Event-ID: " + place),
    request(b"PUT /v1/apps/demo/devices", device % b"three"),
    request(b"POST /v1/apps/demo/rules/plan", rule),
    request(b"POST /v1/apps/demo/explain", b'{"type": "e", "payload": {"u": "u"}}'),
    request(b"GET /v1/apps/demo/users/u/why?event=" + event),
    request(b"POST /v1/apps/demo/users/u/snooze", b'{"category": "offers", "until": "8h"}'),
    request(b"GET /v1/openapi.json", b"", b"Accept-Encoding: gzip", b"Range: bytes=0-1"),
    login + b"Content-Length: %d\r\n\r\n" % len(form) + form,
    b"GET /events?key=k HTTP/1.1\r\nHost: localhost\r\nCookie: " + cookie + b"\r\n\r\n",
    b"GET /users/u?event=" + event + b" HTTP/1.1\r\nHost: localhost\r\nCookie: " + cookie + b"; a=b\r\n\r\n",
    b"POST /logout HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\nCookie: " + cookie + b"\r\nContent-Length: 0\r\n\r\n",
    b"GET /livez HTTP/1.0\r\n\r\n",
]
words = [
    b"\r\n", b"\n", b"\r", b"\0", b" ", b"\t", b":", b"%00", b"%2F", b"%2e%2e/", b"%c0%af", b"%ff", b"\xff\xfe", b"\xed\xa0\x80", "\u202e\u009b\u00e9".encode(),
    b"0", b"-1", b"1e999", b"9223372036854775807", b"9223372036854775808", b"18446744073709551616", b"4294967296", b"." * 40, b"A" * 9000, b"[" * 2000,
    b'{"a":', b"\\ud800", b"\\u0000", b"&", b"?", b"#", b"*", b"Content-Length: 5\r\n", b"Transfer-Encoding: chunked\r\n", b"Host: evil\r\n", b"Expect: 100-continue\r\n",
    b"Connection: upgrade\r\nUpgrade: h2c\r\n", b"\r\n\r\n0\r\n\r\n", b"ffffffffffffffff\r\n", b"HTTP/9.9", b"CONNECT ", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", cursor, place, cookie,
]


def mutated(chance):
    data = bytearray(chance.choice(seeds))
    for _ in range(chance.choice((1, 1, 2, 3, 8))):
        at, other = sorted(chance.randrange(len(data) + 1) for _ in range(2))
        way = chance.randrange(8)
        if way == 0 and data:
            data[min(at, len(data) - 1)] ^= 1 << chance.randrange(8)
        elif way == 1:
            data[at:at] = chance.choice(words)
        elif way == 2:
            del data[at : min(other, at + 40)]
        elif way == 3:
            data[at:at] = data[at : min(other, at + 400)]
        elif way == 4:
            second = chance.choice(seeds)
            data[at:] = second[chance.randrange(len(second)) :]
        elif way == 5:
            numbers = list(re.finditer(rb"\d+", data))
            if numbers:
                data[slice(*chance.choice(numbers).span())] = chance.choice(words[15:21])
        elif way == 6:
            lines = data.split(b"\r\n")
            lines.insert(chance.randrange(len(lines) + 1), lines[chance.randrange(len(lines))])
            data = bytearray(b"\r\n".join(lines))
        else:
            data += chance.choice(seeds)
    return bytes(data)


count, faults, lock = 0, [], threading.Lock()


def attack(number):
    global count
    chance = random.Random(f"{seed} {number}")
    while time.monotonic() < end and not faults:
        data = mutated(chance)
        answer = talk(data, 0.05)
        with lock:
            count += 1
            if b"HTTP/1.1 500 " in answer:
                faults.append(f"answered 500: {data!r}\n{answer[-600:]!r}")
            elif not os.path.exists(f"/proc/{pid}"):
                faults.append(f"the daemon is gone, after: {data!r}")


threads = [threading.Thread(target=attack, args=(number,)) for number in range(4)]
for thread in threads:
    thread.start()
while any(thread.is_alive() for thread in threads):
    if b" 200 " not in talk(b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 5)[:20]:
        faults.append("/livez was not answered within 5 s")
        break
    time.sleep(0.5)
for thread in threads:
    thread.join()
print(f"requests: {count} requests, seed {seed}")
sys.exit("\n".join(faults) or 0)
PYTHON
python3 "$made/requests.py" "$port" "$daemon" "$seconds" "$seed" "$made/token" || fail "seed $seed"
kill -0 "$daemon" || fail "the daemon is gone, seed $seed"
if grep --extended-regexp '^[^ ]+ +(ERROR|CRITICAL) ' "$made/daemon.log"; then fail "lines of level error, seed $seed"; fi
