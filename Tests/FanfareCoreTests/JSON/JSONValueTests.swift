import FanfareCore
import Testing

struct JSONValueTests {
    @Test(arguments: [
        ("1", "1.0"), ("100", "1e2"), ("-0", "0"), ("0.10", "1E-1"), ("12000", "1.2e4"), ("0e9", "0"),
        ("9007199254740993", "9007199254740993.0"), (#"{"a":1,"b":[2.0]}"#, #"{"b":[2],"a":1}"#),
    ])
    func equalByValue(left: String, right: String) throws {
        #expect(try json(left) == json(right))
        #expect(try json(left).hashValue == json(right).hashValue)
    }

    @Test(arguments: [
        ("9007199254740993", "9007199254740992"), ("18446744073709551615", "18446744073709551616"), ("1", "-1"),
        ("1", "10"), ("1", "\"1\""), ("0", "false"), ("null", "0"), ("[1,2]", "[2,1]"),
        (#"{"a":1}"#, #"{"a":1,"b":1}"#),
        (#"{"a":1}"#, #"{"b":1}"#), ("0.1", "0.01"),
    ])
    func different(left: String, right: String) throws {
        #expect(try json(left) != json(right))
    }

    @Test func integersAreExact() throws {
        #expect(try json("9223372036854775807").numberValue?.integer == .max)
        #expect(try json("-9223372036854775808").numberValue?.integer == .min)
        #expect(try json("9223372036854775808").numberValue?.integer == nil)
        #expect(try json("3.0").numberValue?.integer == 3)
        #expect(try json("30e-1").numberValue?.integer == 3)
        #expect(try json("0.0").numberValue?.integer == 0)
        #expect(try json("3.5").numberValue?.integer == nil)
        #expect(try json("1e999999999999999999999").numberValue?.integer == nil)
    }

    @Test func objectsEdit() {
        var object = JSONObject()
        object["a"] = 1
        object["b"] = 2
        object["a"] = 3
        #expect(object.keys == ["a", "b"])
        object["a"] = nil
        object["c"] = nil
        #expect(JSONValue.object(object) == ["b": 2])
    }

    /// The cases of RFC 7396, appendix A.
    @Test(arguments: [
        (#"{"a":"b"}"#, #"{"a":"c"}"#, #"{"a":"c"}"#), (#"{"a":"b"}"#, #"{"b":"c"}"#, #"{"a":"b","b":"c"}"#),
        (#"{"a":"b"}"#, #"{"a":null}"#, #"{}"#), (#"{"a":"b","b":"c"}"#, #"{"a":null}"#, #"{"b":"c"}"#),
        (#"{"a":["b"]}"#, #"{"a":"c"}"#, #"{"a":"c"}"#), (#"{"a":"c"}"#, #"{"a":["b"]}"#, #"{"a":["b"]}"#),
        (#"{"a":{"b":"c"}}"#, #"{"a":{"b":"d","c":null}}"#, #"{"a":{"b":"d"}}"#),
        (#"{"a":[{"b":"c"}]}"#, #"{"a":[1]}"#, #"{"a":[1]}"#), (#"["a","b"]"#, #"["c","d"]"#, #"["c","d"]"#),
        (#"{"a":"b"}"#, #"["c"]"#, #"["c"]"#), (#"{"a":"foo"}"#, #"null"#, #"null"#),
        (#"{"a":"foo"}"#, #""bar""#, #""bar""#), (#"{"e":null}"#, #"{"a":1}"#, #"{"e":null,"a":1}"#),
        (#"[1,2]"#, #"{"a":"b","c":null}"#, #"{"a":"b"}"#),
        (#"{}"#, #"{"a":{"bb":{"ccc":null}}}"#, #"{"a":{"bb":{}}}"#),
    ])
    func mergePatches(target: String, patch: String, result: String) throws {
        #expect(try json(target).applying(mergePatch: json(patch)) == json(result))
    }

    @Test func mergeKeepsPlaces() throws {
        let merged = try json(#"{"z":1,"a":2}"#).applying(mergePatch: json(#"{"b":0,"z":9}"#))
        #expect(merged.objectValue?.keys == ["z", "a", "b"])
    }
}
