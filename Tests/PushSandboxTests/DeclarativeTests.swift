import Testing

@testable import PushSandbox

/// Bodies of Declarative Web Push, read as Safari reads them.
@Suite(.timeLimit(.minutes(5)))
struct DeclarativeTests {
    private static let link = #""title":"T","navigate":"https://a.example/""#

    /// Members of `notification`, and why Safari falls back to an ordinary push.
    private static let wrong: [(members: String, fault: String)] = [
        (#""navigate":"https://a.example""#, "notification.title is missing"),
        (#""title":"","navigate":"https://a.example""#, "notification.title is missing"),
        (#""title":"T""#, "notification.navigate is missing"),
        (#""title":"T","navigate":"/a""#, "notification.navigate is no absolute URL"),
        (#""title":"T","navigate":"javascript:alert(1)""#, "notification.navigate is no absolute URL"),
        (#""title":"T","navigate":7"#, "notification.navigate is no absolute URL"),
        (link + #","icon":"i.png""#, "notification.icon is no absolute URL"),
        (link + #","body":null"#, "notification.body is no string"),
        (link + #","tag":7"#, "notification.tag is no string"),
        (link + #","dir":"up""#, "notification.dir is not ltr, rtl or auto"),
        (link + #","silent":1"#, "notification.silent is no boolean"),
        (link + #","requireInteraction":"true""#, "notification.requireInteraction is no boolean"),
        (link + #","mutable":null"#, "notification.mutable is no boolean"),
        (link + #","app_badge":-1"#, "notification.app_badge is no whole number"),
        (link + #","app_badge":0.5"#, "notification.app_badge is no whole number"),
        (link + #","app_badge":"3x""#, "notification.app_badge is no whole number"),
        (link + #","actions":{}"#, "notification.actions is no list"),
        (link + #","actions":[1]"#, "notification.actions[0] is no object"),
        (
            link + #","actions":[{"action":"a","navigate":"https://a.example"}]"#,
            "notification.actions[0].title is missing"
        ),
        (
            link + #","actions":[{"action":"a","title":"A","navigate":"a"}]"#,
            "notification.actions[0].navigate is no absolute URL"
        ),
    ]

    @Test(arguments: wrong)
    func aFallbackIsAProblem(members: String, fault: String) throws {
        let check = try #require(DeclarativeCheck(Array(#"{"web_push":8030,"notification":{\#(members)}}"#.utf8)))
        #expect(check.presentation == "would fall back, because \(fault)")
        #expect(check.problem == "Safari would not show the message as declarative: \(fault)")
    }

    @Test(arguments: [
        #"{"notification":{"title":"T"}}"#, "[8030]", "", "{", #"{"notification":{"web_push":8030}}"#,
    ])
    func othersAreNotRead(text: String) { #expect(DeclarativeCheck(Array(text.utf8)) == nil) }

    @Test(arguments: [
        (#"{"web_push":"8030"}"#, "web_push is not the number 8030"),
        (#"{"web_push":8031}"#, "web_push is not the number 8030"),
        (#"{"web_push":8030}"#, "notification is no object"),
    ])
    func theMarkIsANumber(text: String, fault: String) {
        #expect(DeclarativeCheck(Array(text.utf8))?.presentation == "would fall back, because \(fault)")
    }

    /// Old versions of Safari read one place, and newer ones may read the other.
    @Test(
        arguments: [
            (#""app_badge":"3""#, #""app_badge":3"#, nil),
            (#""app_badge":"0","mutable":false"#, #""app_badge":0,"mutable":false"#, nil),
            (#""app_badge":"3""#, nil, "app_badge is not text in notification and the same number at the top"),
            (
                #""app_badge":"3""#, #""app_badge":4"#,
                "app_badge is not text in notification and the same number at the top"
            ),
            (
                #""app_badge":3"#, #""app_badge":3"#,
                "app_badge is not text in notification and the same number at the top"
            ),
            (#""mutable":true"#, nil, "mutable is not the same in notification and at the top"),
            (#""mutable":true"#, #""mutable":false"#, "mutable is not the same in notification and at the top"),
        ] as [(String, String?, String?)]
    )
    func badgeAndMutableAreInBothPlaces(inside: String, outside: String?, problem: String?) throws {
        let top = outside.map { "," + $0 } ?? ""
        let text = #"{"web_push":8030,"notification":{\#(Self.link),\#(inside)}\#(top)}"#
        let check = try #require(DeclarativeCheck(Array(text.utf8)))
        #expect(check.presentation == "declarative" && check.problem == problem)
    }

    @Test func theLedgerAndTheTerminalTellOfIt() async throws {
        try await withSandbox { fixture in
            let sender = try WebPushTests.sender(fixture, "safari", .apple)
            let client = try await fixture.connect()
            let good = #"{"web_push":8030,"notification":{\#(Self.link)}}"#
            for text in [good, #"{"web_push":8030,"notification":{"title":"T"}}"#, #"{"notification":{"title":"T"}}"#] {
                #expect(try await client.push(sender.request(text, at: fixture.clock.seconds)).status == 201)
            }
            let pushes = try await fixture.sandbox.received(after: 0)
            let fallback = "would fall back, because notification.navigate is missing"
            #expect(pushes.map(\.presentation) == ["declarative", fallback, nil])
            #expect(pushes.map { $0.problem == nil } == [true, false, true])
            #expect(fixture.sandbox.counts.problems == 1)
            #expect(pushes.first?.describe().contains("  in Safari  declarative") == true)
            await client.close()
        }
    }
}
