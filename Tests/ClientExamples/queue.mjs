// Runs the report queue of the example for iPhones, compiled for this machine, against a local server: queue.mjs PROGRAM FOLDER
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createServer } from 'node:http'
import { promisify } from 'node:util'

const [program, folder] = process.argv.slice(2)
const requests = []
const server = createServer(async (request, response) => {
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  assert.equal(request.headers['content-type'], 'application/json')
  const { reports } = JSON.parse(Buffer.concat(chunks))
  for (const { at } of reports) assert.match(at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
  const asked = Number(request.headers.authorization.match(/^Report 17\.status-(\d+)$/)[1])
  const status = asked === 202 && reports.some(({ handle }) => handle === 'bad') ? 422 : asked
  requests.push({ status, reports: reports.map(({ at, ...rest }) => rest) })
  response.writeHead(status, status === 503 ? { 'Retry-After': '120' } : {})
  response.end('{}')
})
await new Promise((done) => server.listen(0, '127.0.0.1', done))
await promisify(execFile)(program, [`http://127.0.0.1:${server.address().port}/push/reports`, folder])
server.close()

const first = [{ handle: 'h1', kind: 'received' }, { handle: 'h1', kind: 'action', action: 'reply', text: 'Gracias ✓' }]
assert.deepEqual(requests.slice(0, 2), [{ status: 401, reports: first }, { status: 202, reports: first }])
const accepted = requests.filter(({ status }) => status === 202).map(({ reports }) => reports)
assert.deepEqual(accepted.map((reports) => reports.length), [2, 100, 100, 1, 1])
assert.deepEqual(accepted.slice(3).flat().map(({ handle }) => handle), ['h2', 'h3'])
assert.equal(requests.filter(({ status }) => status === 503).length, 1)
assert.equal(requests.at(-1).status, 503)
console.log('reports: the queue for iPhones sent its reports, and kept what was not accepted')
