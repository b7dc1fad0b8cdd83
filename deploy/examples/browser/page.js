// A page that subscribes its browser. Needs https, or localhost; on iPhones and iPads the page must be on the home screen.

const state = document.querySelector('#state')
const worker = await navigator.serviceWorker.register('/service-worker.js')

/** Sends the browser's subscription to the backend, which registers it; Fanfare calls the endpoint a token. */
async function register(subscription) {
  const { endpoint, keys } = subscription.toJSON()
  const last = localStorage.getItem('push-endpoint')
  const answer = await fetch('/push/device', {
    method: 'PUT',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({
      provider: 'webpush',
      token: endpoint,
      p256dh: keys.p256dh,
      auth: keys.auth,
      locale: navigator.language,
      time_zone: Intl.DateTimeFormat().resolvedOptions().timeZone,
      // The device keeps its topics when the browser moved it to another endpoint.
      ...(last && last !== endpoint ? { replaces: last } : {}),
    }),
  })
  if (!answer.ok) throw new Error(`the device was not registered: ${answer.status}`)
  localStorage.setItem('push-endpoint', endpoint)
  // The worker sends reports with it. Some answers have none (204).
  const { report_key: key } = answer.status === 200 ? await answer.json() : {}
  if (key) await tellWorker({ report_key: key })
}

/** Sends a message to the service worker, which keeps the reports and their key. */
async function tellWorker(message) {
  const { active } = await navigator.serviceWorker.ready
  active.postMessage(message)
}

/** Reports a click on a declarative message, which the browser shows without the worker: the link has the push's handle. */
async function reportArrival() {
  const here = new URL(location.href)
  const handle = here.searchParams.get('fanfare_report')
  if (!handle) return
  // Without it, a reload or a bookmark would be another click.
  here.searchParams.delete('fanfare_report')
  history.replaceState(history.state, '', here)
  await tellWorker({ report: { handle, kind: 'opened' } })
}

/** Returns a subscription with the backend's current key: one with another key receives no pushes any more. */
async function subscription() {
  const { key } = await (await fetch('/push/key')).json()
  await navigator.serviceWorker.ready
  const there = await worker.pushManager.getSubscription()
  if (there && base64url(there.options.applicationServerKey) === key) return there
  await there?.unsubscribe()
  return worker.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key })
}

function base64url(bytes) {
  const text = btoa(String.fromCharCode(...new Uint8Array(bytes ?? [])))
  return text.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
}

async function show(work) {
  try {
    state.textContent = await work()
  } catch (error) {
    state.textContent = error.message
  }
}

async function on() {
  await register(await subscription())
  return 'This browser is told.'
}

document.querySelector('#on').onclick = () =>
  show(async () => {
    // Only after a click: browsers ignore unprompted requests, and people refuse them.
    if ((await Notification.requestPermission()) !== 'granted') return 'The browser was told not to.'
    return on()
  })

document.querySelector('#off').onclick = () =>
  show(async () => {
    const there = await worker.pushManager.getSubscription()
    if (!there) return 'This browser was not told.'
    await fetch('/push/sign-out', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ provider: 'webpush', token: there.endpoint }),
    })
    await there.unsubscribe()
    await tellWorker({ report_key: null })
    localStorage.removeItem('push-endpoint')
    return 'No more.'
  })

await reportArrival()
// Each visit renews the registration, so that changes (endpoint, language, time zone, user) are known.
if (Notification.permission === 'granted' && (await worker.pushManager.getSubscription())) await show(on)
