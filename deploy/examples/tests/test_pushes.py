"""What the application's rows send, by pytest: ./with-fanfare.sh pytest test_pushes.py"""

import json
import os
import subprocess
import time
import uuid
from urllib.request import urlopen

import pytest


def sql(text, **values):
    """Runs SQL in one transaction and returns what it prints; use your application's driver instead."""
    command = ["psql", "-XqAt", "--set=ON_ERROR_STOP=1", "--single-transaction", os.environ["DATABASE_URL"]]
    command += [f"--set={name}={value}" for name, value in values.items()]
    return subprocess.run(command, input=text, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def sandbox(path):
    """Asks the simulated providers; each line of the answer is JSON."""
    with urlopen(os.environ["SANDBOX_URL"] + path, timeout=60) as answer:
        return [json.loads(line) for line in answer if line.strip()]


def push_to(token):
    """Waits for the first push to a device. Fails if no device gets a push for 10 s."""
    number = 0
    while pushes := sandbox(f"/received?after={number}&wait=10"):
        for push in pushes:
            if push["target"] == token:
                return push["headers"], json.loads(push["body"])
        number = pushes[-1]["n"]
    raise AssertionError("no push to this device within 10 s")


def verdict(event, user):
    """Waits until Fanfare has decided what an event sends to a user, and returns the outcome."""
    for _ in range(100):
        outcome = sql("SELECT outcome FROM fanfare.why_verdict(:event, :'user')", event=event, user=user)
        if outcome != "waiting":
            return outcome
        time.sleep(0.1)
    raise AssertionError("nothing was decided within 10 s")


def ship(user):
    """Ships an order of a user, and returns the id of the event that this emits."""
    return sql(
        """INSERT INTO orders (customer_id) VALUES (:'user');
           UPDATE orders SET status = 'shipped' WHERE customer_id = :'user';
           SELECT id FROM fanfare.events WHERE type = 'order.shipped' AND payload ->> 'customer_id' = :'user'""",
        user=user,
    )


@pytest.fixture
def user():
    """A user of this test alone, so that tests do not see each other's pushes."""
    return f"user-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def phone(user):
    """The token of the user's simulated iPhone, in German."""
    devices = sandbox(f"/devices?name={user}")[0]
    token = next(device["token"] for device in devices if device["provider"] == "apns")
    sql("SELECT fanfare.register_device('shop', 'apns', :'token', :'user', locale => 'de-DE')", token=token, user=user)
    return token


def test_a_shipped_order_is_pushed_in_the_language_of_the_phone(user, phone):
    event = ship(user)
    headers, body = push_to(phone)
    assert body["aps"]["alert"] == {"title": "Deine Bestellung", "body": "Sie ist unterwegs."}
    assert headers["apns-collapse-id"].startswith("order-")
    assert verdict(event, user) == "accepted"


def test_a_user_who_opted_out_gets_nothing(user, phone):
    sql("SELECT fanfare.set_preference('shop', :'user', 'orders', true)", user=user)
    assert verdict(ship(user), user) == "opted_out"


def test_a_user_without_a_device_gets_nothing(user):
    assert verdict(ship(user), user) == "no_device"
