import Testing

@testable import FanfareCore

struct StorableJSONTests {
    @Test(arguments: [
        "1", "-0", "1.5e10", "1e131071", "9999e131068", "0.001e131074", "1e-16383", "0e999999", "0.0e1073741823",
        #"["\u0001"]"#,
        "123456e-16383",
    ])
    func takesWhatPostgreSQLStores(text: String) throws {
        #expect(StorableJSON.problem(in: try JSONValue(parsing: text)) == nil)
    }

    @Test(arguments: [
        (#"{"a": [1, 1e131072]}"#, "a[1]", "is a number out of range"),
        (#"{"a": 1e999999}"#, "a", "is a number out of range"),
        (#"{"a": -1e99999999999999999999}"#, "a", "is a number out of range"),
        (#"{"a": 12345678901234567890e131060}"#, "a", "is a number out of range"),
        (#"{"a": 1e-16384}"#, "a", "is a number out of range"),
        (#"{"a": 1.0e-16383}"#, "a", "is a number out of range"),
        (#"{"a": 0e-99999}"#, "a", "is a number out of range"),
        (#"{"a": {"b": "x\u0000y"}}"#, "a.b", "has the character U+0000"),
        (#"{"a": {"b\u0000": 1}}"#, "a", "has the character U+0000"),
    ])
    func refusesWhatItDoesNot(text: String, path: String, reason: String) throws {
        let problem = StorableJSON.problem(in: try JSONValue(parsing: text))
        #expect(problem?.path == path)
        #expect(problem?.reason == reason)
        #expect(problem?.hint.isEmpty == false)
    }
}
