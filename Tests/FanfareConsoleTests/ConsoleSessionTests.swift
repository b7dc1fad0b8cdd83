import FanfareCore
import HTTPTypes
import Logging
import TestKit
import Testing
import Threading

@testable import APIKit
@testable import FanfareConfiguration
@testable import FanfareConsole
@testable import FanfareConsoleView
@testable import FanfareDaemon
@testable import FanfareHTTP
@testable import FanfareMetrics
@testable import FanfareRecords
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStore
@testable import FanfareTools

/// Tests of sessions of the console, their end, and which forms are accepted.
@Suite(.database) struct ConsoleSessionTests {
    private let page = "/people?user=a%20b"

    @Test func whoHasNoSessionIsAskedForATokenAndComesBack() async throws {
        try await APIWorld.with { api in
            var browser = ConsoleClient(api: api, cookie: nil)
            let asked = try await browser.page(page)
            let login = try #require(asked.location)
            #expect(login == "/login?back=%2Fpeople%3Fuser%3Da%2520b")
            let form = try await browser.question(login)
            #expect(form == ["back": "/people?user=a%20b"])
            let token = try await api.token(.reader)
            let reply = try await browser.send("/login", form.merging(["token": token]) { $1 })
            #expect(reply.location == "/people?user=a%20b")
            let cookie = try #require(reply.headers["set-cookie"])
            for attribute in ["HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=43200"] {
                #expect(cookie.contains("; \(attribute)"))
            }
            // The token itself is not part of it.
            #expect(!cookie.contains(token) && !cookie.contains(String(token.suffix(64))))
            browser.cookie = reply.cookie
            let shown = try await browser.page(page)
            #expect(shown.status == 200 && shown.body.contains(#"value="a b""#) && !shown.body.contains(token))
            let out = try await browser.send("/logout", [:])
            #expect(out.location == "/login" && out.headers["set-cookie"]?.contains("Max-Age=0") == true)
        }
    }

    /// A proxy serves the console below a path, which it strips or forwards.
    @Test(arguments: ["", "/ops/fanfare"]) func belowAPathEveryLinkAndTheCookieStayThere(left: String) async throws {
        try await APIWorld.with("  base_path: /ops/fanfare\n") { api in
            var browser = ConsoleClient(api: api, cookie: nil)
            let asked = try await browser.page(left + page)
            #expect(asked.location == "/ops/fanfare/login?back=%2Fpeople%3Fuser%3Da%2520b")
            let token = try await api.token(.reader)
            let reply = try await browser.send(left + "/login", ["token": token, "back": page])
            #expect(reply.location == "/ops/fanfare" + page)
            #expect(reply.headers["set-cookie"]?.contains("; Path=/ops/fanfare/;") == true)
            browser.cookie = reply.cookie
            for path in [
                "/", "/events", "/people?user=a", "/devices", "/rules", "/campaigns", "/providers", "/find?q=x",
            ] {
                for element in try await browser.scan(left + path).elements {
                    for name in ["href", "src", "action", "data-stream"] {
                        guard let target = element[name], target != "#main" else { continue }
                        #expect(target.hasPrefix("/ops/fanfare/"), "\(path): \(target)")
                    }
                }
            }
            #expect(try await browser.page(left + "/livez").status == 200)
            #expect(try await browser.page("/ops/fanfarex/livez").status == 404)
            let absent = try await browser.page(left + "/nothing", ["Accept": "text/html"])
            #expect(absent.status == 404 && absent.body.contains(#"href="/ops/fanfare/events""#))
            #expect(try await browser.send(left + "/logout", [:]).location == "/ops/fanfare/login")
        }
    }

    @Test func aCopyOfTheCookieEndsWithTheSessionAtAllDaemons() async throws {
        try await APIWorld.with { api in
            try await APIWorld.with { other in
                let (browser, second) = (try await api.console(), try await api.console())
                let copy = { (client: ConsoleClient, world: APIWorld) in
                    let value = client.cookie?.split(separator: "=", maxSplits: 1).last ?? ""
                    return ConsoleClient(api: world, cookie: "fanfare_session_\(world.port)=\(value)")
                }
                #expect(try await copy(browser, other).page(page).status == 200)
                #expect(try await browser.send("/logout", [:]).location == "/login")
                for world in [api, other] {
                    #expect(try await copy(browser, world).page(page).status == 303)
                    #expect(try await copy(second, world).page(page).status == 200)
                }
            }
        }
    }

    @Test func pagesTellBrowsersWhatTheyMayLoadAndKeep() async throws {
        try await APIWorld.with { api in
            let browser = try await api.console()
            for reply in [try await browser.page("/login"), try await browser.page(page)] {
                #expect(reply.headers["content-security-policy"] == ConsoleAssets.securityPolicy)
                #expect(reply.headers["content-type"] == "text/html; charset=utf-8")
                #expect(reply.headers["cache-control"]?.contains("no-store") == true)
                #expect(reply.headers["x-content-type-options"] == "nosniff")
                #expect(reply.headers["referrer-policy"] == "same-origin")
            }
            let policy = ConsoleAssets.securityPolicy
            for rule in ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "form-action 'self'"] {
                #expect(policy.contains(rule))
            }
            #expect(!policy.contains("unsafe"))
            let script = try await browser.page("/console/console.js?v=\(ConsoleAssets.version)")
            #expect(script.status == 200 && script.headers["cache-control"]?.contains("immutable") == true)
        }
    }

    @Test func onlyATokenOfAllAppsThatMayReadLogsIn() async throws {
        try await APIWorld.with { api in
            let browser = ConsoleClient(api: api, cookie: nil)
            let ofOneApp = try await api.token(.reader, app: "shop")
            for token in [APITokens.unknown, "x", "", ofOneApp, try await api.token(.emitter, .operator)] {
                let reply = try await browser.send("/login", ["token": token, "back": "/people"])
                #expect(reply.status == 401 && reply.cookie == nil)
                // The typed text is not shown again, and the page to return to is kept.
                #expect(HTMLScan(reply.body).elements.contains { $0["name"] == "back" && $0["value"] == "/people" })
                #expect(token.count < 2 || !reply.body.contains(token))
            }
        }
    }

    @Test(arguments: [
        "//evil.example", "https://evil.example/", "/\\evil.example", "evil", "/a b", "/\u{e9}", "javascript:alert(1)",
        "/\r\nX: y",
    ])
    func noLoginLeadsToAnotherSite(back: String) async throws {
        try await APIWorld.with { api in
            let browser = ConsoleClient(api: api, cookie: nil)
            let reply = try await browser.send("/login", ["token": api.token(.reader), "back": back])
            #expect(reply.location == "/" && reply.headers["x"] == nil)
            let form = try await browser.question(PageAddress("/login", ["back": back]).text)
            #expect(form == ["back": "/"])
        }
    }

    @Test func aSessionEndsWithItsTokenOrItsTime() async throws {
        try await APIWorld.with { api in
            let browser = try await api.console()
            let database = try ToolDatabase(APIWorld.configuration(), environment: [:])
            let id = Int64(try await database.tokens(onlyValid: true)[0].id)
            let cursors = CursorKey(database)
            let now = Int64(try await api.rows("SELECT extract(epoch FROM now())::bigint::text")[0][0] ?? "") ?? 0
            // Sealed for another time, sealed for another list, and changed by hand.
            let later = try await cursors.seal([id, now + 60, 7], of: "console session")
            let over = try await cursors.seal([id, now - 1, 7], of: "console session")
            let stolen = try await cursors.seal([id, now + 60, 7], of: "/v1/devices")
            let longer = later.replacing(".\(now + 60).", with: ".\(now + 9_999_999).")
            let another = "2" + later.drop { $0 != "." }
            for (text, status) in [
                (later, 200), (over, 303), (stolen, 303), (longer, 303), (another, 303), ("", 303), ("1.2.x", 303),
            ] {
                let one = ConsoleClient(api: api, cookie: "fanfare_session_\(api.port)=\(text)")
                #expect(try await one.page("/people").status == status, "\(text)")
            }
            #expect(try await browser.page("/people").status == 200)
            #expect(try await database.revokeToken(Int32(id)))
            let deadline = ContinuousClock.now + .seconds(60)
            var reply = try await browser.page("/people")
            while reply.status == 200, ContinuousClock.now < deadline { reply = try await browser.page("/people") }
            #expect(reply.location == "/login?back=%2Fpeople")
            await database.close()
        }
    }

    @Test(arguments: ["/login", "/logout"]) func formsOfOtherSitesAreRefused(path: String) async throws {
        try await APIWorld.with { api in
            var browser = try await api.console()
            let fields = ["token": try await api.token(.reader)]
            for headers in [
                ["Sec-Fetch-Site": "cross-site"], ["Sec-Fetch-Site": "same-site"], ["Sec-Fetch-Site": "none"],
                ["Origin": "https://evil.example"], ["Origin": "null"],
                ["Origin": "http://127.0.0.1:\(api.port)", "Sec-Fetch-Site": "cross-site"],
            ] {
                let reply = try await browser.send(path, fields, headers)
                #expect(reply.status == 403 && reply.cookie == nil, "\(headers)")
            }
            // A browser that sends only `Origin`, and a client that sends neither header and is no browser: a login
            // needs no session.
            let own = ["Origin": "http://127.0.0.1:\(api.port)"]
            #expect(try await browser.send(path, fields, own).status == 303)
            #expect(try await browser.send(path, fields, [:]).status == (path == "/login" ? 403 : 303))
            let json = try await api.ask("POST", path, #"{"token": ""}"#, token: nil, own)
            #expect(json.status == 415 && json.headers["set-cookie"] == nil)
            browser.cookie = nil
            // The stream tells the browser to reload the page, which leads to the login.
            #expect(try await browser.page("/console/stream?page=/people").body == PageStream.reload)
        }
    }

    @Test func aTokenInTheAddressCountsOnLoopbackOnly() async throws {
        try await APIWorld.with { api in
            let token = try await api.token(.reader)
            let browser = ConsoleClient(api: api, cookie: nil)
            let reply = try await browser.page("/login?token=\(token)&back=/people")
            #expect(reply.location == "/people" && reply.cookie != nil)
            #expect(reply.headers["referrer-policy"] == "same-origin")
            let answer = try await elsewhere(["token": token, "back": "/people"])
            #expect(answer.status == .ok && answer.headers[.setCookie] == nil && answer.headers[.location] == nil)
        }
    }

    /// Returns the response of `/login` on a listener that other hosts can reach.
    private func elsewhere(_ query: [String: String]) async throws -> Answer {
        let configuration = try APIWorld.configuration()
        let daemon = ListenedDaemon(
            environment: [:],
            version: "test",
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            metrics: MetricsRegistry(describing: Daemon.metrics),
            configuration: { configuration },
            readiness: { DaemonReadiness(holdsLease: true, isListening: true, openBreakers: []) }
        )
        let context = try ServerContext(daemon, at: .tcp(host: "0.0.0.0", port: 443), connections: 1) { _, _ in
            throw Problem(.forbidden, "no phones")
        }
        let call = Call(
            context: context,
            database: context.database,
            phone: nil,
            reportKey: nil,
            tokenID: nil,
            channel: nil,
            method: .get,
            requestID: "r",
            names: [:],
            query: query,
            headers: [:],
            body: [],
            path: "/login",
            authority: "push.example"
        )
        let answer = try await Console.login.handle(call)
        await context.close()
        return answer
    }
}
