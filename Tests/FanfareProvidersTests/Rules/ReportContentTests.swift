import FanfareCore
import Testing

@testable import FanfareProviders

/// The handle for reports in the payload of each provider.
struct ReportContentTests {
    private func context(_ handle: String?) -> RenderContext {
        var context = event(["order_id": 7])
        context.report = handle
        return context
    }

    /// Returns the whole body of a request.
    private func text(_ push: RenderedPush, _ provider: PushProvider) -> String {
        let target = provider == .fcm ? FCMTarget.token("t").insertion : []
        return String(decoding: push.body + target + push.bodySuffix, as: UTF8.self)
    }

    private static let messages: [JSONValue] = [
        ["notification": ["title": "T {{order_id}}"]], ["data": ["a": "b"]],
        ["data": ["a": "{{order_id}}"], "notification": ["title": "T"]],
        ["notification": ["title": "T"], "webpush": ["data": ["x": "y"]], "webhook": ["data": ["n": 1]]],
    ]

    @Test func eachProviderHasItWhereItsClientReadsIt() throws {
        for message in Self.messages {
            let source = rule(message: message)
            let apns = try JSONValue(parsing: source.push(.apns, context("H_-1")).body)
            #expect(apns["fanfare_report"] == "H_-1" && apns["aps"] != nil)
            #expect(try source.message(context("H_-1"))["data"]?["fanfare_report"] == "H_-1")
            #expect(try source.plaintext(context("H_-1"))["data"]?["fanfare_report"] == "H_-1")
            #expect(try JSONValue(parsing: source.push(.webhook, context("H_-1")).body)["report"] == "H_-1")
        }
    }

    /// Byte for byte as if the feature did not exist: no empty object, no comma.
    @Test func withoutAHandleNothingIsAdded() throws {
        for message in Self.messages {
            for provider in [PushProvider.apns, .fcm, .webpush, .webhook] {
                let source = rule(message: message)
                let (with, without) = (try source.push(provider, context("H")), try source.push(provider, context(nil)))
                let plain = text(without, provider)
                #expect(!plain.contains("report") && !plain.contains(",}") && !plain.contains("{,"), "\(plain)")
                #expect(with.body.count > without.body.count)
            }
        }
        let data = try rule(message: ["notification": ["title": "T"]]).message(context(nil))["data"]
        #expect(data == nil)
    }

    @Test func aDeclarativeMessageHasItInTheNotificationToo() throws {
        let message: JSONValue = [
            "notification": ["title": "T"],
            "webpush": ["declarative": true, "fcm_options": ["link": "https://shop.example/o?r={{event.report}}"]],
        ]
        let body = try rule(message: message).plaintext(context("H"))
        #expect(body["notification"]?["data"]?["fanfare_report"] == "H" && body["data"]?["fanfare_report"] == "H")
        #expect(body["notification"]?["navigate"] == "https://shop.example/o?r=H")
        let plain = try rule(message: message).plaintext(context(nil))
        #expect(plain["notification"]?["navigate"] == "https://shop.example/o?r=" && plain["data"] == nil)
    }

    @Test func theStoredFormKeepsTheKeys() throws {
        let source = rule(["report": true, "as_event": "notification.action", "report_text": true])
        let definition = try RuleDefinition(json: source)
        #expect(try RuleDefinition(json: definition.json) == definition)
        #expect(definition.reports.isOn == true && definition.reports.asEvent == "notification.action")
        #expect(try RuleDefinition(json: rule(["report": false])).reports.isOn == false)
        #expect(try RuleDefinition(json: rule()).json["report"] == nil)
        #expect(problem(rule(["as_event": "x"]))?.path == "as_event")
        #expect(problem(rule(["report": true, "to": ["users": nil, "fcm_topic": "t"]]))?.path == "report")
    }
}
