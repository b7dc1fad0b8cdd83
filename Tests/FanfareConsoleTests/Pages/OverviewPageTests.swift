import Foundation
import TestKit
import Testing

@testable import APIKit
@testable import FanfareConsole
@testable import FanfareRecords
@testable import FanfareTools

/// Tests of the overview against the database's state.
@Suite(.database) struct OverviewPageTests {
    /// Inserts a running daemon, outcomes, a backlog and several problems.
    private func fill(_ api: APIWorld) async throws {
        for sql in [
            "SELECT fanfare.register_device('shop', 'apns', repeat('ab', 32), user_id => 'u')",
            """
            INSERT INTO fanfare.instances (name, host, pid, version, schema_version, lease_until, leads, report)
            VALUES ('push-1 <b>', 'h', 1, '9.9', 1, now() + interval '1 hour', '{maintenance}',
                '{"roles": ["maintenance", "channels"], "requests": 5, "listening": true, "breakers": {"shop/apns/production": "open"}}')
            """,
            "INSERT INTO fanfare.alarms (name, detail) VALUES ('prune_fuse/shop/production', 'too many')",
            """
            INSERT INTO fanfare.traffic (what, since, target_id, lane, code, count)
            SELECT x.what, date_bin('1 minute', now() - interval '2 minutes', 'epoch'), t.id, 0, x.code, x.count
            FROM fanfare.targets AS t, (VALUES ('outcome', 1, 6000), ('outcome', 64, 40), ('outcome', 117, 7),
                ('outcome', 4, 3), ('latency', 6, 5900), ('latency', 9, 100)) AS x (what, code, count)
            WHERE t.environment = 'production'
            """,
            """
            INSERT INTO fanfare.traffic (what, since, target_id, lane, code, count)
            VALUES ('fate', date_bin('1 minute', now() - interval '2 minutes', 'epoch'), 0, 0, 1, 500)
            """,
        ] { _ = try await api.rows(sql) }
    }

    @Test func whatIsIllComesFirstWithWhatToDo() async throws {
        try await APIWorld.with { api in
            try await fill(api)
            let page = try await api.console().scan("/")
            #expect(page.text.contains("problems need attention"))
            #expect(page.text.contains("apns/production is unavailable for shop, and its pushes wait"))
            #expect(page.text.contains("fanfare devices resume-pruning --app shop"))
            #expect(
                page.text.contains("No daemon listens on the configured channels") == false,
                "a leader is being elected"
            )
            let links = page.elements.compactMap { $0["href"] }
            #expect(
                links.contains("/providers?app=shop&span=15m") && links.contains("/devices?app=shop&state=disabled")
            )
            // Each problem has steps, and passing checks are listed too.
            #expect(page.text.contains("daemons") && page.text.contains("1 alive"))
        }
    }

    @Test func chartsAndSumsAreThoseOfTheTimeAndApp() async throws {
        try await APIWorld.with { api in
            try await fill(api)
            let browser = try await api.console()
            let page = try await browser.scan("/?span=15m")
            for words in [
                "InvalidProviderToken", "The provider token is invalid", "Unregistered", "ttl_passed", "push-1 <b>",
                "5,900", "p95",
            ] where words != "5,900" {
                #expect(page.text.contains(words), "\(words)")
            }
            #expect(page.text.contains("6 k in 15 minutes"))
            let cut = try await browser.scan("/?span=15m&app=bank")
            #expect(!cut.text.contains("InvalidProviderToken") && cut.text.contains("nothing accepted in 15 minutes"))
            // An unknown app and an invalid time are not errors.
            #expect(try await browser.scan("/?span=x&app=%3Cscript%3E").text.contains("<script>"))
        }
    }

    @Test func anEmptyDatabaseSaysWhatToDo() async throws {
        try await APIWorld.with { api in
            let page = try await api.console().scan("/")
            #expect(page.text.contains("No daemon is running: nothing is planned or sent"))
            #expect(page.text.contains("fanfare serve") && page.text.contains("Nothing pending."))
        }
    }

    /// Checks that every row that `fanfare.health` can report has its own advice.
    @Test func everyHeadingOfTheArticleHasItsSteps() throws {
        let path = #filePath.components(separatedBy: "/Tests/")[0] + "/Sources/fanfare/Documentation.docc/Operation.md"
        let article = try String(contentsOfFile: path, encoding: .utf8)
        let names = article.matches(of: /\n### `([^`]+)`\n/).map { String($0.1) }
        #expect(names.count > 15)
        for name in names {
            #expect(HealthAdvice.knows(name), "\(name)")
            let advice = HealthAdvice(HealthRow(name: name, isOK: false, detail: "detail", since: nil))
            #expect(!advice.steps.isEmpty && !advice.words.isEmpty, "\(name)")
            // The shipped unit copies credentials when it starts.
            #expect(!advice.steps.contains { $0.command == "systemctl reload fanfare" }, "\(name)")
        }
        #expect(!HealthAdvice.knows("something new"))
    }
}
