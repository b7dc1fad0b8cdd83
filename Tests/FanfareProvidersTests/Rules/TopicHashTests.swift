import Testing

@testable import FanfareCore
@testable import FanfareProviders

struct TopicHashTests {
    /// FIPS 180-4 examples, and lengths around the block and padding boundaries (computed with another implementation).
    @Test(arguments: [
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
        (String(repeating: "a", count: 55), "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"),
        (String(repeating: "a", count: 64), "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"),
        (String(repeating: "a", count: 1000), "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3"),
    ])
    func sha256(message: String, digest: String) {
        let hexadecimal = SHA256.hash(Array(message.utf8)).map { byte in
            (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }
        #expect(hexadecimal.joined() == digest)
    }

    @Test func topicsAreStableAndHaveTheAlphabet() {
        let topic = WebPushTopic.hash(collapse: "order-7", app: "shop")
        #expect(topic.utf8.count == 32 && WebPushTopic.isValid(topic) && !topic.contains("order"))
        #expect(topic == "Ai0_cvh5qelKbY9TFpnnIB0cablSDO35")
        #expect(topic != WebPushTopic.hash(collapse: "order-8", app: "shop"))
        #expect(topic != WebPushTopic.hash(collapse: "7", app: "shoporder-"))
    }

    @Test(arguments: [
        ("ab", true), ("a", false), ("", false), ("a b", false), ("a=", false), ("é", false), ("a-_9Zz", true),
    ])
    func validTopics(value: String, isValid: Bool) {
        #expect(WebPushTopic.isValid(value) == isValid)
        #expect(!WebPushTopic.isValid(String(repeating: "x", count: 33)))
    }

    @Test func deliveryHeadersCarryTheIdentity() {
        let id = DeliveryID(event: EventID(day: 2516, sequence: 7), ruleID: 3, deviceID: 4)
        #expect(DeliveryHeader.apnsID.value(id) == Array(id.text.utf8))
        #expect(DeliveryHeader.apnsRequestID.value(id) == Array(id.text.utf8))
        let topic = String(decoding: DeliveryHeader.topic.value(id), as: UTF8.self)
        #expect(topic.utf8.count == 32 && WebPushTopic.isValid(topic))
        #expect(topic == id.text.filter { $0 != "-" })
        #expect(
            [DeliveryHeader.apnsID, .apnsRequestID, .topic].map(\.name) == ["apns-id", "apns-request-id", "topic"]
        )
    }
}
