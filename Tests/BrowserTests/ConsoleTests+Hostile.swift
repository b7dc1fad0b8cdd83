import BrowserKit
import Foundation
import TestKit
import Testing

extension ConsoleTests {
    /// Texts of events, users and messages that attempt to run code in a page.
    private static let hostile = [
        "<script>window.pwned = 1</script>",
        "\"><img src=x onerror=window.pwned=1>",
        "' onmouseover='window.pwned=1' x='",
        "\" autofocus onfocus=window.pwned=1 x=\"",
        "</textarea></pre></title></template><svg onload=window.pwned=1>",
        "javascript:window.pwned=1",
        "{{{frame.title}}}{{>layout}}{{=<% %>=}}${window.pwned=1}",
        "--><iframe srcdoc=\"<script>parent.pwned=1</script>\"><!--",
        "\u{202E}gnp.exe\u{2066}<bdo dir=rtl>e\u{301}\u{300}\u{315}\u{489}",
        "&lt;img src=x&gt; %3Cscript%3E \\u003cscript\\u003e",
    ]

    @Test func whatOthersWroteIsShownAndDoesNothing() async throws {
        try await Browser.with { browser in
            try await browser.logIn(dev)
            try await applyHostileRules(browser)
            // A provider's reasons may contain such texts too.
            let answer = String(decoding: try JSONEncoder().encode(["reason": Self.hostile[1]]), as: UTF8.self)
            try await dev.putFaults([
                [
                    "match": ["token": "^bad"], "provider": "apns", "do": "status", "status": 400,
                    "body": .string(answer),
                ]
            ])
            // The stream sends them too.
            try await browser.open(dev.api + "/events")
            try await browser.wait(for: "#live-words", toSay: "Live")
            var shown: [(text: String, event: String, pages: [String])] = []
            for (index, text) in Self.hostile.enumerated() {
                let device = try await register(text, index)
                let event = try await dev.emit(
                    Self.eventType(text),
                    ["user": .string(text), "text": .string(text)],
                    key: text
                )
                shown.append((text, event, Self.pages(text, index, event, device)))
            }
            for (text, event, _) in shown {
                _ = try await browser.find("#event-\(event)")
                try await expectHarmless(text, browser, "/events, by its stream")
            }
            for (text, event, pages) in shown {
                try await browser.wait(for: "event \(event) to end") {
                    try await dev.rows(
                        "SELECT FROM fanfare.deliveries WHERE event_id = $1 AND outcome = 'rejected'",
                        event
                    ).isEmpty ? nil : true
                }
                for page in pages {
                    try await browser.open(dev.api + page)
                    try await expectHarmless(text, browser, page)
                }
            }
            try await explainHostileEvent(browser)
            try await showHostileAddresses(browser)
        }
    }

    /// Returns the pages that show a text as an event's type and key, a user's id, and part of a rule, a message and a
    /// device.
    private static func pages(_ text: String, _ index: Int, _ event: String, _ device: String) -> [String] {
        let encoded = encoded(text)
        return [
            "/events?type=\(Self.encoded(eventType(text)))&key=\(encoded)", "/events/\(event)",
            "/events/\(event)/replay?user=\(encoded)",
            "/people?user=\(encoded)&app=demo&event=\(event)", "/devices/\(device)",
            "/rules/demo/hostile-\(index)", "/rules?event=\(encoded)", "/find?q=\(encoded)zz",
        ]
    }

    /// Returns a text without characters that change the text direction, which event types must not contain.
    private static func eventType(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.filter { !$0.properties.isBidiControl }))
    }

    private static func encoded(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
    }

    private func applyHostileRules(_ browser: Browser) async throws {
        let rules = Self.hostile.enumerated().map { index, text -> JSON in
            [
                "app": "demo", "name": .string("hostile-\(index)"), "event": .string(Self.eventType(text)),
                "to": ["users": "$.user"],
                "message": [
                    "notification": [
                        // Mustache tags in the rule itself would change the rule.
                        "title": .string(text.contains("{{") ? "{{text}}" : text), "body": "{{text}}",
                    ]
                ],
            ]
        }
        _ = try await dev.ask("POST", "/v1/apps/demo/rules/apply", ["rules": .array(rules)])
        try await browser.wait(for: "the rules to be in force") {
            let known = try await dev.ask("GET", "/v1/apps/demo/rules")["data"].elements
            let active = known.filter { $0["name"].text?.hasPrefix("hostile") == true && $0["state"] == "active" }
            return active.count == Self.hostile.count ? true : nil
        }
    }

    private func register(_ text: String, _ index: Int) async throws -> String {
        let device: JSON = [
            "provider": "apns", "token": .string("bad" + String(repeating: "\(index)", count: 61)),
            "user_id": .string(text), "attributes": [text: .string(text)],
        ]
        return try #require(try await dev.ask("PUT", "/v1/apps/demo/devices", device)["id"].text)
    }

    /// Tries a payload on a rule's page, which shows the payload and the rendered message.
    private func explainHostileEvent(_ browser: Browser) async throws {
        let text = Self.hostile[4]
        let payload: JSON = ["user": .string(text), "text": .string(text)]
        try await browser.open(dev.api + "/rules/demo/hostile-4")
        try await browser.find("#f-payload")
            .type(String(decoding: JSONEncoder().encode(payload), as: UTF8.self), replacing: true)
        try await browser.click(".explain button")
        try await browser.wait(for: ".previews .title", toSay: text)
        try await expectHarmless(text, browser, "the trial of a rule")
    }

    /// Opens pages with hostile texts in the address.
    private func showHostileAddresses(_ browser: Browser) async throws {
        for text in Self.hostile.prefix(3) {
            let encoded = Self.encoded(text)
            try await browser.open(dev.api + "/events/\(encoded)")
            try await expectHarmless(nil, browser, "/events/\(encoded)", mayBeAbsent: true)
            try await browser.open(dev.api + "/campaigns/\(encoded)/\(encoded)/pause")
            try await expectHarmless(nil, browser, "/campaigns/\(encoded)", mayBeAbsent: true)
        }
        for back in ["//other.example/", "https://other.example/", "javascript:window.pwned=1", "/\\other.example"] {
            try await browser.open(dev.api + "/login?back=\(Self.encoded(back))")
            #expect(try await browser.find("input[name=back]").attribute("value") == "/")
        }
    }

    /// Expects that a text is shown as text only.
    private func expectHarmless(
        _ text: String?,
        _ browser: Browser,
        _ page: String,
        mayBeAbsent: Bool = false
    ) async throws {
        let found = try await browser.run(Self.examination, text.map(JSON.string) ?? "")
        #expect(
            found == ["pwned": false, "scripts": 1, "made": [], "handlers": [], "links": [], "isShown": true],
            "\(page)"
        )
        let complaints = try await browser.takeConsole().filter {
            ["SEVERE", "WARNING"].contains($0.level) && !(mayBeAbsent && $0.source == "network")
        }
        #expect(complaints.map(\.message) == [], "\(page)")
    }

    private static let examination = """
        const all = [...document.querySelectorAll('*')]
        const name = (element) => element.outerHTML.slice(0, 120)
        const shown = document.body.textContent + all.map((element) => element.value ?? '').join(' ')
        // JSON escapes quotation marks and backslashes.
        const forms = [arguments[0], JSON.stringify(arguments[0]).slice(1, -1)]
        return {
          pwned: window.pwned !== undefined,
          scripts: document.scripts.length,
          made: all.filter((element) => element.matches('img, iframe, object, embed, base, bdo, [autofocus], [srcdoc]')).map(name),
          handlers: all.filter((element) => [...element.attributes].some(({ name }) => /^on/i.test(name))).map(name),
          links: all.filter(({ href, action }) => /^(javascript|data):/i.test(href ?? action ?? '')).map(name),
          isShown: forms.some((form) => shown.includes(form)),
        }
        """
}
