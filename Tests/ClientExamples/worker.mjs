import { createContext, runInContext } from 'node:vm'

/**
 * Runs a service worker's text in a simulated browser.
 *
 * `shown` has the notifications, `opened` the links of windows, and `dispatch` waits until the worker has handled an event. Random numbers
 * are 0, so reports are not delayed.
 */
export function runWorker(text, { fetch, indexedDB, pushManager, Date: clock = Date, show = async () => {} }) {
  const listeners = {}
  const shown = []
  const opened = []
  const self = {
    indexedDB,
    addEventListener: (name, listener) => (listeners[name] = listener),
    registration: {
      showNotification: async (title, options) => {
        await show()
        shown.push({ title, ...options })
      },
      pushManager,
    },
    clients: { openWindow: async (link) => opened.push(link) },
  }
  const context = createContext({ self, fetch, URL, setTimeout, Date: clock })
  runInContext('Math.random = () => 0', context)
  runInContext(text, context)
  async function dispatch(name, event) {
    const works = []
    listeners[name]({ ...event, waitUntil: (promise) => works.push(promise) })
    await Promise.all(works)
  }
  return { dispatch, shown, opened }
}
