// Runs the example's page and service worker, with a simulated browser around them, against the example's server and a daemon.
//
//   browser.mjs SANDBOX-CONTROL-URL     FANFARE_URL, FANFARE_TOKEN (registrar, emitter, reader) and FANFARE_APP in the environment
//
// Prints the id of the event whose push was shown and clicked, as `reported ID`: its reports are in the database soon.
//
// What is not a browser's here: PushManager gives the sandbox's subscriptions, and what the sandbox decrypted is given to the worker. Needs a
// rule with `report: true` that sends order.shipped to the user $.customer_id, with the link https://shop.example.com/orders.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { fromEnvironment } from '../../deploy/examples/backend.mjs'
import { memoryDatabase } from './indexeddb.mjs'
import { runWorker } from './worker.mjs'

const [control] = process.argv.slice(2)
const examples = new URL('../../deploy/examples/', import.meta.url)
const user = `browser ${randomBytes(4).toString('hex')}`
const api = fromEnvironment()
const vapid = Buffer.from(randomBytes(65)).toString('base64url')

const server = spawn(process.execPath, [fileURLToPath(new URL('server.mjs', examples))], {
  env: { ...process.env, PORT: '0', EXAMPLE_USER: user, VAPID_PUBLIC_KEY: vapid },
  stdio: ['ignore', 'pipe', 'inherit'],
})
process.on('exit', () => server.kill())
const origin = (await createInterface(server.stdout)[Symbol.asyncIterator]().next()).value
const ofOrigin = (path, options) => fetch(new URL(path, origin), options)

/** A subscription as a browser gives it, at the simulated push service. */
async function subscribe() {
  const name = randomBytes(12).toString('base64url')
  const answer = await fetch(`${control}/subscriptions`, {
    method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ name }),
  })
  const { endpoint, keys } = JSON.parse((await answer.text()).split('\n')[0])
  const options = { userVisibleOnly: true, applicationServerKey: Buffer.from(vapid, 'base64url') }
  return { endpoint, options, toJSON: () => ({ endpoint, keys }), unsubscribe: async () => (current = null) }
}

// The browser.
let current = null
const elements = { '#state': { textContent: '' }, '#on': {}, '#off': {} }
const stored = new Map()
const pushManager = {
  getSubscription: async () => current,
  subscribe: async ({ userVisibleOnly, applicationServerKey }) => {
    assert.equal(userVisibleOnly, true)
    assert.equal(applicationServerKey, vapid)
    current = await subscribe()
    return current
  },
}
const browser = {
  document: { querySelector: (name) => elements[name] },
  localStorage: {
    getItem: (key) => stored.get(key) ?? null,
    setItem: (key, value) => stored.set(key, value),
    removeItem: (key) => stored.delete(key),
  },
  navigator: {
    language: 'es-MX',
    serviceWorker: {
      register: async () => ({ pushManager }),
      ready: Promise.resolve({ active: { postMessage: (data) => void dispatch('message', { data }) } }),
    },
  },
  Notification: { permission: 'default', requestPermission: async () => (browser.Notification.permission = 'granted') },
  fetch: ofOrigin,
  location: new URL('/orders?n=7&fanfare_report=handle', origin),
  history: { state: null, replaceState: (state, title, here) => (browser.location = here) },
}

// The worker.
const { dispatch, shown, opened } = runWorker(await (await ofOrigin('/service-worker.js')).text(), {
  fetch: ofOrigin,
  indexedDB: memoryDatabase(),
  pushManager,
})

const page = await readFile(new URL('browser/page.js', examples), 'utf8')
const open = Object.getPrototypeOf(async () => {}).constructor(...Object.keys(browser), page)
const visit = () => open(...Object.values(browser))
async function devices() {
  const found = []
  for await (const one of api.pages(`/v1/apps/${api.app}/devices`)) if (one.user_id === user) found.push(one)
  return found
}

/** What the push service got for the subscription, as the browser decrypts it. */
async function received(endpoint) {
  const { id } = await api.emit('order.shipped', { customer_id: user, order_id: 7, country: 'ES', unread: 1 })
  for (let after = 0; ; ) {
    const answer = await fetch(`${control}/received?after=${after}&limit=1000&wait=20`)
    const lines = (await answer.text()).split('\n').filter(Boolean).map((line) => JSON.parse(line))
    assert.notEqual(lines.length, 0, `nothing came of event ${id}`)
    const found = lines.find((line) => line.provider === 'webpush' && line.path === new URL(endpoint).pathname)
    if (found) return { id, push: JSON.parse(found.body) }
    after = lines.at(-1).n
  }
}

await visit()
assert.equal(current, null, 'nothing is asked before a click')
assert.equal(browser.location.href, new URL('/orders?n=7', origin).href)
await elements['#on'].onclick()
assert.equal(elements['#state'].textContent, 'This browser is told.')
const [device, ...others] = await devices()
assert.deepEqual([device.provider, device.locale, device.disabled_at, others.length], ['webpush', 'es-MX', null, 0])

const { id: reported, push } = await received(current.endpoint)
await dispatch('push', { data: { json: () => push } })
assert.equal(shown[0].title, 'Order 7')
assert.equal(shown[0].body, 'On its way')
assert.equal(shown[0].dir, 'ltr')
const { fanfare_report: handle, ...data } = shown[0].data
assert.deepEqual(data, { order: '7', link: 'https://shop.example.com/orders' })
assert.match(handle, /^[\w-]{20,40}$/)
await dispatch('notificationclick', { notification: { ...shown[0], close: () => {} } })
assert.deepEqual(opened, ['https://shop.example.com/orders'])
await dispatch('push', { data: null })
assert.equal(shown[1].title, 'News')

// The browser moves the subscription while no page is open; then the page comes back.
const old = current
current = await subscribe()
await dispatch('pushsubscriptionchange', { oldSubscription: old, newSubscription: current })
await visit()
const [renewed, ...more] = await devices()
assert.deepEqual([renewed.id, renewed.disabled_at, more.length], [device.id, null, 0])
assert.notEqual(renewed.token_hash, device.token_hash)
await received(current.endpoint)

await elements['#off'].onclick()
assert.equal(elements['#state'].textContent, 'No more.')
assert.equal((await devices())[0].disabled_reason, 'unregistered')

// What the server refuses.
const put = (body, type = 'application/json') => ofOrigin('/push/device', { method: 'PUT', headers: { 'content-type': type }, body })
assert.equal((await put('{"provider": "apns", "token": "no digits", "user_id": "somebody else"}')).status, 422)
assert.equal((await put('{}', 'text/plain')).status, 415)
assert.equal((await put('{')).status, 400)
assert.equal((await ofOrigin('/push/nothing')).status, 404)
await api.forget(user)
console.log(`reported ${reported}`)
console.log(`browser: subscribed, was shown a push, moved to another endpoint and kept device ${device.id}, and signed out`)
process.exit(0)
