#!/usr/bin/env python3
"""Fanfare from a backend in Python, with the standard library alone.

    FANFARE_URL=http://127.0.0.1:8080 FANFARE_TOKEN=ff_... backend.py

Take the class; the rest is a tour of its use: a device, a topic, preferences, an event and its fate. The token needs
the scopes registrar, emitter and reader. FANFARE_APP (default: shop) and FANFARE_TOPIC (default: news) name the app and the topic.
"""

import http.client
import json
import os
import random
import secrets
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid


class Problem(Exception):
    """The reason why a request failed: a problem document (RFC 9457), or the answer of a proxy instead of one."""

    def __init__(self, status, code, detail, hint="", pointer=None, request_id=None):
        super().__init__(f"{status} {code}: {detail}" + (f" ({hint})" if hint else ""))
        self.status, self.code, self.detail, self.hint = status, code, detail, hint
        self.pointer, self.request_id = pointer, request_id

    @classmethod
    def read(cls, status, content_type, body):
        """Uses a document only if it is valid and about this answer."""
        try:
            document = json.loads(body) if content_type.split(";")[0].strip() == "application/problem+json" else {}
        except ValueError:
            document = {}
        if not isinstance(document, dict) or document.get("status") != status or not document.get("code"):
            return cls(status, "unknown", "no problem document; a proxy's answer?")
        names = ("detail", "hint", "pointer", "request_id")
        return cls(status, document["code"], **{name: document[name] for name in names if name in document})


class Fanfare:
    """The HTTP API with retries of requests that may succeed later."""

    # The first request with this key is in progress (409); too many requests (429); the database is down (503), or Fanfare is (502, 504).
    AGAIN = {409, 429, 502, 503, 504}

    def __init__(self, url, token, app, patience=30.0):
        self.url, self.app, self.patience = url.rstrip("/"), app, patience
        self.headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}

    def call(self, method, path, body=None, headers=None):
        """Returns the JSON and the headers. Every request of this class may be repeated, since events have a key."""
        data = None if body is None else json.dumps(body).encode()
        headers = self.headers | (headers or {}) | ({} if data is None else {"Content-Type": "application/json"})
        ends, pause = time.monotonic() + self.patience, 0.25
        while True:
            request = urllib.request.Request(self.url + path, data, headers, method=method)
            try:
                with urllib.request.urlopen(request, timeout=10) as answer:
                    text = answer.read()
                    return (json.loads(text) if text else None), answer.headers
            except urllib.error.HTTPError as error:
                with error:
                    problem = Problem.read(error.code, error.headers.get("Content-Type", ""), error.read())
                    after = error.headers.get("Retry-After", "")
                if problem.status not in self.AGAIN:
                    raise problem from None
            except (OSError, http.client.HTTPException) as error:
                # It is unknown whether the request was processed: the next attempt finds out.
                problem, after = Problem(0, "unreachable", str(error)), ""
            wait = float(after) if after.isdigit() else pause
            # Adds jitter, so that clients do not retry at the same moment.
            wait += random.uniform(0, wait / 4)
            if time.monotonic() + wait > ends:
                raise problem
            time.sleep(wait)
            pause = min(pause * 2, 5)

    def pages(self, path):
        """Iterates over a list, page by page."""
        after = ""
        while after is not None:
            page, _ = self.call("GET", f"{path}?{urllib.parse.urlencode({'limit': 100} | ({'after': after} if after else {}))}")
            yield from page["data"]
            after = page["next"]

    def register(self, provider, token, **more):
        """Registers a device, renews it, moves it to another user_id, or rotates its token (replaces); returns its id."""
        return self.call("PUT", f"/v1/apps/{self.app}/devices", {"provider": provider, "token": token} | more)[0]["id"]

    def unregister(self, provider, token):
        body = {"provider": provider, "token": token}
        return self.call("POST", f"/v1/apps/{self.app}/devices/unregister", body)[0]["disabled"]

    def subscribe(self, device, topic):
        self.call("PUT", f"/v1/apps/{self.app}/devices/{device}/topics/{quoted(topic)}")

    def opt_out(self, user, category, opted_out=True):
        path = f"/v1/apps/{self.app}/users/{quoted(user)}/preferences/{quoted(category)}"
        self.call("PUT", path, {"opted_out": opted_out})

    def preferences(self, user):
        return self.call("GET", f"/v1/apps/{self.app}/users/{quoted(user)}/preferences")[0]["data"]

    def forget(self, user):
        """Deletes a user's devices, subscriptions and preferences."""
        return self.call("DELETE", f"/v1/apps/{self.app}/users/{quoted(user)}")[0]["devices"]

    def emit(self, type, payload, once=None):
        """Emits once with any number of retries; returns the event's id, and whether an earlier request had emitted it.

        Store `once` with the cause of the event (an order's row), so that it survives a crash of yours as well.
        """
        headers = {"Idempotency-Key": once or str(uuid.uuid4())}
        answer, heads = self.call("POST", "/v1/events", {"type": type, "payload": payload}, headers)
        return answer["id"], heads.get("Idempotency-Replayed") == "true"

    def fate(self, event, within=10.0):
        """Returns the event once it is no longer waiting, and its deliveries once all are known, or their state after the time limit."""
        ends = time.monotonic() + within
        while True:
            shown = self.call("GET", f"/v1/events/{event}")[0]
            deliveries = [] if shown["fate"] == "waiting" else list(self.pages(f"/v1/events/{event}/deliveries"))
            open_ones = [one for one in deliveries if one["outcome"] == "pending"]
            if (shown["fate"] != "waiting" and not open_ones) or time.monotonic() > ends:
                return shown, deliveries
            time.sleep(0.25)


def quoted(text):
    """A user's id may have any characters."""
    return urllib.parse.quote(text, safe="")


def main():
    try:
        app = os.environ.get("FANFARE_APP", "shop")
        fanfare = Fanfare(os.environ.get("FANFARE_URL", "http://127.0.0.1:8080"), os.environ["FANFARE_TOKEN"], app)
    except KeyError:
        sys.exit("backend.py: FANFARE_TOKEN is missing; `fanfare tokens create` makes one")
    topic, user, old, new = os.environ.get("FANFARE_TOPIC", "news"), "ann/python", secrets.token_hex(16), secrets.token_hex(16)

    device = fanfare.register("fcm", old, user_id=user, locale="es-MX", time_zone="America/Mexico_City")
    print("registered", device)
    print("rotated", fanfare.register("fcm", new, replaces=old))
    fanfare.subscribe(device, topic)
    print("subscribed to", topic)

    fanfare.opt_out(user, "marketing")
    print("preferences", json.dumps(fanfare.preferences(user)))

    once = f"sale-{uuid.uuid4()}"
    event, replayed = fanfare.emit("sale.started", {"name": "Spring sale"}, once)
    print("emitted", event, "replayed" if replayed else "new")
    again, replayed = fanfare.emit("sale.started", {"name": "Spring sale"}, once)
    print("emitted", again, "replayed" if replayed else "new")

    shown, deliveries = fanfare.fate(event)
    print("fate", shown["fate"], shown.get("detail") or "")
    for one in deliveries:
        print("delivery", one["provider"], one["device_id"], one["outcome"], one["reason"])

    try:
        fanfare.register("apns", "no hexadecimal digits")
    except Problem as problem:
        print("problem", problem)
    print("unregistered", fanfare.unregister("fcm", new))
    print("forgotten", fanfare.forget(user))


if __name__ == "__main__":
    try:
        main()
    except Problem as problem:
        sys.exit(f"backend.py: {problem}; the request was {problem.request_id}")
