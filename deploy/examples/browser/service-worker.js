// Shows pushes. Fanfare's body is JSON: notification (as in the rule's message), data, and fcm_options.link. A rule with
// webpush.declarative has the link in notification.navigate too, and one in each action; Safari shows it without this worker.

self.addEventListener('push', (event) => {
  const { notification = {}, data = {}, fcm_options: options = {} } = event.data?.json() ?? {}
  const { title = 'News', dir, navigate = options.link, ...rest } = notification
  event.waitUntil(
    // A notification must be shown: browsers revoke the subscription of a page that shows none.
    self.registration.showNotification(title, {
      ...rest,
      ...(dir ? { dir: dir.toLowerCase() } : {}),
      data: { ...data, link: navigate, ...(rest.actions ? { actions: rest.actions } : {}) },
    }),
  )
})

self.addEventListener('notificationclick', (event) => {
  event.notification.close()
  const { link = '/', actions = [] } = event.notification.data
  const chosen = actions.find(({ action }) => action === event.action)
  event.waitUntil(self.clients.openWindow(chosen?.navigate ?? link))
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
      await fetch('/push/device', {
        method: 'PUT',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ provider: 'webpush', token: endpoint, ...keys, ...(old ? { replaces: old.endpoint } : {}) }),
      })
    })(),
  )
})
