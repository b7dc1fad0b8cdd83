// A proxy that makes trouble, to see that a client gets over it: gate.mjs URL
//
// Of each client's requests (known by User-Agent): the first of a path is answered 503 with Retry-After and not passed on. Of events, after
// that: the second is passed on and its answer lost, the third is answered 409. Prints its port, then a line for each trouble.
import { createServer } from 'node:http'

const [target] = process.argv.slice(2)
const seen = new Map()

function problem(response, status, code) {
  response.writeHead(status, { 'Content-Type': 'application/problem+json', 'Retry-After': '1' })
  response.end(JSON.stringify({ type: `urn:fanfare:problem:${code}`, title: code, status, detail: 'made up', code, request_id: 'gate' }))
}

createServer(async (request, response) => {
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  const client = request.headers['user-agent']
  // Ids, topics and users differ from one run to the next.
  const path = request.url.replace(/\?.*/, '').replace(/\d{2,}|ann%2F\w+/g, '…')
  const key = `${client} ${request.method} ${path}`
  const count = (seen.get(key) ?? 0) + 1
  seen.set(key, count)
  const isEvent = request.method === 'POST' && path === '/v1/events'
  const tell = (trouble) => console.log(`${client.split('/')[0]} ${request.method} ${path} ${trouble}`)
  if (count === 1) {
    tell('503')
    problem(response, 503, 'unavailable')
    return
  }
  if (isEvent && count === 3) {
    tell('409')
    problem(response, 409, 'in_use')
    return
  }
  const { host, connection, 'content-length': length, ...headers } = request.headers
  const body = chunks.length ? Buffer.concat(chunks) : undefined
  const answer = await fetch(target + request.url, { method: request.method, headers, body })
  const bytes = Buffer.from(await answer.arrayBuffer())
  if (isEvent && count === 2) {
    tell('lost')
    request.socket.destroy()
    return
  }
  const passed = ['content-type', 'retry-after', 'idempotency-replayed', 'x-request-id'].filter((name) => answer.headers.has(name))
  response.writeHead(answer.status, Object.fromEntries(passed.map((name) => [name, answer.headers.get(name)])))
  response.end(bytes)
}).listen(0, '127.0.0.1', function () {
  console.log(this.address().port)
})
