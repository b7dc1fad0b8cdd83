import Testing

@testable import PushSandbox

@Suite(.timeLimit(.minutes(5)))
struct FCMValidationTests {
    /// An invalid message, and Google's answer.
    struct Row: Sendable {
        let message: String
        let field: String?
        let text: String
        /// Whether FCM itself rejects it, and not the front end.
        var isFCM = true
    }

    static let token = #""token":"dEvIcE:APA91b-1""#

    static let rows: [Row] = [
        Row(
            message: "{\(token),\"apns\":{\"payload\":{\"aps\":{\"badge\":\"3\"}}}}",
            field: "message.apns.payload.aps.badge",
            text: "A phone ignores this value"
        ),
        Row(
            message: "{\(token),\"apns\":{\"payload\":{\"aps\":{\"sound\":{\"critical\":true}}}}}",
            field: "message.apns.payload.aps.sound.critical",
            text: "A phone ignores this value"
        ),
        Row(
            message: "{\(token),\"apns\":{\"payload\":{\"aps\":{\"alert\":null}}}}",
            field: "message.apns.payload.aps.alert",
            text: "A phone ignores this value"
        ),
        Row(
            message: "{\(token),\"apns\":{\"headers\":{\"apns-expiration\":\"1790000000000\"}}}",
            field: "message.apns.headers.apns-expiration",
            text: "Seconds since 1970 are needed"
        ),
        Row(
            message: "{\(token),\"data\":{\"a\":\"1\"},\"apns\":{\"headers\":{\"apns-priority\":\"10\"}}}",
            field: nil,
            text: "The registration token is not a valid FCM registration token"
        ),
        Row(
            message: "{\(token),\"x\":1}",
            field: "message",
            text: #"Invalid JSON payload received. Unknown name "x" at 'message': Cannot find field."#,
            isFCM: false
        ),
        Row(
            message: "{\(token),\"android\":{\"notification\":{\"colour\":\"#fff\"}}}",
            field: "message.android.notification",
            text:
                #"Invalid JSON payload received. Unknown name "colour" at 'message.android.notification': Cannot find field."#,
            isFCM: false
        ),
        Row(
            message: "{\(token),\"data\":{\"a\":\"b\",\"n\":12}}",
            field: "message.data[1].value",
            text: "Invalid value at 'message.data[1].value' (TYPE_STRING), 12",
            isFCM: false
        ),
        Row(
            message: "{\(token),\"notification\":{\"title\":true}}",
            field: "message.notification.title",
            text: "Invalid value at 'message.notification.title' (TYPE_STRING), true",
            isFCM: false
        ),
        Row(
            message: "{\(token),\"android\":{\"priority\":\"FAST\"}}",
            field: "message.android.priority",
            text:
                "Invalid value at 'message.android.priority' (type.googleapis.com/google.firebase.fcm.v1.AndroidMessagePriority), \"FAST\"",
            isFCM: false
        ),
        Row(
            message: "{\(token),\"android\":{\"ttl\":\"60\"}}",
            field: "message.android.ttl",
            text:
                "Invalid value at 'message.android.ttl' (type.googleapis.com/google.protobuf.Duration), Field 'ttl', Illegal duration format; duration must end with 's'",
            isFCM: false
        ),
        Row(
            message: "{\(token),\"android\":{\"ttl\":\"-1s\"}}",
            field: "message.android.ttl",
            text:
                "Invalid value at 'message.android.ttl' (type.googleapis.com/google.protobuf.Duration), Field 'ttl', Illegal duration format",
            isFCM: false
        ),
        Row(
            message: "{\(token),\"apns\":{\"headers\":{\"apns-priority\":10}}}",
            field: "message.apns.headers[0].value",
            text: "Invalid value at 'message.apns.headers[0].value' (TYPE_STRING), 10",
            isFCM: false
        ),
        Row(
            message: "{\(token),\"topic\":\"news\"}",
            field: "message",
            text: "Invalid value at 'message' (oneof), oneof field 'target' is already set.",
            isFCM: false
        ),
        Row(
            message: "{\(token),\"android_v2\":{\"background_sync\":{},\"priority\":\"HIGH\"}}",
            field: "message.android_v2",
            text:
                #"Invalid JSON payload received. Unknown name "priority" at 'message.android_v2': Cannot find field."#,
            isFCM: false
        ),
        Row(
            message: "{\(token),\"android_v2\":{\"background_sync\":{\"x\":1}}}",
            field: "message.android_v2.background_sync",
            text:
                #"Invalid JSON payload received. Unknown name "x" at 'message.android_v2.background_sync': Cannot find field."#,
            isFCM: false
        ),
        Row(
            message: "{\(token),\"android_v2\":{\"remote_notification\":{\"notification\":{\"proxy\":\"ALLOW\"}}}}",
            field: "message.android_v2.remote_notification.notification",
            text:
                #"Invalid JSON payload received. Unknown name "proxy" at 'message.android_v2.remote_notification.notification': Cannot find field."#,
            isFCM: false
        ),
        Row(
            message: "{\(token),\"webpush\":{\"declarative\":true}}",
            field: "message.webpush",
            text:
                #"Invalid JSON payload received. Unknown name "declarative" at 'message.webpush': Cannot find field."#,
            isFCM: false
        ),
        Row(
            message: "{\(token),\"android\":{},\"android_v2\":{\"background_sync\":{}}}",
            field: "message.android_v2",
            text: "Only one of android and android_v2 can be set"
        ),
        Row(
            message: "{\(token),\"androidV2\":{\"ttl\":\"5s\"}}",
            field: "message.android_v2",
            text: "Exactly one of remote_notification and background_sync must be set"
        ),
        Row(
            message: "{\(token),\"android_v2\":{\"backgroundSync\":{},\"remoteNotification\":{}}}",
            field: "message.android_v2",
            text: "Exactly one of remote_notification and background_sync must be set"
        ),
        Row(
            message: "{\(token),\"android_v2\":{\"background_sync\":{},\"ttl\":\"2419200.1s\"}}",
            field: "message.android_v2.ttl",
            text: "Invalid ttl: must be from 0 to 2419200 seconds"
        ),
        Row(
            message: "{\(token),\"android_v2\":{\"background_sync\":{},\"data\":{\"google.x\":\"\"}}}",
            field: "message.android_v2.data[0].key",
            text: "Invalid data payload key: google.x"
        ),
        Row(
            message:
                "{\(token),\"android_v2\":{\"remote_notification\":{\"notification\":{\"body\":\"\(String(repeating: "x", count: 4093))\"}}}}",
            field: "message",
            text: "Android message is too big"
        ),
        Row(
            message: "{\(token),\"android_v2\":{\"background_sync\":{},\"restricted_package_name\":\"org.other\"}}",
            field: "message.android_v2.restricted_package_name",
            text: "The package name does not match the app's"
        ),
        Row(
            message: "{\(token),\"apns\":{\"live_activity_token\":\"\"}}",
            field: "message.apns.live_activity_token",
            text: "A token is needed, and one device as the target"
        ),
        Row(
            message: #"{"topic":"news","apns":{"live_activity_token":"x"}}"#,
            field: "message.apns.live_activity_token",
            text: "A token is needed, and one device as the target"
        ),
        Row(message: "{}", field: "message", text: "Recipient of the message is not set."),
        Row(message: #"{"topic":"/topics/news"}"#, field: "message.topic", text: "Malformed topic name"),
        Row(
            message: #"{"condition":"'a' in topics and 'b' in topics"}"#,
            field: "message.condition",
            text: "Invalid condition expression provided."
        ),
        Row(
            message: "{\(token),\"data\":{\"a\":\"b\",\"google.x\":\"\"}}",
            field: "message.data[1].key",
            text: "Invalid data payload key: google.x"
        ),
        Row(
            message: "{\(token),\"android\":{\"data\":{\"from\":\"\"}}}",
            field: "message.android.data[0].key",
            text: "Invalid data payload key: from"
        ),
        Row(
            message: "{\(token),\"android\":{\"ttl\":\"2419200.1s\"}}",
            field: "message.android.ttl",
            text: "Invalid ttl: must be from 0 to 2419200 seconds"
        ),
        Row(
            message: "{\(token),\"webpush\":{\"fcm_options\":{\"link\":\"http://example.org\"}}}",
            field: "message.webpush.fcm_options.link",
            text: "Web push link must be an https URL"
        ),
        Row(
            message: "{\(token),\"data\":{\"a\":\"\(String(repeating: "x", count: 4096))\"}}",
            field: "message",
            text: "Android message is too big"
        ),
        Row(
            message: "{\(token),\"apns\":{\"payload\":{\"a\":\"\(String(repeating: "x", count: 4096))\"}}}",
            field: "message.apns.payload",
            text: "APNs message is too big"
        ),
        Row(
            message: "{\(token),\"android\":{\"restricted_package_name\":\"org.other\"}}",
            field: "message.android.restricted_package_name",
            text: "The package name does not match the app's"
        ),
        Row(
            message: #"{"token":"not a token"}"#,
            field: nil,
            text: "The registration token is not a valid FCM registration token"
        ),
    ]

    @Test func everyMistakeIsWordedAsGoogleDoes() async throws {
        try await withSandbox { fixture in
            let client = try await fixture.connect()
            let token = try await GoogleClient(fixture).accessToken(fixture, by: client)
            for row in Self.rows {
                let response = try await client.push(.fcm(token, row.message))
                let error = try #require(response.json["error"]?.members, "\(row.text)")
                #expect(response.status == 400)
                #expect(response.dataFrames == 2)
                #expect(error["code"]?.json == "400")
                #expect(error["status"]?.text == "INVALID_ARGUMENT")
                #expect(error["message"]?.text == row.text)
                let violation = row.field.map { #""fieldViolations":[{"field":"\#($0)""# } ?? "errorCode"
                #expect(response.body.contains(violation), "\(response.body)")
                #expect(response.body.contains(#""errorCode":"INVALID_ARGUMENT""#) == row.isFCM, "\(response.body)")
            }
            #expect(fixture.sandbox.counts.byProvider["fcm"] == ["400 INVALID_ARGUMENT": Self.rows.count])
            #expect(fixture.sandbox.counts.distinctTokens == 0)
            await client.close()
        }
    }

    @Test func allMistakesOfShapeAreToldAtOnce() async throws {
        try await withSandbox { fixture in
            let client = try await fixture.connect()
            let token = try await GoogleClient(fixture).accessToken(fixture, by: client)
            let response = try await client.push(.fcm(token, #"{"token":1,"colour":2,"data":{"a":3}}"#))
            #expect(response.json["error"]?.members?["message"]?.text?.split(separator: "\n").count == 3)
            await client.close()
        }
    }

    @Test(arguments: [
        #"{"token":"dEvIcE:APA91b-1","data":{"order":"7"},"notification":{"title":"Order 7","body":"Shipped","image":"https://e.org/i"},"android":{"priority":"HIGH","ttl":"3600.5s","collapseKey":"order-7","directBootOk":true,"notification":{"channel_id":"orders","tag":"order-7","titleLocKey":"t","titleLocArgs":["a"],"notification_count":"3","event_time":"2026-11-21T10:00:00.5Z","vibrate_timings":["0.5s"],"visibility":"SECRET","light_settings":{"color":{"red":1,"green":0.5,"blue":0,"alpha":1},"light_on_duration":"1s","light_off_duration":"1s"}}},"apns":{"headers":{"apns-priority":"10"},"payload":{"aps":{"sound":"default","badge":1}},"fcm_options":{"image":"https://e.org/i"}},"webpush":{"headers":{"TTL":"3600"},"notification":{"vibrate":[1,2],"anything":{"deep":null}},"fcm_options":{"link":"https://example.org/o/7"}},"fcm_options":{"analytics_label":"l"}}"#,
        #"{"topic":"news-1.2~%"}"#, #"{"condition":"'a' in topics && ('b' in topics || !('c' in topics))"}"#,
        #"{"fid":"cAFE_-"}"#,
        #"{"token":"t","android":{"ttl":"2419200s","priority":"normal","restricted_package_name":"com.example.demo"},"notification":null}"#,
    ])
    func goodMessagesAreAccepted(message: String) async throws {
        try await withSandbox { fixture in
            let client = try await fixture.connect()
            let token = try await GoogleClient(fixture).accessToken(fixture, by: client)
            let response = try await client.push(.fcm(token, message))
            #expect(response.status == 200, "\(response.body)")
            #expect(response.json["name"]?.text?.hasPrefix("projects/demo-project/messages/") == true)
            let line = try #require(try await fixture.sandbox.received(after: 1).first)
            #expect(line.body == #"{"message":\#(message)}"#)
            #expect(!line.target.isEmpty)
            await client.close()
        }
    }

    /// A FID and the tokens of its installation exclude each other.
    @Test func anInstallationHasOneAddress() async throws {
        try await withSandbox { fixture in
            let client = try await fixture.connect()
            let access = try await GoogleClient(fixture).accessToken(fixture, by: client)
            let control = ControlClient(port: fixture.sandbox.controlPort)
            func statuses() async throws -> [Int] {
                var found: [Int] = []
                for target in [#""fid":"app-7""#, #""token":"app-7:one""#, #""token":"app-7""#] {
                    found.append(try await client.push(.fcm(access, "{\(target)}")).status ?? 0)
                }
                return found
            }
            #expect(try await statuses() == [200, 200, 200], "unknown installations are delivered to")
            for (address, expected) in [
                ("fid", [200, 404, 200]), ("token", [404, 200, 404]), ("none", [404, 404, 404]),
            ] {
                let body = #"{"name":"app","first":5,"count":10,"address":"\#(address)"}"#
                #expect(try await control.send("POST", "/installations", body: body).status == 204)
                #expect(try await statuses() == expected, "\(address)")
            }
            // The service answers a malformed FID as one that is gone, and a malformed token as malformed.
            for (target, status, code) in [
                (#""fid":"a.b""#, 404, "UNREGISTERED"), (#""fid":"app:one""#, 404, "UNREGISTERED"),
                (#""fid":"""#, 404, "UNREGISTERED"), (#""token":"a b""#, 400, "INVALID_ARGUMENT"),
            ] {
                let response = try await client.push(.fcm(access, "{\(target)}"))
                #expect(response.status == status && response.body.contains(code), "\(target): \(response.body)")
            }
            for body in [
                "", "[]", #"{"name":"a b","address":"fid"}"#, #"{"name":"a"}"#, #"{"name":"a","address":"x"}"#,
                #"{"name":"a","address":"fid","count":10001}"#, #"{"name":"a","address":"fid","more":1}"#,
            ] {
                #expect(try await control.send("POST", "/installations", body: body).status == 400, "\(body)")
            }
            await client.close()
        }
    }

    @Test func accessIsCheckedBeforeTheMessage() async throws {
        try await withSandbox { fixture in
            let client = try await fixture.connect()
            let token = try await GoogleClient(fixture).accessToken(fixture, by: client)
            let bad = TestRequest.fcm(token, "{}")
            let path = "/v1/projects/PROJECT/messages:send"
            let cases: [(TestRequest, Int, String?)] = [
                (bad.with(path: "/v1/projects/demo-project/messages"), 404, nil),
                (bad.with(method: "GET").with(body: ""), 405, nil),
                (bad.with("authorization", nil), 401, "UNAUTHENTICATED"),
                (bad.with("authorization", "Basic eDp5"), 401, "UNAUTHENTICATED"),
                (bad.with("authorization", "Bearer ya29.stranger"), 401, "UNAUTHENTICATED"),
                (bad.with(path: path.replacing("PROJECT", with: "foreign-project")), 403, "PERMISSION_DENIED"),
                (bad.with(path: path.replacing("PROJECT", with: "no-project")), 404, "NOT_FOUND"),
                (bad.with(body: "{"), 400, "INVALID_ARGUMENT"),
            ]
            for (request, status, name) in cases {
                let response = try await client.push(request)
                #expect(response.status == status)
                #expect(response.json["error"]?.members?["status"]?.text == name)
                #expect(!response.body.contains("errorCode"), "no decision of FCM's: the token is kept")
                #expect(name != nil || response.header("content-type")?.hasPrefix("text/html") == true)
            }
            await client.close()
        }
    }

    @Test func aMereCheckIsNoPush() async throws {
        try await withSandbox { fixture in
            let client = try await fixture.connect()
            let token = try await GoogleClient(fixture).accessToken(fixture, by: client)
            let body = #"{"validate_only":true,"message":{"token":"t"}}"#
            let response = try await client.push(TestRequest.fcm(token).with(body: body))
            #expect(response.json["name"]?.text == "projects/demo-project/messages/fake_message_id")
            #expect(fixture.sandbox.counts.distinctTokens == 0)
            await client.close()
        }
    }

    @Test func aRepeatIsToldByTheMessageAndNotByTheTimeItHasLeft() async throws {
        try await withSandbox { fixture in
            let client = try await fixture.connect()
            let token = try await GoogleClient(fixture).accessToken(fixture, by: client)
            for (order, ttl) in [(1, 60), (2, 60), (1, 59)] {
                let message = #"{"token":"t","data":{"order":"\#(order)"},"android":{"ttl":"\#(ttl)s"}}"#
                #expect(try await client.push(.fcm(token, message)).status == 200)
            }
            #expect(fixture.sandbox.counts.duplicates == 1)
            #expect(fixture.sandbox.counts.distinctTokens == 1)
            await client.close()
        }
    }
}

struct FCMConditionTests {
    @Test(arguments: [
        ("'a' in topics", true), (" ( 'a' in topics ) ", true), ("!'a' in topics", true), ("!('a' in topics)", true),
        ("'a' in topics || 'b' in topics && 'c' in topics", true),
        ((1...5).map { "'t\($0)' in topics" }.joined(separator: "||"), true),
        ((1...6).map { "'t\($0)' in topics" }.joined(separator: "||"), false),
        ("", false), ("'a'", false), ("'' in topics", false), ("\"a\" in topics", false), ("('a' in topics", false),
        ("'a' in topics)", false), ("'a' in topics &", false), ("'a' in topics && ", false), ("'a b' in topics", false),
        (String(repeating: "(", count: 60_000), false),
    ])
    func theGrammarIsFCMs(condition: String, isAcceptable: Bool) {
        #expect(FCMCondition.isAcceptable(condition) == isAcceptable)
    }
}
