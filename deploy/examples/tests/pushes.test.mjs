// What the application's rows send, by Node's own runner: ./with-fanfare.sh node --test pushes.test.mjs
import { test } from "node:test";
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";

// Runs SQL in one transaction and returns what it prints; use your application's driver instead.
function sql(text, values = {}) {
  const settings = Object.entries(values).map(([name, value]) => `--set=${name}=${value}`);
  const options = ["-XqAt", "--set=ON_ERROR_STOP=1", "--single-transaction", process.env.DATABASE_URL];
  return execFileSync("psql", [...options, ...settings], { input: text, encoding: "utf8" }).trim();
}

// Asks the simulated providers; each line of the answer is JSON.
async function sandbox(path) {
  const answer = await fetch(process.env.SANDBOX_URL + path);
  return (await answer.text()).split("\n").filter(Boolean).map((line) => JSON.parse(line));
}

// Waits for the first push to a device. Fails if no device gets a push for 10 s.
async function pushTo(token) {
  for (let number = 0; ; ) {
    const pushes = await sandbox(`/received?after=${number}&wait=10`);
    const push = pushes.find((push) => push.target === token);
    if (push) return { headers: push.headers, body: JSON.parse(push.body) };
    assert.ok(pushes.length > 0, "no push to this device within 10 s");
    number = pushes.at(-1).n;
  }
}

// Waits until Fanfare has decided what an event sends to a user, and returns the outcome.
async function verdict(event, user) {
  for (let tries = 0; tries < 100; tries++) {
    const outcome = sql("SELECT outcome FROM fanfare.why_verdict(:event, :'user')", { event, user });
    if (outcome !== "waiting") return outcome;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  assert.fail("nothing was decided within 10 s");
}

// A user of one test alone, so that tests do not see each other's pushes.
const newUser = () => `user-${randomUUID().slice(0, 8)}`;

// Registers a simulated iPhone of a user, in German, and returns its token.
async function newPhone(user) {
  const [devices] = await sandbox(`/devices?name=${user}`);
  const { token } = devices.find((device) => device.provider === "apns");
  sql("SELECT fanfare.register_device('shop', 'apns', :'token', :'user', locale => 'de-DE')", { token, user });
  return token;
}

// Ships an order of a user, and returns the id of the event that this emits.
function ship(user) {
  return sql(
    `INSERT INTO orders (customer_id) VALUES (:'user');
     UPDATE orders SET status = 'shipped' WHERE customer_id = :'user';
     SELECT id FROM fanfare.events WHERE type = 'order.shipped' AND payload ->> 'customer_id' = :'user'`,
    { user },
  );
}

test("a shipped order is pushed in the language of the phone", async () => {
  const user = newUser();
  const phone = await newPhone(user);
  const event = ship(user);
  const { headers, body } = await pushTo(phone);
  assert.deepEqual(body.aps.alert, { title: "Deine Bestellung", body: "Sie ist unterwegs." });
  assert.match(headers["apns-collapse-id"], /^order-\d+$/);
  assert.equal(await verdict(event, user), "accepted");
});

test("a user who opted out gets nothing", async () => {
  const user = newUser();
  await newPhone(user);
  sql("SELECT fanfare.set_preference('shop', :'user', 'orders', true)", { user });
  assert.equal(await verdict(ship(user), user), "opted_out");
});

test("a user without a device gets nothing", async () => {
  const user = newUser();
  assert.equal(await verdict(ship(user), user), "no_device");
});
