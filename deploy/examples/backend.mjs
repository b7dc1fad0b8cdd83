#!/usr/bin/env node
// Fanfare from a backend in Node (18 or later), with fetch alone.
//
//   FANFARE_URL=http://127.0.0.1:8080 FANFARE_TOKEN=ff_... node backend.mjs
//
// Import the class; the rest is a tour of its use: a device, a topic, preferences, an event and its fate. The token needs the scopes
// registrar, emitter and reader. FANFARE_APP (default: shop) and FANFARE_TOPIC (default: news) name the app and the topic.
import { randomBytes, randomUUID } from 'node:crypto'
import { realpathSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

/** The reason why a request failed: a problem document (RFC 9457), or the answer of a proxy instead of one. */
export class Problem extends Error {
  constructor(status, { code, detail, hint, pointer, request_id }) {
    super(`${status} ${code}: ${detail}${hint ? ` (${hint})` : ''}`)
    Object.assign(this, { status, code, detail, hint, pointer, requestID: request_id })
  }

  /** Uses a document only if it is valid and about this answer. */
  static async read(answer) {
    const text = await answer.text()
    const type = (answer.headers.get('content-type') ?? '').split(';')[0].trim()
    try {
      const document = JSON.parse(text)
      if (type === 'application/problem+json' && document.status === answer.status && document.code) {
        return new Problem(answer.status, document)
      }
    } catch {
      // Handled below.
    }
    return new Problem(answer.status, { code: 'unknown', detail: "no problem document; a proxy's answer?" })
  }
}

// The first request with this key is in progress (409); too many requests (429); the database is down (503), or Fanfare is (502, 504).
const again = new Set([409, 429, 502, 503, 504])

/** The HTTP API with retries of requests that may succeed later. */
export class Fanfare {
  constructor({ url, token, app, patience = 30_000 }) {
    Object.assign(this, { url: url.replace(/\/+$/, ''), app, patience })
    this.headers = { authorization: `Bearer ${token}`, accept: 'application/json' }
  }

  /** Returns the JSON and the headers. Every request of this class may be repeated, since events have a key. */
  async call(method, path, body, headers = {}) {
    const ends = performance.now() + this.patience
    const options = { method, headers: { ...this.headers, ...headers } }
    if (body !== undefined) {
      options.body = JSON.stringify(body)
      options.headers['content-type'] = 'application/json'
    }
    for (let pause = 250; ; pause = Math.min(pause * 2, 5000)) {
      let problem
      let after = null
      try {
        const answer = await fetch(this.url + path, { ...options, signal: AbortSignal.timeout(10_000) })
        if (answer.ok) return { json: answer.status === 204 ? undefined : await answer.json(), headers: answer.headers }
        problem = await Problem.read(answer)
        after = answer.headers.get('retry-after')
      } catch (error) {
        // It is unknown whether the request was processed: the next attempt finds out.
        problem = new Problem(0, { code: 'unreachable', detail: error.cause?.message ?? error.message })
      }
      if (problem.status !== 0 && !again.has(problem.status)) throw problem
      let wait = /^\d+$/.test(after ?? '') ? Number(after) * 1000 : pause
      // Adds jitter, so that clients do not retry at the same moment.
      wait += (Math.random() * wait) / 4
      if (performance.now() + wait > ends) throw problem
      await sleep(wait)
    }
  }

  /** Iterates over a list, page by page. */
  async *pages(path) {
    for (let after = ''; after !== null; ) {
      const query = new URLSearchParams(after ? { limit: 100, after } : { limit: 100 })
      const { json } = await this.call('GET', `${path}?${query}`)
      yield* json.data
      after = json.next
    }
  }

  /** Registers a device, renews it, moves it to another user_id, or rotates its token (replaces); returns its id. */
  async register(device) {
    return (await this.call('PUT', `/v1/apps/${this.app}/devices`, device)).json.id
  }

  async unregister(provider, token) {
    return (await this.call('POST', `/v1/apps/${this.app}/devices/unregister`, { provider, token })).json.disabled
  }

  async subscribe(device, topic) {
    await this.call('PUT', `/v1/apps/${this.app}/devices/${device}/topics/${encodeURIComponent(topic)}`)
  }

  async optOut(user, category, isOptedOut = true) {
    const path = `/v1/apps/${this.app}/users/${encodeURIComponent(user)}/preferences/${encodeURIComponent(category)}`
    await this.call('PUT', path, { opted_out: isOptedOut })
  }

  async preferences(user) {
    return (await this.call('GET', `/v1/apps/${this.app}/users/${encodeURIComponent(user)}/preferences`)).json.data
  }

  /** Deletes a user's devices, subscriptions and preferences. */
  async forget(user) {
    return (await this.call('DELETE', `/v1/apps/${this.app}/users/${encodeURIComponent(user)}`)).json.devices
  }

  /**
   * Emits once with any number of retries; returns the event's id, and whether an earlier request had emitted it.
   *
   * Store `once` with the cause of the event (an order's row), so that it survives a crash of yours as well.
   */
  async emit(type, payload, once = randomUUID()) {
    const { json, headers } = await this.call('POST', '/v1/events', { type, payload }, { 'idempotency-key': once })
    return { id: json.id, isReplayed: headers.get('idempotency-replayed') === 'true' }
  }

  /** Returns the event once it is no longer waiting, and its deliveries once all are known, or their state after the time limit. */
  async fate(event, within = 10_000) {
    for (const ends = performance.now() + within; ; ) {
      const shown = (await this.call('GET', `/v1/events/${event}`)).json
      const deliveries = []
      if (shown.fate !== 'waiting') {
        for await (const one of this.pages(`/v1/events/${event}/deliveries`)) deliveries.push(one)
      }
      const isDone = shown.fate !== 'waiting' && !deliveries.some((one) => one.outcome === 'pending')
      if (isDone || performance.now() > ends) return { shown, deliveries }
      await sleep(250)
    }
  }
}

/** Creates a client with the settings of the environment. */
export function fromEnvironment(options = {}) {
  const { FANFARE_URL: url = 'http://127.0.0.1:8080', FANFARE_TOKEN: token, FANFARE_APP: app = 'shop' } = process.env
  if (!token) throw new Error('FANFARE_TOKEN is missing; `fanfare tokens create` makes one')
  return new Fanfare({ url, token, app, ...options })
}

async function main() {
  const fanfare = fromEnvironment()
  const topic = process.env.FANFARE_TOPIC ?? 'news'
  const [user, old, renewed] = ['ann/node', randomBytes(16).toString('hex'), randomBytes(16).toString('hex')]

  const device = await fanfare.register({
    provider: 'fcm', token: old, user_id: user, locale: 'es-MX', time_zone: 'America/Mexico_City',
  })
  console.log('registered', device)
  console.log('rotated', await fanfare.register({ provider: 'fcm', token: renewed, replaces: old }))
  await fanfare.subscribe(device, topic)
  console.log('subscribed to', topic)

  await fanfare.optOut(user, 'marketing')
  console.log('preferences', JSON.stringify(await fanfare.preferences(user)))

  const once = `sale-${randomUUID()}`
  let event
  for (let time = 0; time < 2; time += 1) {
    event = await fanfare.emit('sale.started', { name: 'Spring sale' }, once)
    console.log('emitted', event.id, event.isReplayed ? 'replayed' : 'new')
  }

  const { shown, deliveries } = await fanfare.fate(event.id)
  console.log('fate', shown.fate, shown.detail ?? '')
  for (const one of deliveries) console.log('delivery', one.provider, one.device_id, one.outcome, one.reason)

  try {
    await fanfare.register({ provider: 'apns', token: 'no hexadecimal digits' })
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    console.log('problem', error.message)
  }
  console.log('unregistered', await fanfare.unregister('fcm', renewed))
  console.log('forgotten', await fanfare.forget(user))
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  main().catch((error) => {
    console.error(`backend.mjs: ${error.message}${error.requestID ? `; the request was ${error.requestID}` : ''}`)
    process.exitCode = 1
  })
}
