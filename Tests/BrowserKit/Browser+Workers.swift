import Foundation

extension Browser {
    /// The number that the browser gave to a site's service worker.
    ///
    /// Nothing but a page of its own tells it, short of events of DevTools, which WebDriver does not hand on.
    ///
    /// - Parameter origin: scheme, host and port of the site, whose worker has all of it for its scope.
    /// - Returns: the number, as DevTools takes it.
    /// - Throws: `BrowserError` if there is none.
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

    /// Hands a push to a site's service worker as if the browser's push service had sent it, and waits until the worker has shown a
    /// notification.
    ///
    /// The page of the site must be open in the tab that is driven.
    ///
    /// - Parameters:
    ///   - payload: decrypted.
    ///   - origin: scheme, host and port of the site.
    ///   - worker: URL of the worker's file.
    /// - Throws: `BrowserError` if it has no worker, or shows nothing.
    public func deliverPush(_ payload: String, to origin: String, worker: String) async throws {
        let registration = try await workerRegistration(of: origin)
        // Chromium forgets a notification that a page asks for while it is being shown, so nobody may ask before.
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
    /// WebDriver hands on no answers of other targets than the page's, so the worker tells the page, which must be of its site.
    ///
    /// - Parameters:
    ///   - script: the body of an asynchronous function.
    ///   - address: URL of the worker's file.
    /// - Returns: what it returns; null for nothing.
    /// - Throws: `BrowserError` with what it throws.
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
        // Not detached: what is attached is not stopped for idleness.
        let session = try await devTools("Target.attachToTarget", ["targetId": target, "flatten": false])["sessionId"]
        let command: JSON = ["id": 1, "method": "Runtime.evaluate", "params": ["expression": .string(expression)]]
        let message = String(decoding: try JSONEncoder().encode(command), as: UTF8.self)
        try await devTools("Target.sendMessageToTarget", ["sessionId": session, "message": .string(message)])
        let answer = try await run("return window[arguments[0]]", .string(channel))
        if let error = answer["error"].text { throw BrowserError(code: "worker error", message: error) }
        return answer["value"]
    }

    /// Runs JavaScript in each page that is opened from now on in this tab, before the page's own.
    ///
    /// - Parameter script: statements.
    /// - Throws: `BrowserError` if it cannot be read.
    public func runFirst(_ script: String) async throws {
        try await devTools("Page.addScriptToEvaluateOnNewDocument", ["source": .string(script)])
    }
}
