import Foundation

extension Browser {
    /// Returns the browser's registration id of a site's service worker.
    ///
    /// DevTools reports it by events, which WebDriver does not forward; it is read from Chromium's page of service
    /// workers instead.
    ///
    /// - Parameter origin: scheme, host and port of the site; the worker's scope must be the whole site.
    /// - Returns: the id in DevTools' form.
    /// - Throws: `BrowserError` if the site has no worker.
    public func workerRegistration(of origin: String) async throws -> String {
        try await inNewTab {
            try await open("chrome://serviceworker-internals")
            return try await wait(for: "a service worker of \(origin)") {
                let text = try await run("return document.body.innerText", as: String.self)
                guard let own = text.components(separatedBy: "Scope: \(origin)/\n").dropFirst().first else {
                    return nil
                }
                return own.firstMatch(of: /Registration ID: (\d+)/).map { String($0.1) }
            }
        }
    }

    /// Delivers a push to a site's service worker, as the browser's push service would, and waits until the worker has
    /// shown a notification.
    ///
    /// A page of the site must be open in the current tab.
    ///
    /// - Parameters:
    ///   - payload: the decrypted payload.
    ///   - origin: scheme, host and port of the site.
    ///   - worker: the URL of the worker's file.
    /// - Throws: `BrowserError` if the site has no worker, or the worker shows no notification.
    public func deliverPush(_ payload: String, to origin: String, worker: String) async throws {
        let registration = try await workerRegistration(of: origin)
        // Chromium loses a notification if a page lists notifications while it is being shown, so the page must not
        // list them earlier.
        _ = try await runInWorker(
            """
            self.shown = new Promise((resolve, reject) => {
              const prototype = ServiceWorkerRegistration.prototype
              const show = prototype.showNotification
              prototype.showNotification = function (...all) {
                prototype.showNotification = show
                const showing = show.apply(this, all)
                showing.then(resolve, reject)
                return showing
              }
            })
            """,
            at: worker
        )
        try await devTools("ServiceWorker.enable")
        try await devTools(
            "ServiceWorker.deliverPushMessage",
            ["origin": .string(origin), "registrationId": .string(registration), "data": .string(payload)]
        )
        _ = try await runInWorker("return self.shown", at: worker)
    }

    /// Runs JavaScript in a running service worker.
    ///
    /// WebDriver returns no results of other targets than the page, so the worker posts its result to the page, which
    /// must be of the same site.
    ///
    /// - Parameters:
    ///   - script: the body of an asynchronous function.
    ///   - address: the URL of the worker's file.
    /// - Returns: the function's result; null for none.
    /// - Throws: `BrowserError` with the script's error.
    public func runInWorker(_ script: String, at address: String) async throws -> JSON {
        let target = try await wait(for: "worker \(address) to run") {
            try await devTools("Target.getTargets")["targetInfos"].elements
                .first { $0["type"] == "service_worker" && $0["url"] == .string(address) }?["targetId"]
        }
        let channel = "run-\(UUID().uuidString)"
        _ = try await run(
            "window[arguments[0]] = new Promise((done) => { new BroadcastChannel(arguments[0]).onmessage = (e) => done(e.data) })",
            .string(channel)
        )
        let expression = """
            (async () => {
              let answer
              try {
                answer = { value: await (async () => { \(script) })() }
              } catch (error) {
                answer = { error: String(error) }
              }
              new BroadcastChannel('\(channel)').postMessage(answer)
            })()
            """
        // Stays attached: an attached worker is not stopped for being idle.
        let session = try await devTools("Target.attachToTarget", ["targetId": target, "flatten": false])["sessionId"]
        let command: JSON = ["id": 1, "method": "Runtime.evaluate", "params": ["expression": .string(expression)]]
        let message = String(decoding: try JSONEncoder().encode(command), as: UTF8.self)
        try await devTools("Target.sendMessageToTarget", ["sessionId": session, "message": .string(message)])
        let answer = try await run("return window[arguments[0]]", .string(channel))
        if let error = answer["error"].text { throw BrowserError(code: "worker error", message: error) }
        return answer["value"]
    }

    /// Runs JavaScript in each page that this tab opens from now on, before the page's own scripts.
    ///
    /// - Parameter script: the statements.
    /// - Throws: `BrowserError` if it cannot be parsed.
    public func runFirst(_ script: String) async throws {
        try await devTools("Page.addScriptToEvaluateOnNewDocument", ["source": .string(script)])
    }
}
