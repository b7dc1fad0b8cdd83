import FanfareCore
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareConfiguration
@testable import FanfareExplain
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareTools
@testable import fanfare

/// The rules that match an event, and its recipients.
@Suite(.database) struct RuleJudgementTests {
    private static let yaml = """
        - name: shipped
          app: shop
          event: order.shipped
          when: $.total > 10
          to: { users: $.customer, devices: '$.tier == "gold"' }
          message: { notification: { title: "Order {{id}}" } }
        - name: news
          app: shop
          event: order.shipped
          to: { topic: "store-{{store}}", provider: apns }
          message: { notification: { title: News } }
        - name: quiet
          app: shop
          event: order.shipped
          to: { condition: "'news' in topics && !('muted' in topics)" }
          message: { notification: { title: News } }
        - name: everyone
          app: shop
          event: order.shipped
          to: { everyone: true, kind: voip }
          message: { apns: { payload: { aps: {} } } }
        - name: tokens
          app: shop
          event: order.shipped
          to: { tokens: "$.tokens[*]", provider: apns }
          message: { notification: { title: T } }
        - name: fcm
          app: shop
          event: order.shipped
          to: { fcm_topic: news }
          message: { notification: { title: T } }
        """

    private func judge(
        _ payload: String,
        of yaml: String = yaml,
        user: String? = nil
    ) async throws -> [String: RuleJudgement] {
        let set = try RuleSet(RulesFile(yaml: yaml, named: "rules.yaml").rules)
        var example = ExampleEvent(payload: payload)
        example.userID = user
        let credentials = "{ fcm: { service_account_file: a.json } }"
        let judgements = try await toolDatabase().judge(
            set,
            example,
            toolConfiguration("apps: { shop: \(credentials) }")
        )
        return Dictionary(judgements.map { ($0.rule, $0) }) { first, _ in first }
    }

    private func counts(_ judgement: RuleJudgement?) -> AudienceCounts? {
        if case .counted(let counts) = judgement?.audience { counts } else { nil }
    }

    /// Ann has a phone at each provider and a disabled one; Bob has one without attributes.
    private func register() throws {
        try sql(
            """
            SELECT fanfare.register_device('shop', 'apns', 'aa01', 'ann', attributes => '{"tier": "gold"}'),
                fanfare.register_device('shop', 'fcm', 'f1', 'ann', attributes => '{"tier": "gold"}'),
                fanfare.register_device('shop', 'apns', 'aa02', 'ann', attributes => '{"tier": "gold"}'),
                fanfare.register_device('shop', 'apns', 'aa03', 'bob'),
                fanfare.register_device('shop', 'apns', 'aa04', 'ann', kind => 'voip')
            """
        )
        try sql("SELECT fanfare.unregister_device('shop', 'apns', 'aa02')")
        try sql(
            """
            SELECT fanfare.subscribe(array_agg(id), 'news') FROM fanfare.devices;
            """
        )
        try sql("SELECT fanfare.subscribe(fanfare.device_id('shop', 'fcm', 'f1'), 'muted')")
        try sql("SELECT fanfare.subscribe(fanfare.device_id('shop', 'apns', 'aa03'), 'store-7')")
    }

    @Test func filtersOnWhatUsersAllowAreCounted() async throws {
        try register()
        try sql(
            "SELECT fanfare.register_device('shop', 'apns', 'aa01', 'ann', permission => 'denied', presents => '{}')"
        )
        try sql(
            "SELECT fanfare.register_device('shop', 'fcm', 'f1', 'ann', permission => 'authorized', presents => '{alert}')"
        )
        let yaml = [
            "permission: authorized", "permission: [denied, unknown]", "presents: alert",
            "devices: '$.tier == \"gold\"', presents: [alert]",
        ]
        .enumerated().map {
            """
            - name: r\($0)
              app: shop
              event: e
              to: { users: $.u, \($1) }
              message: { notification: { title: T } }

            """
        }.joined()
        let found = try await judge(#"{"u": ["ann", "bob"]}"#, of: yaml, user: "ann")
        #expect((0..<4).map { counts(found["r\($0)"])?.devices } == [1, 2, 1, 1])
        let reasons = (0..<3).map { n in found["r\(n)"]?.user?.devices.compactMap(\.obstacle).first ?? "" }
        #expect(reasons[0] == "its permission is denied, the rule is for authorized", "\(reasons)")
        #expect(reasons[1] == "its permission is authorized, the rule is for denied, unknown", "\(reasons)")
        #expect(reasons[2] == "it presents nothing, the rule needs alert", "\(reasons)")
    }

    @Test func whoWouldGetItIsCountedByProvider() async throws {
        try register()
        let found = try await judge(
            #"{"total": 11, "customer": ["ann", "bob"], "store": 7, "tokens": ["AA03", "none"]}"#
        )
        let shipped = try #require(counts(found["shipped"]))
        #expect(shipped.providers.map(\.name) == ["apns", "fcm"] && shipped.providers.map(\.devices) == [1, 1])
        #expect(shipped.users == 1 && shipped.disabled == 1 && shipped.withoutCredentials == ["apns"])
        #expect(
            shipped.text == "2 devices of 1 user would get it: apns 1, fcm 1; disabled: 1; this configuration has no "
                + "credentials for apns"
        )
        #expect(counts(found["news"])?.devices == 1)
        #expect(counts(found["quiet"])?.devices == 2, "all but the one that muted it, and the disabled one")
        #expect(counts(found["everyone"])?.devices == 1, "of its kind")
        #expect(counts(found["tokens"])?.devices == 1, "in whatever case it is written")
        guard case .kept(.fcm) = found["fcm"]?.audience else {
            Issue.record("FCM's topic is FCM's to count")
            return
        }
    }

    private static let asking = """
        - name: asked
          app: shop
          event: order.shipped
          to: { users_sql: "SELECT u FROM jsonb_array_elements_text($1->'customers') AS u", provider: apns }
          message: { notification: { title: T } }
        - name: failing
          app: shop
          event: order.shipped
          to: { users_sql: "SELECT nullif(u, 'ann') FROM jsonb_array_elements_text($1->'customers') AS u" }
          message: { notification: { title: T } }
        - name: writing
          app: shop
          event: order.shipped
          to: { users_sql: "SELECT public.add_friend()" }
          message: { notification: { title: T } }
        - name: everyone
          app: shop
          event: order.shipped
          to: { everyone: true, kind: voip }
          message: { apns: { payload: { aps: {} } } }
        """

    @Test func theQueryOfAnAudienceIsRunForTheExampleAndChangesNothing() async throws {
        try register()
        try sql("CREATE TABLE public.friends (id text)")
        try sql("GRANT ALL ON public.friends TO fanfare_sql")
        try sql(
            """
            CREATE FUNCTION public.add_friend() RETURNS text LANGUAGE sql
            AS 'INSERT INTO public.friends VALUES (''eve'') RETURNING id'
            """
        )
        let payload = #"{"customers": ["ann", "ann", "bob", "cid"]}"#
        let found = try await judge(payload, of: Self.asking, user: "dan")
        let asked = try #require(counts(found["asked"]))
        #expect(asked.named == 3 && asked.users == 2 && asked.devices == 2)
        #expect(asked.text.contains("2 devices of 2 users would get it: apns 2"))
        #expect(asked.text.contains("; users_sql names 3 users"))
        #expect(found["asked"]?.json["audience"]?["named_users"] == 3)
        #expect(
            found["failing"]?.text.contains(
                "no device: to.users_sql: returns null for a user (Leave such rows out: WHERE user_id IS NOT NULL.)"
            ) == true
        )
        #expect(found["writing"]?.text.contains("to.users_sql: cannot execute INSERT in a read-only") == true)
        #expect(counts(found["everyone"])?.devices == 1, "what fails costs no other rule its judgement")
        #expect(try sql("SELECT id FROM public.friends").isEmpty)
        let reason = try await judge(payload, of: Self.asking, user: "ann")["asked"]?.user?.devices.map(\.obstacle)
        #expect(reason?.first == .some(nil))
        let missing = try await judge(#"{"customers": ["bob"]}"#, of: Self.asking, user: "ann")["asked"]
        #expect(missing?.user?.devices.first?.obstacle == "users_sql does not name this user")
    }

    @Test func whatDoesNotMatchIsSaid() async throws {
        let found = try await judge(#"{"total": 10}"#, user: "ann")
        #expect(found["shipped"]?.isMatched == false)
        #expect(found["shipped"]?.text.contains("does not match the event  (when: $.total > 10)") == true)
        #expect(found["shipped"]?.json["matched"] == false)
        guard case .problem(let problem) = found["news"]?.audience else {
            Issue.record("a topic without its value has no audience")
            return
        }
        #expect(problem.contains("store"))
        #expect(counts(found["everyone"])?.text == "no device would get it")
    }

    @Test func aUserIsToldWhyNot() async throws {
        try register()
        let found = try await judge(#"{"total": 11, "customer": "ann", "store": 7}"#, user: "ann")
        let shipped = found["shipped"]?.user?.devices.map(\.obstacle) ?? []
        #expect(shipped.count == 4)
        #expect(shipped[0] == nil && shipped[1] == nil)
        #expect(shipped[2]?.hasPrefix("disabled since ") == true && shipped[2]?.hasSuffix(": unregistered") == true)
        #expect(shipped[3] == "its token is for voip, the rule for device")
        let news = found["news"]?.user?.devices.map(\.obstacle) ?? []
        #expect(news[0] == "it is not subscribed to store-{{store}}; its topics: news")
        #expect(news[1] == "the rule is for apns")
        let quiet = found["quiet"]?.user?.devices.map(\.obstacle) ?? []
        #expect(quiet[1]?.hasSuffix("&& !('muted' in topics): muted, news") == true)
        let bob = try await judge(#"{"total": 11, "customer": "ann"}"#, user: "bob")["shipped"]
        #expect(bob?.user?.devices.map(\.obstacle) == [#"its attributes do not meet $.tier == "gold""#])
        try sql("SELECT fanfare.register_device('shop', 'apns', 'aa03', attributes => '{\"tier\": \"gold\"}')")
        let again = try await judge(#"{"total": 11, "customer": "ann"}"#, user: "bob")["shipped"]
        #expect(again?.user?.devices.map(\.obstacle) == ["$.customer does not name this user"])
        let nobody = try await judge(#"{"total": 11, "customer": "ann"}"#, user: "eve")["shipped"]
        #expect(nobody?.text.contains("eve gets nothing: no device of this user is registered for shop") == true)
    }

    @Test func aReaderMayAskAndNothingIsChanged() async throws {
        try register()
        try await withRole(in: "fanfare_reader") { role in
            let set = try RuleSet(RulesFile(yaml: Self.yaml, named: "rules.yaml").rules)
            var example = ExampleEvent(payload: #"{"total": 11, "customer": "ann", "tokens": ["aa01"]}"#)
            example.userID = "ann"
            let judgements = try await toolDatabase(user: role).judge(set, example, toolConfiguration())
            #expect(judgements.count == 6)
        }
        #expect(try sql("SELECT count(*) FROM fanfare.devices") == ["5"])
    }

    @Test func theProgramJudgesStoredRules() async throws {
        try register()
        let rule =
            #"{"app": "shop", "name": "s", "event": "e", "when": "$.n > 1", "to": {"users": "$.user"}, "#
            + #""message": {"notification": {"title": "Hello"}}}"#
        try sql("SELECT fanfare.put_rule($1::jsonb)", rule)
        let environment = ["DATABASE_URL": TestDatabase.current.url]
        let met = try await fanfare(
            "explain",
            "--event",
            #"{"n": 2, "user": "ann"}"#,
            "--user",
            "ann",
            environment: environment
        )
        #expect(met.status == 0)
        #expect(met.output.first == "shop/s  matches the event  (when: $.n > 1)")
        #expect(met.output.contains { $0.hasPrefix("  2 devices of 1 user would get it: apns 1, fcm 1; disabled: 1") })
        #expect(met.output.contains { $0.hasSuffix("(fcm) would get it") })
        #expect(met.output.joined().contains("Hello"))
        let unmet = try await fanfare("explain", "--event", #"{"n": 1}"#, "--json", environment: environment)
        let parts = try JSONValue(parsing: unmet.output.joined()).arrayValue
        #expect(unmet.status == 0 && parts?.count == 1)
        #expect(parts?.first?["judgement"]?["matched"] == false && parts?.first?["rule"] == "s")
    }
}
