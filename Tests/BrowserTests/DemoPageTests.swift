import BrowserKit
import Foundation
import TestKit
import Testing

/// Tests of the page and the service worker of `deploy/examples/browser`, as `fanfare dev` serves them, in a real
/// browser.
///
/// Two parts are simulated, because a push service needs the internet: `PushManager` returns subscriptions of the
/// simulated service, and DevTools hands the decrypted push to the worker. The click on the notification is simulated
/// too. Reports are real: they go from the worker to the page's backend, to the daemon and into the database.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct DemoPageTests {
    private static let rule: JSON = [
        "app": "demo", "name": "parcel-there", "event": "parcel.there",
        "to": ["users": "$.customer_id"], "report": true,
        "message": [
            "notification": ["title": "Parcel {{parcel}}", "body": "Look before your door"],
            "data": ["parcel": "{{parcel}}"],
            "webpush": [
                "notification": ["dir": "rtl"], "fcm_options": ["link": "https://shop.example.com/parcels"],
            ],
        ],
    ]

    /// A message that Safari shows by itself: the worker of another browser finds the link in `navigate`.
    private static let declarative: JSON = [
        "app": "demo", "name": "parcel-away", "event": "parcel.away",
        "to": ["users": "$.customer_id"],
        "message": [
            "notification": ["title": "Parcel {{parcel}} is away", "body": "Follow it"],
            "data": ["parcel": "{{parcel}}"],
            "webpush": [
                "declarative": true,
                "notification": [
                    "navigate": "https://shop.example.com/parcels/{{parcel}}",
                    "actions": [
                        ["action": "map", "title": "Map", "navigate": "https://shop.example.com/map/{{parcel}}"]
                    ],
                ],
            ],
        ],
    ]

    /// Returns a script that replaces the push service's subscriptions by simulated ones, and rejects what a push
    /// service would reject.
    private static func playPushService(_ subscription: JSON) throws -> String {
        let json = String(decoding: try JSONEncoder().encode(subscription), as: UTF8.self)
        return """
            {
              const given = \(json)
              let current = null
              PushManager.prototype.getSubscription = async () => current
              PushManager.prototype.subscribe = async ({ userVisibleOnly, applicationServerKey: key }) => {
                if (Notification.permission !== 'granted') throw new DOMException('no permission', 'NotAllowedError')
                if (!userVisibleOnly || !/^B[\\w-]{86}$/.test(key)) throw new Error('not as browsers want it')
                const bytes = Uint8Array.from(atob(key.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0))
                current = {
                  endpoint: given.endpoint, options: { userVisibleOnly, applicationServerKey: bytes.buffer },
                  toJSON: () => given, unsubscribe: async () => { current = null; return true },
                }
                return current
              }
            }
            """
    }

    private static let notifications = """
        const worker = await navigator.serviceWorker.ready
        return (await worker.getNotifications()).map(({ title, body, dir, data: { link, parcel } }) => ({ title, body, dir, link, parcel }))
        """

    /// JavaScript that dispatches the click's event: a desktop's notification cannot be clicked by DevTools.
    private static func click(action: String = "") -> String {
        """
        const [notification] = await registration.getNotifications()
        return new Promise((opened) => {
          Clients.prototype.openWindow = async (link) => opened(link)
          // On an event that a script created, waitUntil only throws.
          ExtendableEvent.prototype.waitUntil = () => {}
          self.dispatchEvent(new NotificationEvent('notificationclick', { notification, action: '\(action)' }))
        })
        """
    }

    /// JavaScript that lets the worker send its reports without a delay.
    private static let reportAtOnce = "Math.random = () => 0"

    @Test func aBrowserSubscribesIsShownAPushAndSignsOut() async throws {
        try await DevProcess.with { dev in
            _ = try await dev.ask("POST", "/v1/apps/demo/rules/apply", ["rules": [Self.rule, Self.declarative]])
            var options = BrowserOptions()
            options.language = "es-MX"
            try await Browser.with(options) { browser in
                let subscription = try await dev.subscription()
                try await subscribe(browser, dev, subscription)
                let push = try await emit("parcel.there", "Parcel 7", browser, dev, to: subscription)
                try await show(push, browser, dev)
                try await awaitReports(browser, dev)
                let declared = try await emit("parcel.away", "Parcel 7 is away", browser, dev, to: subscription)
                #expect(declared.hasPrefix(#"{"web_push":8030,"#))
                try await showDeclared(declared, browser, dev)

                try await browser.find("#off").click()
                try await browser.wait(for: "#state", toSay: "No more.")
                #expect(try await device(dev)["disabled_reason"] == "unregistered")
                #expect(try await browser.takeConsole().filter { $0.level == "SEVERE" }.map(\.message) == [])
            }
        }
    }

    private func subscribe(_ browser: Browser, _ dev: DevProcess, _ subscription: JSON) async throws {
        try await browser.runFirst(Self.playPushService(subscription))
        try await browser.open(dev.page)
        #expect(try await browser.title == "Push")
        // The page asks for no permission before a click.
        #expect(try await device(dev) == .null)
        try await browser.grant(["notifications"], to: dev.page)
        try await browser.wait(for: "the page to be ready") {
            try await browser.run("return document.querySelector('#on').onclick !== null", as: Bool.self) ? true : nil
        }
        try await browser.find("#on").click()
        try await browser.wait(for: "#state", toSay: "This browser is told.")
        let device = try await device(dev)
        #expect(device["provider"] == "webpush")
        #expect(device["user_id"] == "alice")
        #expect(device["disabled_at"] == .null)
    }

    /// Returns the device of the only browser in Mexico.
    private func device(_ dev: DevProcess) async throws -> JSON {
        try await dev.ask("GET", "/v1/apps/demo/devices")["data"].elements.first { $0["locale"] == "es-MX" } ?? .null
    }

    private func emit(
        _ type: String,
        _ title: String,
        _ browser: Browser,
        _ dev: DevProcess,
        to subscription: JSON
    ) async throws -> String {
        // An event is matched by the rules in force at its emit.
        try await browser.wait(for: "the rule to be in force") {
            let rules = try await dev.ask("GET", "/v1/apps/demo/rules")["data"].elements
            let names = rules.filter { $0["state"] == "active" }.map { $0["name"] }
            return names.contains("parcel-there") && names.contains("parcel-away") ? true : nil
        }
        let event: JSON = ["type": .string(type), "payload": ["customer_id": "alice", "parcel": 7]]
        _ = try await dev.ask("POST", "/v1/events", event)
        return try await dev.push(to: try #require(subscription["endpoint"].text), saying: title)
    }

    /// What the browser showed and what was clicked is counted: the worker sends its reports to the page's backend, which
    /// passes them to the daemon.
    private func awaitReports(_ browser: Browser, _ dev: DevProcess) async throws {
        let counted = """
            SELECT r.kind FROM fanfare.deliveries AS d, unnest(d.reports) AS r (kind)
            WHERE d.event_type = 'parcel.there' ORDER BY 1
            """
        let kinds = try await browser.wait(for: "the daemon to count the reports") {
            let rows = try await dev.rows(counted)
            return rows.count >= 3 ? rows : nil
        }
        #expect(kinds == [["opened"], ["received"], ["shown"]])
    }

    private func show(_ push: String, _ browser: Browser, _ dev: DevProcess) async throws {
        let worker = "\(dev.page)/service-worker.js"
        _ = try await browser.runInWorker(Self.reportAtOnce, at: worker)
        try await browser.deliverPush(push, to: dev.page, worker: worker)
        let shown = try await browser.run(Self.notifications)
        #expect(
            shown == [
                [
                    "title": "Parcel 7", "body": "Look before your door", "dir": "rtl", "parcel": "7",
                    "link": "https://shop.example.com/parcels",
                ]
            ]
        )

        #expect(try await browser.runInWorker(Self.click(), at: worker) == "https://shop.example.com/parcels")
        try await browser.wait(for: "the notification to go") {
            try await browser.run(Self.notifications).elements.isEmpty ? true : nil
        }
    }

    /// A browser that does not know the form runs the worker, as for any other push.
    private func showDeclared(_ push: String, _ browser: Browser, _ dev: DevProcess) async throws {
        let worker = "\(dev.page)/service-worker.js"
        for (action, page) in [("", "parcels"), ("map", "map")] {
            try await browser.deliverPush(push, to: dev.page, worker: worker)
            let shown = try await browser.run(Self.notifications)
            #expect(
                shown == [
                    [
                        "title": "Parcel 7 is away", "body": "Follow it", "dir": "auto", "parcel": "7",
                        "link": "https://shop.example.com/parcels/7",
                    ]
                ]
            )
            let opened = try await browser.runInWorker(Self.click(action: action), at: worker)
            #expect(opened == .string("https://shop.example.com/\(page)/7"))
            try await browser.wait(for: "the notification to go") {
                try await browser.run(Self.notifications).elements.isEmpty ? true : nil
            }
        }
    }
}
