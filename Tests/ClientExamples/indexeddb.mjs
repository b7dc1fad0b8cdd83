/** Returns what the example's worker uses of IndexedDB; the contents stay over "restarts" of a worker that is given the same object. */
export function memoryDatabase() {
  const stores = new Map()
  const later = (request, name, result) => queueMicrotask(() => ((request.result = result), request[name]?.()))

  function storeOf(name) {
    const { rows, keyPath } = stores.get(name)
    const done = (result) => ({ result: structuredClone(result) })
    return {
      get: (key) => done(rows.get(key)),
      getAll: () => done([...rows.values()]),
      put: (value, key) => done(rows.set(key, structuredClone(value)) && key),
      add: (value) => {
        const id = (stores.get(name).last = (stores.get(name).last ?? 0) + 1)
        rows.set(id, structuredClone({ ...value, [keyPath]: id }))
        return done(id)
      },
      delete: (key) => done(void rows.delete(key)),
      clear: () => done(void rows.clear()),
    }
  }

  const database = {
    createObjectStore: (name, { keyPath } = {}) => stores.set(name, { rows: new Map(), keyPath }),
    close: () => {},
    transaction: () => {
      const transaction = { objectStore: storeOf }
      later(transaction, 'oncomplete')
      return transaction
    },
  }
  return {
    open: () => {
      const request = { result: database }
      queueMicrotask(() => {
        if (!stores.size) request.onupgradeneeded()
        request.onsuccess()
      })
      return request
    },
  }
}
