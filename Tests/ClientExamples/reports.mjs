// Runs the example's service worker in a simulated browser, and checks what it reports to a local server, which rejects and loses requests.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { memoryDatabase } from './indexeddb.mjs'
import { runWorker } from './worker.mjs'

const text = await readFile(new URL('../../deploy/examples/browser/service-worker.js', import.meta.url), 'utf8')

// The server takes requests that are well formed, and answers what `answers` says first; null hangs up.
const requests = []
let answers = []
const server = createServer(async (request, response) => {
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  assert.equal(`${request.method} ${request.url}`, 'POST /push/reports')
  assert.equal(request.headers['content-type'], 'application/json')
  const { reports } = JSON.parse(Buffer.concat(chunks))
  requests.push({ key: request.headers.authorization, reports })
  const [status, headers = {}] = answers.length ? answers.shift() : reports.some((one) => one.handle === 'bad') ? [422] : [202]
  if (status === null) return request.socket.destroy()
  response.writeHead(status, headers)
  response.end('{}')
})
await new Promise((done) => server.listen(0, '127.0.0.1', done))
const origin = `http://127.0.0.1:${server.address().port}`

let now = Date.parse('2026-11-29T12:00:00Z')
class Clock extends Date {
  constructor(...all) {
    super(...(all.length ? all : [now]))
  }
  static now = () => now
}
const indexedDB = memoryDatabase()
let isForbidden = false
const start = () =>
  runWorker(text, {
    indexedDB,
    Date: Clock,
    fetch: (path, options) => {
      assert.equal(options.keepalive, true)
      return fetch(new URL(path, origin), options)
    },
    show: async () => {
      if (isForbidden) throw new TypeError('no permission')
    },
  })
let worker = start()

/** Returns the requests since the last call, each as its key and "kind handle action text" of its reports. */
function sent() {
  return requests.splice(0).map(({ key, reports }) => [
    key,
    ...reports.map(({ kind, handle, action, text }) => [kind, handle, action, text].filter(Boolean).join(' ')),
  ])
}
const push = (body) => worker.dispatch('push', { data: { json: () => body } })
const click = (more = {}) => worker.dispatch('notificationclick', { notification: { ...worker.shown.at(-1), close: () => {} }, action: '', ...more })
const key = (report_key) => worker.dispatch('message', { data: { report_key } })
const pushed = (handle) => push({ notification: { title: 'Order 7' }, data: { fanfare_report: handle } })

// Nothing is sent without a key, and nothing is lost.
await pushed('h1')
assert.deepEqual(sent(), [])
await key('17.first')
assert.deepEqual(sent(), [['Report 17.first', 'received h1', 'shown h1']])
await click()
assert.deepEqual(sent(), [['Report 17.first', 'opened h1']])
await click({ action: 'reply', reply: 'Thanks' })
assert.deepEqual(sent(), [['Report 17.first', 'action h1 reply Thanks']])
await worker.dispatch('notificationclose', { notification: worker.shown.at(-1) })
assert.deepEqual(sent(), [['Report 17.first', 'dismissed h1']])

// A push without a handle, and one that may not be shown.
await push({ notification: { title: 'Order 8' } })
await click()
assert.deepEqual(sent(), [])
isForbidden = true
await assert.rejects(pushed('h2'), /no permission/)
for (let turn = 0; turn < 100 && !requests.length; turn++) await new Promise((done) => setTimeout(done, 10))
isForbidden = false
assert.deepEqual(sent(), [['Report 17.first', 'received h2']])

// A declarative message in a browser that runs the worker: the page that is opened must not report the click again.
await push({ web_push: 8030, notification: { title: 'Order 9', navigate: 'https://shop.example.com/o?n=9&fanfare_report=h3' } })
await click()
assert.equal(worker.opened.at(-1), 'https://shop.example.com/o?n=9')
assert.deepEqual(sent(), [['Report 17.first', 'received h3', 'shown h3'], ['Report 17.first', 'opened h3']])
await worker.dispatch('message', { data: { report: { handle: 'h4', kind: 'opened' } } })
assert.deepEqual(sent(), [['Report 17.first', 'opened h4']])

// Rejected, lost, and a restart: kept, and sent after the pause.
answers = [[503, { 'Retry-After': '120' }]]
await pushed('h5')
assert.equal(sent().length, 1)
now += 119_000
worker = start()
await worker.dispatch('message', { data: { report: { handle: 'h5', kind: 'opened' } } })
assert.deepEqual(sent(), [])
now += 2_000
answers = [[null]]
await key('17.first')
assert.equal(sent().length, 1)
now += 3_600_000 * 1.25
await key('17.first')
assert.deepEqual(sent(), [['Report 17.first', 'received h5', 'shown h5', 'opened h5']])

// A void key: the reports wait for the next one.
answers = [[401]]
await pushed('h6')
assert.equal(sent().length, 1)
await pushed('h7')
assert.deepEqual(sent(), [])
await key('17.second')
assert.deepEqual(sent(), [['Report 17.second', 'received h6', 'shown h6', 'received h7', 'shown h7']])

// A report that is refused does not hold up the others.
await key(null)
for (const handle of ['h8', 'bad', 'h9']) await pushed(handle)
await key('17.third')
const accepted = sent().filter((request) => !request.includes('received bad') && !request.includes('shown bad'))
assert.deepEqual(accepted.flatMap((request) => request.slice(1)), ['received h8', 'shown h8', 'received h9', 'shown h9'])

// 200 are kept, and the oldest "received" go first; 100 are sent at once; after a week none is.
await key(null)
for (let number = 0; number < 150; number++) await pushed(`n${number}`)
await key('17.fourth')
const kept = sent()
assert.deepEqual(kept.map((request) => request.length - 1), [100, 100])
const kinds = kept.flatMap((request) => request.slice(1))
assert.equal(kinds.filter((one) => one.startsWith('shown')).length, 150)
assert.equal(kinds.find((one) => one.startsWith('received')), 'received n100')
await key(null)
await pushed('old')
now += 7 * 86_400_000 + 1
await pushed('new')
await key('17.fifth')
assert.deepEqual(sent(), [['Report 17.fifth', 'received new', 'shown new']])

// After signing out, nothing of that user is sent.
answers = [[503]]
await pushed('theirs')
sent()
await key(null)
now += 3_600_000
await key('18.other')
assert.deepEqual(sent(), [])
server.close()
console.log('reports: the worker reported received, shown, opened, action and dismissed, and kept what was not accepted')
