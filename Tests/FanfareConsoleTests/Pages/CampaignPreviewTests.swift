import FanfareCore
import TestKit
import Testing

@testable import APIKit
@testable import FanfareTools

/// Tests of the previews of a campaign's message: each variant and language, and for a user that a query names.
@Suite(.database) struct CampaignPreviewTests {
    private func put(_ api: APIWorld, _ more: String) async throws {
        _ = try await api.rows(#"SELECT fanfare.put_campaign($json${"app": "shop", "name": "sale", \#(more)}$json$)"#)
        _ = try await api.rows("SELECT fanfare.take_campaign(id, version, NULL, now()) FROM fanfare.campaigns")
        try await api.judge()
    }

    @Test func variantAndLanguageAreChosen() async throws {
        try await APIWorld.with { api in
            try await put(
                api,
                #"""
                "to": {"everyone": true}, "message": {"notification": {"title": "Plain", "image": "https://shop.example/coat.png"}},
                "locales": {"de": {"notification": {"title": "Schlicht"}}},
                "variants": [{"name": "plain"}, {"name": "emoji", "message": {"notification": {"title": "Smile"}},
                    "locales": {"de": {"notification": {"title": "Grinsen"}}}}]
                """#
            )
            let browser = try await api.console()
            let first = try await browser.scan("/campaigns/shop/sale")
            #expect(first.text.contains("Plain") && !first.text.contains("Smilenow"))
            // The preview of an iPhone has the image too.
            let images = first.elements.filter { $0.name == "span" && $0["class"] == "image" }
            #expect(images.count == 3, "\(images.count)")
            for (query, title) in [
                ("variant=emoji", "Smile"), ("locale=de", "Schlicht"), ("variant=emoji&locale=de", "Grinsen"),
                ("variant=none&locale=none", "Plain"),
            ] {
                let page = try await browser.scan("/campaigns/shop/sale?\(query)").text
                #expect(page.contains("\(title)now"), "\(query)")
            }
        }
    }

    @Test func aPersonalisedMessageIsShownForARowOfItsQuery() async throws {
        try await APIWorld.with { api in
            for sql in [
                "CREATE TABLE public.buyers (id text, name text)", "GRANT SELECT ON public.buyers TO fanfare_sql",
                "INSERT INTO public.buyers VALUES ('m1', 'Marta'), ('p2', 'Pablo')",
            ] { _ = try await api.rows(sql) }
            try await put(
                api,
                #"""
                "audience_sql": "SELECT id, jsonb_build_object('name', name) FROM public.buyers ORDER BY id; ",
                "message": {"notification": {"title": "Hola {{recipient.name}}"}}
                """#
            )
            let browser = try await api.console(.operator)
            let any = try await browser.scan("/campaigns/shop/sale").text
            #expect(any.contains("Hola Marta") && any.contains("Shown for m1") && !any.contains("Nothing is sent"))
            #expect(try await browser.scan("/campaigns/shop/sale?as=p2").text.contains("Hola Pablo"))
            let nobody = try await browser.scan("/campaigns/shop/sale?as=%27%3B--").text
            #expect(nobody.contains("The query names no user ';-- now."))
            // Values that a query returns for users need the right to see payloads.
            let reader = try await api.console().scan("/campaigns/shop/sale?as=p2").text
            #expect(reader.contains("Hola …") && !reader.contains("Marta") && !reader.contains("Pablo"))
            #expect(!reader.contains("Shown for m1"))
            _ = try await api.rows("DROP TABLE public.buyers")
            let broken = try await browser.scan("/campaigns/shop/sale?as=q").text
            #expect(broken.contains("The query fails: ") && broken.contains("buyers"))
        }
    }

    @Test func aMessageOfEachRowIsShownForOne() async throws {
        try await APIWorld.with { api in
            try await put(
                api,
                #"""
                "payload_sql": "SELECT jsonb_build_object('city', c, 'users', '[]'::jsonb) FROM (VALUES ('Oslo')) AS x (c)",
                "to": {"users": "$.users"}, "message": {"notification": {"title": "Rain in {{city}}"}}
                """#
            )
            #expect(try await api.console(.operator).scan("/campaigns/shop/sale").text.contains("Rain in Oslo"))
            #expect(try await api.console().scan("/campaigns/shop/sale").text.contains("Rain in …"))
        }
    }

    @Test func definitionsAreShownAsFilesWriteThem() throws {
        let json = #"""
            {"name": "r", "when": "$.a == 1", "ttl": "12h", "on": true, "n": 9007199254740993, "list": ["a", {"b": 1, "c": []}, "yes"],
             "to": {"users_sql": "SELECT id\n  FROM users\n"}, "text": "a: b", "empty": {}, "last": " x\ny", "no": "no"}
            """#
        let yaml = try JSONValue(parsing: json).yaml
        #expect(
            yaml == #"""
                name: r
                when: $.a == 1
                ttl: 12h
                "on": true
                "n": 9007199254740993
                list:
                  - a
                  - b: 1
                    c: []
                  - "yes"
                to:
                  users_sql: |
                    SELECT id
                      FROM users
                text: "a: b"
                empty: {}
                last: " x\ny"
                "no": "no"
                """#
        )
    }

    @Test func anAddressWithoutAPageIsAnsweredByOne() async throws {
        try await APIWorld.with { api in
            let browser = try await api.console()
            let page = try await browser.page("/nonsense", ["Accept": "text/html,*/*;q=0.8"])
            let scan = HTMLScan(page.body)
            #expect(
                page.status == 404 && scan.problems.isEmpty && scan.text.contains("there is no page at this address")
            )
            #expect(scan.links("/events") == ["/events"])
            for (path, accept) in [("/nonsense", "*/*"), ("/v1/nonsense", "text/html")] {
                let reply = try await browser.page(path, ["Accept": accept])
                #expect(reply.status == 404 && reply.body.hasPrefix("{"), "\(path)")
            }
        }
    }

    @Test func aPartOfANameIsFound() async throws {
        try await APIWorld.with { api in
            try await put(api, #""to": {"everyone": true}, "message": {"notification": {"title": "T"}}"#)
            try await api.rule("sale-ends", for: "sale.ends")
            let browser = try await api.console()
            #expect(try await browser.page("/find?q=ENDS").location == "/rules/shop/sale-ends")
            let both = try await browser.scan("/find?q=sal")
            #expect(both.links("/campaigns/shop/") == ["/campaigns/shop/sale"])
            #expect(both.links("/rules/shop/") == ["/rules/shop/sale-ends"])
            #expect(try await browser.scan("/find?q=%25").text.contains("No results"))
        }
    }
}
