import Testing

@testable import FanfareCore

struct WordsTests {
    @Test(arguments: [
        ("The DEVICE rate", "device", true), ("device", "device", true), ("devic", "device", false), ("", "a", false),
        ("ddevice", "device", true), ("a", "", true), ("éDevice", "device", true), ("devi ce", "device", false),
    ])
    func phrasesAreFoundWhateverTheirCase(text: String, phrase: String, isFound: Bool) {
        #expect(text.mentions(phrase) == isFound)
    }

    @Test(
        arguments: [
            ("Plain_word 1", "Plain_word 1"), ("", nil), ("\n", nil), ("a\u{1b}b", "ab"),
            ("abcdefghijklmnop", "abcdefghijkl"),
            ("ñ\u{202e}x", "ñx"),
        ] as [(String, String?)]
    )
    func wordsForLogs(text: String, expected: String?) {
        #expect(text.loggable(upTo: 12) == expected)
    }
}
