import FanfareCore
import Testing

@testable import FanfareProviders

/// Devices that no push can reach, detected at registration or at their first push.
struct RecipientFaultTests {
    private static let key = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
    private static let secret = "whsec_" + String(repeating: "A", count: 32)

    private func recipient(_ token: String, of provider: any Provider, key: String? = key) -> Recipient {
        provider.name == .webpush
            ? Recipient(token: token, p256dh: key, auth: "BTBZMqHH6r4Tts7J_aSIgg")
            : Recipient(token: token, p256dh: nil, auth: Self.secret)
    }

    @Test(
        arguments: [
            ("https://permanently-removed.invalid/fcm/send/x", false), ("https://INVALID/x", false),
            ("https://a.b.Invalid:8443/x", false), ("https://invalid.example.com/x", true),
            ("https://notinvalid/x", true), ("https://x.invalid.example/y", true), ("https://x.example/.invalid", true),
            ("https://user@x.example/y", false), ("https://x.example/y#z", false), ("https://x.example:0/y", false),
        ]
    )
    func aHostThatNeverExistsOrNoURLAtAll(token: String, isFine: Bool) {
        for provider in [WebPushProvider(), WebhookProvider()] as [any Provider] {
            let recipient = recipient(token, of: provider)
            #expect((provider.address(of: recipient, as: ProviderIdentity()) != nil) == isFine, "\(provider.name)")
            let fault = provider.fault(of: recipient)
            #expect((fault == nil) == isFine, "\(provider.name)")
            #expect(fault?.field ?? .token == .token && fault?.hint.isEmpty != true)
            #expect(provider.invalidRecipient.kind == .gone)
        }
    }

    @Test(arguments: ["", "a", "abcdef", String(repeating: "0123456789abcdef", count: 10), "ä/\u{0}"])
    func anAPNsPathEndsWithTheTokenAsItIs(token: String) {
        let recipient = Recipient(token: token, p256dh: nil, auth: nil)
        guard case .shared(let path, let insertion)? = APNsProvider().address(of: recipient, as: ProviderIdentity())
        else {
            Issue.record("no path")
            return
        }
        #expect(path == Array("/3/device/\(token)".utf8) && insertion.isEmpty)
    }

    @Test func aKeyOffTheCurve() {
        let provider = WebPushProvider()
        let offCurve = "BAEB" + String(repeating: "AQEB", count: 20) + "AQE"
        let fault = provider.fault(of: recipient("https://x.example/1", of: provider, key: offCurve))
        #expect(fault?.field == .p256dh && fault?.reason == "is not a point of P-256")
        // Left out by a renewal; and what the database refuses in its own words.
        for key in [nil, "", "marked*", String(Self.key.dropLast(4))] {
            #expect(provider.fault(of: recipient("https://x.example/1", of: provider, key: key)) == nil)
        }
        #expect(provider.fault(of: recipient("http://x.invalid/1", of: provider)) == nil)
    }
}
