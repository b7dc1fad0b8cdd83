import Testing

@testable import PushSandbox

/// FCM's topic API.
@Suite(.timeLimit(.minutes(5)))
struct TopicTests {
    private static let phone = "/v1/projects/demo-project/registrations/dEvIcE%3AAPA91b-1/topicSubscriptions"

    /// A client with an access token.
    private struct TopicClient {
        let client: PushClient
        let token: String

        func send(_ method: String, _ path: String, body: String = "") async throws -> PushClient.Response {
            let headers = [("authorization", "Bearer \(token)"), ("content-type", "application/json")]
            return try await client.push(TestRequest(method, path: path, headers: headers, body: body))
        }

        func status(_ method: String, _ path: String, body: String = "") async throws -> Int? {
            try await send(method, path, body: body).status
        }
    }

    private func with(
        _ change: (inout SandboxOptions) -> Void = { _ in },
        _ body: (SandboxFixture, TopicClient) async throws -> Void
    ) async throws {
        try await withSandbox(change) { fixture in
            let client = try await fixture.connect()
            let token = try await GoogleClient(fixture).accessToken(fixture, by: client)
            try await body(fixture, TopicClient(client: client, token: token))
            await client.close()
        }
    }

    // MARK: Subscriptions

    @Test func aSubscriptionIsMadeOnceAndEndsOnce() async throws {
        try await with { fixture, client in
            let made = try await client.send("POST", Self.phone + "?topic_name=news", body: "{}")
            #expect(made.status == 200)
            let name = "projects/demo-project/registrations/dEvIcE:APA91b-1/topicSubscriptions/news"
            #expect(made.json["name"]?.text == name && made.json["topic_name"]?.text == "news")
            #expect(made.json["create_time"]?.text?.wholeMatch(of: /2026-09-21T\d\d:\d\d:\d\d(\.\d+)?Z/) != nil)
            let again = try await client.send("POST", Self.phone + "?topicName=news", body: "{}")
            #expect(again.status == 409 && again.body.contains(#""status":"ALREADY_EXISTS""#))
            #expect(try await client.send("GET", Self.phone + "/news").body == made.body)
            #expect(try await client.status("GET", Self.phone + "/sport") == 404)
            #expect(try await client.status("DELETE", Self.phone + "/news") == 200)
            #expect(try await client.send("DELETE", Self.phone + "/news").body.contains(#""status":"NOT_FOUND""#))
            for spelling in ["allow_missing", "allowMissing"] {
                #expect(try await client.send("DELETE", Self.phone + "/news?\(spelling)=true").body == "{}")
            }
            #expect(try await client.status("DELETE", Self.phone + "/news?allow_missing=false") == 404)
            #expect(try await client.status("PATCH", Self.phone + "/news", body: "{}") == 404)
            for _ in 1...2 {
                #expect(try await client.status("PATCH", Self.phone + "/news?allowMissing=true", body: "{}") == 200)
            }
            #expect(try await client.status("GET", Self.phone + "/news") == 200)
            let counts = fixture.sandbox.counts
            #expect(counts.memberships == 2 && counts.requestsPerMembership == 5)
            #expect(counts.distinctTokens == 0, "no device got a push")
            let line = try #require(try await fixture.sandbox.received(after: 1, limit: 1).first)
            #expect((line.provider, line.method, line.target) == ("fcm_topics", "POST", "dEvIcE:APA91b-1"))
        }
    }

    /// `%` is a character of topic names, and what is encoded twice is another topic.
    @Test func namesAreDecodedOnce() async throws {
        try await with { _, client in
            for name in ["a%2541", "a%25", "~.-_"] {
                #expect(try await client.status("POST", Self.phone + "?topic_name=\(name)", body: "{}") == 200)
            }
            let all = try await client.send("GET", Self.phone)
            #expect(topics(all) == ["a%41", "a%", "~.-_"])
            #expect(try await client.status("GET", Self.phone + "/a%2541") == 200)
            #expect(try await client.status("GET", Self.phone + "/aA") == 404)
            // The same registration as another client spells it.
            #expect(topics(try await client.send("GET", Self.phone.replacing("%3A", with: ":"))).count == 3)
            #expect(topics(try await client.send("GET", Self.phone.replacing("%3A", with: "%253A"))).isEmpty)
        }
    }

    private func topics(_ response: PushClient.Response) -> [String] {
        guard case .array(let items)? = response.json["topicSubscriptions"] else { return [] }
        return items.compactMap { $0.members?["topic_name"]?.text }
    }

    @Test func aListHasPages() async throws {
        try await with { _, client in
            for name in ["a", "b", "c"] {
                _ = try await client.send("POST", Self.phone + "?topic_name=\(name)", body: "{}")
            }
            let first = try await client.send("GET", Self.phone + "?pageSize=2")
            #expect(topics(first) == ["a", "b"])
            let next = try #require(first.json["nextPageToken"]?.text)
            let last = try await client.send("GET", Self.phone + "?pageSize=2&pageToken=\(next)")
            #expect(topics(last) == ["c"] && last.json["nextPageToken"] == nil)
            for wrong in ["pageToken=x", "pageToken=99", "pageSize=-1", "pageToken=-1"] {
                #expect(try await client.status("GET", Self.phone + "?\(wrong)") == 400)
            }
        }
    }

    @Test(arguments: [400, 429]) func aRegistrationHasALimitOfTopics(status: Int) async throws {
        #expect(SandboxOptions(directory: "").topicLimit == 2000)
        let limit = 9
        try await with {
            $0.topicLimitStatus = status
            $0.topicLimit = limit
        } _: { _, client in
            for number in 0..<limit {
                let made = try await client.status("POST", Self.phone + "?topic_name=t\(number)", body: "{}")
                #expect(made == 200)
            }
            let refused = try await client.send("POST", Self.phone + "?topic_name=more", body: "{}")
            #expect(refused.status == status && refused.body.contains("Too many topics"))
            #expect(try await client.status("POST", Self.phone + "?topic_name=t7", body: "{}") == 409)
            #expect(try await client.status("DELETE", Self.phone + "/t7") == 200)
            #expect(try await client.status("POST", Self.phone + "?topic_name=more", body: "{}") == 200)
        }
    }

    @Test func theOldestRegistrationsAreDropped() {
        let store = TopicSubscriptions(mostTopics: 2000, most: 4)
        for number in 0..<10_000 {
            store.add("r\(number)", .init(topic: "a", createdAt: 0))
            store.add("r\(number)", .init(topic: "b", createdAt: 0))
            if number % 3 == 0 { store.remove("r\(number)", "a") }
        }
        #expect(store.all(of: "r9999").map(\.topic) == ["b"])
        #expect(store.all(of: "r9998").map(\.topic) == ["a", "b"])
        #expect(store.all(of: "r9990").isEmpty)
    }

    // MARK: Refusals

    @Test func requestsAreCheckedAsPushesAre() async throws {
        try await with { _, client in
            let long = String(repeating: "n", count: 901)
            let cases: [(String, String, String, Int)] = [
                ("POST", Self.phone + "?topic_name=/topics/news", "{}", 400),
                ("POST", Self.phone + "?topic_name=%2Ftopics%2Fnews", "{}", 400),
                ("POST", Self.phone + "?topic_name=", "{}", 400), ("POST", Self.phone, "{}", 400),
                ("POST", Self.phone + "?topic_name=a+b", "{}", 400),
                ("POST", Self.phone + "?topic_name=\(long)", "{}", 400),
                ("POST", Self.phone + "?topic_name=news%", "{}", 400),
                ("POST", Self.phone + "?topic_name=news", "", 400),
                ("DELETE", Self.phone + "/a%20b", "", 400), ("PUT", Self.phone + "/news", "{}", 405),
                ("DELETE", Self.phone, "", 405), ("POST", Self.phone + "/news", "{}", 405),
                ("GET", Self.phone.replacing("demo-project", with: "foreign-project"), "", 403),
                ("GET", Self.phone.replacing("demo-project", with: "other"), "", 404),
                ("GET", "/v1/projects/demo-project/registrations/x/other", "", 404),
                ("GET", "/v1/projects/demo-project/registrations//topicSubscriptions", "", 404),
            ]
            for (method, path, body, status) in cases {
                #expect(try await client.status(method, path, body: body) == status, "\(method) \(path)")
            }
            let foreign = try await client.send("DELETE", Self.phone.replacing("demo", with: "foreign") + "/news")
            #expect(foreign.body.contains("'cloudmessaging.topicSubscriptions.delete' denied"))
            let stranger = TopicClient(client: client.client, token: "no such token")
            #expect(try await stranger.status("GET", Self.phone) == 401)
        }
    }

    @Test func anUnknownRegistrationIsUnregistered() async throws {
        try await with { fixture, client in
            let garbage = Self.phone.replacing("dEvIcE%3AAPA91b-1", with: "not%20a%20token")
            let refused = try await client.send("POST", garbage + "?topic_name=news", body: "{}")
            #expect(refused.status == 404 && refused.body.contains(#""errorCode":"UNREGISTERED""#))
            try fixture.faults(
                #"[{"do": "status", "provider": "fcm_topics", "reason": "UNREGISTERED", "match": {"token": "^dEvIcE:"}}]"#
            )
            let gone = try await client.send("POST", Self.phone + "?topic_name=news", body: "{}")
            #expect(gone.status == 404 && gone.body.contains(#""errorCode":"UNREGISTERED""#))
            let other = Self.phone.replacing("dEvIcE", with: "other")
            #expect(try await client.status("POST", other + "?topic_name=news", body: "{}") == 200)
            try fixture.faults("[]")
            #expect(topics(try await client.send("GET", Self.phone)).isEmpty, "a request with a fault changes nothing")
        }
    }

    /// What the service processed although the client hears nothing, it has stored.
    @Test func faultsDecideWhetherARequestIsProcessed() async throws {
        try await with { fixture, client in
            let fault = #"[{"do": "%", "provider": "fcm_topics", "times": 1}]"#
            try fixture.faults(
                fault.replacing("%", with: "status").replacing("times", with: #"reason": "RESOURCE_EXHAUSTED", "times"#)
            )
            let throttled = try await client.send("POST", Self.phone + "?topic_name=a", body: "{}")
            #expect(throttled.status == 429 && throttled.body.contains(#""status":"RESOURCE_EXHAUSTED""#))
            #expect(!throttled.body.contains("FcmError"))
            #expect(fixture.sandbox.counts.memberships == 0, "a request that was throttled does not count")
            try fixture.faults(fault.replacing("%", with: "refuse"))
            _ = try await client.send("POST", Self.phone + "?topic_name=b", body: "{}")
            try fixture.faults(#"[{"do": "reset", "code": "INTERNAL_ERROR", "provider": "fcm_topics", "times": 1}]"#)
            _ = try await client.send("POST", Self.phone + "?topic_name=c", body: "{}")
            try fixture.faults("[]")
            #expect(topics(try await client.send("GET", Self.phone)) == ["c"])
        }
    }

    @Test func changesAreLimitedPerSecond() async throws {
        try await with {
            $0.topicQuota = 2
        } _: { fixture, client in
            #expect(try await client.status("POST", Self.phone + "?topic_name=a", body: "{}") == 200)
            #expect(try await client.status("DELETE", Self.phone + "/a") == 200)
            let refused = try await client.send("POST", Self.phone + "?topic_name=a", body: "{}")
            #expect(refused.status == 429 && refused.header("retry-after") == "1")
            #expect(try await client.status("GET", Self.phone) == 200, "reading is not limited")
            fixture.clock.advance(seconds: 1)
            #expect(try await client.status("POST", Self.phone + "?topic_name=a", body: "{}") == 200)
        }
    }

    /// The Instance ID service managed topics before this API.
    @Test func theOldServiceIsGone() async throws {
        try await with { _, client in
            let answer = try await client.send("POST", "/iid/v1:batchAdd", body: #"{"to":"/topics/news"}"#)
            #expect(answer.status == 404 && answer.header("content-type")?.hasPrefix("text/html") == true)
        }
    }

    @Test func theOptionsAreChecked() async throws {
        for change in [{ $0.topicQuota = 0 }, { $0.topicLimitStatus = 500 }] as [(inout SandboxOptions) -> Void] {
            await #expect(throws: SandboxError.self) { try await withSandbox(change) { _ in } }
        }
    }
}
