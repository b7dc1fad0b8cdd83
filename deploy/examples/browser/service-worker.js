// Shows pushes. Fanfare's body is JSON: notification (as in the rule's message), data, and fcm_options.link. A rule with
// webpush.declarative has the link in notification.navigate too, and one in each action; Safari shows it without this worker.

self.addEventListener('push', (event) => {
  const { notification = {}, data = {}, fcm_options: options = {} } = event.data?.json() ?? {}
  const { title = 'News', dir, navigate = options.link, ...rest } = notification
  const handle = data.fanfare_report ?? handleOf(navigate)
  // A notification must be shown: browsers revoke the subscription of a page that shows none.
  const showing = self.registration.showNotification(title, {
    ...rest,
    ...(dir ? { dir: dir.toLowerCase() } : {}),
    data: {
      ...data,
      link: navigate,
      ...(handle ? { fanfare_report: handle } : {}),
      ...(rest.actions ? { actions: rest.actions } : {}),
    },
  })
  const kinds = showing.then(() => ['received', 'shown'], () => ['received'])
  event.waitUntil(
    // A broadcast reaches all browsers at once: the delay spreads their reports.
    Promise.all([showing, kinds.then((all) => report(handle, all.map((kind) => ({ kind })), Math.random() * spread))]),
  )
})

self.addEventListener('notificationclick', (event) => {
  event.notification.close()
  const { link = '/', actions = [], fanfare_report: handle } = event.notification.data
  const chosen = actions.find(({ action }) => action === event.action)
  const text = event.reply ? { text: event.reply } : {}
  const click = event.action ? { kind: 'action', action: event.action, ...text } : { kind: 'opened' }
  // Both at once: a browser opens a window only shortly after the click. The page must not report the click again.
  event.waitUntil(Promise.all([self.clients.openWindow(withoutHandle(chosen?.navigate ?? link)), report(handle, [click])]))
})

// Only some browsers dispatch this.
self.addEventListener('notificationclose', (event) => {
  event.waitUntil(report(event.notification.data?.fanfare_report, [{ kind: 'dismissed' }]))
})

// From the page: the key of a new registration (null after signing out), or a click that the page saw.
self.addEventListener('message', (event) => {
  const { report_key: key, report: seen } = event.data ?? {}
  if (key !== undefined) event.waitUntil(setKey(key).then(send))
  if (seen) event.waitUntil(report(seen.handle, [{ kind: seen.kind }]))
})

// The browser moved the subscription to another endpoint, or ended it, while no page was open.
self.addEventListener('pushsubscriptionchange', (event) => {
  event.waitUntil(
    (async () => {
      const old = event.oldSubscription
      const renewed = event.newSubscription ?? (old && (await self.registration.pushManager.subscribe(old.options)))
      // If the browser reports neither, the page registers at its next visit.
      if (!renewed) return
      const { endpoint, keys } = renewed.toJSON()
      const answer = await fetch('/push/device', {
        method: 'PUT',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ provider: 'webpush', token: endpoint, ...keys, ...(old ? { replaces: old.endpoint } : {}) }),
      })
      const { report_key: key } = answer.status === 200 ? await answer.json() : {}
      if (key) await setKey(key)
    })(),
  )
})

// Reports. IndexedDB keeps them, and their key, until the backend has passed them to Fanfare: the browser may end this worker at any time.

const spread = 25_000
const mostKept = 200
const mostSent = 100
const oldest = 7 * 86_400_000
const longestPause = 3_600_000

/** Returns the handle in a link, which declarative messages have. */
function handleOf(link) {
  return URL.canParse?.(link) ? new URL(link).searchParams.get('fanfare_report') : null
}

function withoutHandle(link) {
  if (!handleOf(link)) return link
  const address = new URL(link)
  address.searchParams.delete('fanfare_report')
  return address.href
}

/** Runs `work` in a transaction, and returns the result of its last request. */
function inStore(name, work) {
  return new Promise((resolve, reject) => {
    const opening = self.indexedDB.open('fanfare', 1)
    opening.onupgradeneeded = () => {
      opening.result.createObjectStore('settings')
      opening.result.createObjectStore('reports', { autoIncrement: true, keyPath: 'id' })
    }
    opening.onerror = () => reject(opening.error)
    opening.onsuccess = () => {
      const database = opening.result
      const transaction = database.transaction(name, 'readwrite')
      const request = work(transaction.objectStore(name))
      const end = (settle) => () => {
        database.close()
        settle()
      }
      transaction.oncomplete = end(() => resolve(request?.result))
      transaction.onabort = end(() => reject(transaction.error))
    }
  })
}

const setting = (name) => inStore('settings', (store) => store.get(name))
const set = (name, value) => inStore('settings', (store) => store.put(value, name))
const stored = () => inStore('reports', (store) => store.getAll())
const remove = (gone) => inStore('reports', (store) => gone.forEach(({ id }) => store.delete(id)))

/** Keeps the key of a registration. After signing out, the reports of that user go too. */
async function setKey(key) {
  await set('key', key)
  if (!key) await inStore('reports', (store) => store.clear())
}

/** Keeps reports, and sends them after a delay in milliseconds. */
async function report(handle, reports, delay = 0) {
  if (!handle) return
  const at = new Date().toISOString()
  await inStore('reports', (store) => reports.forEach((one) => store.add({ handle, ...one, at })))
  await trim()
  if (delay > 0) await new Promise((done) => setTimeout(done, delay))
  await send()
}

/** Drops reports that would no longer be counted, and the least important ones of too many. */
async function trim() {
  const all = await stored()
  const fresh = all.filter(({ at }) => Date.now() - Date.parse(at) < oldest)
  const byWorth = [...fresh.filter(({ kind }) => kind === 'received'), ...fresh.filter(({ kind }) => kind !== 'received')]
  const gone = byWorth.slice(0, Math.max(0, fresh.length - mostKept))
  await remove([...all.filter((one) => !fresh.includes(one)), ...gone])
}

// One at a time; a report that is sent twice is counted once.
let sending = Promise.resolve()
function send() {
  sending = sending.then(sendAll, sendAll)
  return sending
}

async function sendAll() {
  let size = mostSent
  for (;;) {
    const key = await setting('key')
    const { attempts = 0, notBefore = 0 } = (await setting('pause')) ?? {}
    const batch = (await stored()).slice(0, size)
    if (!key || !batch.length || Date.now() < notBefore) return
    const answer = await fetch('/push/reports', {
      method: 'POST',
      // The request outlives this worker.
      keepalive: true,
      headers: { 'Content-Type': 'application/json', Authorization: `Report ${key}` },
      body: JSON.stringify({ reports: batch.map(({ id, ...rest }) => rest) }),
    }).catch(() => null)
    const status = answer?.status
    if (status === 202) {
      await remove(batch)
      await set('pause', {})
    } else if (status === 401) {
      // The key is void: the page's next visit registers again, and sends the reports with the new key.
      if ((await setting('key')) === key) await set('key', null)
    } else if ([400, 413, 422].includes(status)) {
      // One of them can never be accepted: smaller requests find it.
      if (batch.length === 1) await remove(batch)
      size = batch.length === 1 ? mostSent : batch.length >> 1
    } else {
      const asked = Number(answer?.headers.get('Retry-After')) * 1000 || 0
      const pause = Math.max(asked, Math.min(1000 * 2 ** attempts, longestPause) * (1 + Math.random() / 4))
      await set('pause', { attempts: Math.min(attempts + 1, 20), notBefore: Date.now() + pause })
      return
    }
  }
}
