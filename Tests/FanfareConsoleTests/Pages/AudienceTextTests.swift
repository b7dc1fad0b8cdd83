import FanfareCore
import Testing

@testable import FanfareConsole

/// The words that describe an audience.
struct AudienceTextTests {
    @Test(arguments: [
        (#"{"topic": "winter", "provider": "apns"}"#, "topic winter, apns only"),
        (#"{"everyone": true, "permission": "authorized"}"#, "everyone, permission authorized"),
        (
            #"{"everyone": true, "permission": ["authorized", "unknown"], "presents": ["alert", "sound"]}"#,
            "everyone, permission authorized or unknown, presenting alert and sound"
        ),
    ])
    func anAudienceIsDescribed(to: String, words: String) throws {
        #expect(AudienceText.words(try JSONValue(parsing: #"{"to": \#(to)}"#)) == words)
    }
}
