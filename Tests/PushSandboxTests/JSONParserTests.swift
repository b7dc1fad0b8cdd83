import Testing

@testable import PushSandbox

struct JSONParserTests {
    @Test(arguments: [
        ("null", "null"), (" true ", "true"), ("-0", "0"), ("9223372036854775807", "9223372036854775807"),
        ("-9223372036854775808", "-9223372036854775808"), ("1.5e3", "1500.0"),
        ("18446744073709551615", "1.8446744073709552e+19"),
        (#"{"b":[1,{"a":null}],"a":false}"#, #"{"b":[1,{"a":null}],"a":false}"#), ("[ ]", "[]"), ("{ }", "{}"),
        (#""a\"\\\/\b\f\n\r\t\u00e9\uD83D\uDE00""#, "\"a\\\"\\\\/\\u0008\\u000c\\n\\u000d\\u0009é😀\""),
    ])
    func itReadsWhatIsJSON(text: String, expected: String) {
        #expect(JSONParser.parse(text.utf8)?.json == expected)
    }

    @Test(arguments: [
        "", " ", "nul", "01", "1.", ".5", "1e", "+1", "-", "[1,]", "[1 2]", "{\"a\"}", "{\"a\":1,}", "{a:1}", "\"a",
        "\"\n\"",
        #""\x""#, #""\u12g4""#, #""\ud800""#, #""\ud800\u0041""#, "1 1", "'a'", "[", "{", "NaN",
    ])
    func itRefusesWhatIsNot(text: String) {
        #expect(JSONParser.parse(text.utf8) == nil)
    }

    @Test func bytesThatAreNoUTF8AreRefused() {
        #expect(JSONParser.parse([UInt8(ascii: "\""), 0xff, UInt8(ascii: "\"")]) == nil)
    }

    @Test func nestingIsBounded() {
        #expect(JSONParser.parse(Array(repeating: UInt8(ascii: "["), count: 100_000)) == nil)
        let deepest = String(repeating: "[", count: 100) + String(repeating: "]", count: 100)
        #expect(JSONParser.parse(deepest.utf8) != nil)
        #expect(JSONParser.parse("[\(deepest)]".utf8) == nil)
    }
}
