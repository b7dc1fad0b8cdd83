#!/usr/bin/env node
// The backend for phones and browser pages, which knows its users, and registers their devices with Fanfare.
//
//   FANFARE_URL=… FANFARE_TOKEN=ff_… VAPID_PUBLIC_KEY=… EXAMPLE_USER=ann node server.mjs
//
// The token needs the scope registrar, and stays here: a client that has it can register devices for any user. Also serves the page of
// browser/ at http://localhost:3000 (PORT). FANFARE_APP is the app, by default shop; `fanfare check` prints the VAPID public key.
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { fromEnvironment } from './backend.mjs'

// A short limit, because a client that waits on a phone can retry.
const fanfare = fromEnvironment({ patience: 5000 })

/** Returns a request's user, from your session or your app's own token. This example has one user, so it listens on loopback only. */
function userOf(request) {
  return process.env.EXAMPLE_USER
}

const files = { '/': 'index.html', '/page.js': 'page.js', '/service-worker.js': 'service-worker.js' }
const types = { html: 'text/html; charset=utf-8', js: 'text/javascript; charset=utf-8' }
// The members that a device may set; above all not its user.
const members = ['provider', 'token', 'environment', 'kind', 'locale', 'time_zone', 'p256dh', 'auth', 'replaces', 'address', 'permission']

async function textOf(request, limit) {
  // Only a page of this origin can send this type: others would need permission, and get none (no CORS headers).
  if (!(request.headers['content-type'] ?? '').startsWith('application/json')) throw { status: 415 }
  const chunks = []
  let size = 0
  for await (const chunk of request) {
    size += chunk.length
    if (size > limit) throw { status: 413 }
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

async function bodyOf(request) {
  const text = await textOf(request, 16_384)
  try {
    const body = JSON.parse(text)
    return Object.fromEntries(members.filter((name) => typeof body[name] === 'string').map((name) => [name, body[name]]))
  } catch {
    throw { status: 400 }
  }
}

const routes = {
  'GET /push/key': async () => ({ key: process.env.VAPID_PUBLIC_KEY }),

  // At each start of the app or page, after signing in, and when the token changed (replaces has the old one).
  'PUT /push/device': async (request, user) => {
    const device = { ...(await bodyOf(request)), user_id: user }
    const { json } = await fanfare.call('PUT', `/v1/apps/${fanfare.app}/devices`, device)
    // The device sends its reports with this key, which permits nothing else.
    return json.report_key && { report_key: json.report_key }
  },

  // On signing out, because another user may sign in on this phone.
  'POST /push/sign-out': async (request) => {
    const { provider, token } = await bodyOf(request)
    await fanfare.unregister(provider, token)
  },
}

/** Passes reports of a device to Fanfare, with the key of the device in place of this server's token. */
async function passReports(request, response) {
  const sent = await fetch(`${fanfare.url}/v1/apps/${fanfare.app}/reports`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: request.headers.authorization ?? '' },
    body: await textOf(request, 65_536),
    signal: AbortSignal.timeout(10_000),
  })
  const wait = sent.headers.get('retry-after')
  response.writeHead(sent.status, { 'Content-Type': 'application/json', ...(wait ? { 'Retry-After': wait } : {}) })
  response.end(await sent.text())
}

async function answer(request, response) {
  const path = new URL(request.url, 'http://localhost').pathname
  if (request.method === 'POST' && path === '/push/reports') return passReports(request, response)
  if (request.method === 'GET' && Object.hasOwn(files, path)) {
    const name = files[path]
    response.setHeader('Content-Type', types[name.split('.').pop()])
    response.end(await readFile(new URL(`browser/${name}`, import.meta.url)))
    return
  }
  const route = `${request.method} ${path}`
  if (!Object.hasOwn(routes, route)) throw { status: 404 }
  const user = userOf(request)
  if (!user) throw { status: 401 }
  const json = await routes[route](request, user)
  response.statusCode = json ? 200 : 204
  if (json) response.setHeader('Content-Type', 'application/json')
  response.end(json && JSON.stringify(json))
}

createServer((request, response) => {
  answer(request, response).catch((error) => {
    // A rejected device is the client's error (422); an unavailable Fanfare is not (503: retry).
    const status = error.requestID && error.status !== 422 ? 503 : (error.status || 503)
    if (!error.status || error.requestID) console.error(error.message, error.requestID ?? '')
    response.statusCode = status
    if (status === 503) response.setHeader('Retry-After', '30')
    response.end()
  })
}).listen(Number(process.env.PORT ?? 3000), '127.0.0.1', function () {
  console.log(`http://localhost:${this.address().port}`)
})
