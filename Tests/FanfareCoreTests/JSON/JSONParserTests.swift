import FanfareCore
import Testing

struct JSONParserTests {
    @Test(arguments: [
        #"null"#, #"true"#, #"false"#, #"0"#, #"-0"#, #"1.0"#, #"-12.50e+03"#, #"1E-2"#, #""""#, #"[]"#, #"{}"#,
        #"[1,[2,{"a":[]}],"x"]"#, #"{"b":1,"a":{"c":null}}"#, #""tab\tquote\"slash/ñ🦊""#,
    ])
    func roundTripsUnchanged(text: String) throws {
        #expect(String(decoding: try json(text).encoded, as: UTF8.self) == text)
    }

    @Test func keepsOrderAndLiterals() throws {
        let value = try json("  { \"z\" : 1.0 ,\n \"a\" : [ 2e3 ] }  ")
        #expect(String(decoding: value.encoded, as: UTF8.self) == #"{"z":1.0,"a":[2e3]}"#)
    }

    @Test func decodesEscapes() throws {
        #expect(try json(#""\u0041\u00e9\ud83e\udd8a\b\f\n\r\t\/\\\"""#) == .string("Aé🦊\u{8}\u{c}\n\r\t/\\\""))
        #expect(
            String(decoding: JSONValue.string("\u{1}\u{1f}\u{7f}").encoded, as: UTF8.self) == "\"\\u0001\\u001f\u{7f}\""
        )
    }

    @Test(
        arguments: [
            ("", .unexpectedEnd, 1, 1), ("[1,", .unexpectedEnd, 1, 4), ("{\"a\":1,}", .unexpectedByte, 1, 8),
            ("[1,]", .unexpectedByte, 1, 4), ("{\n  'a': 1}", .unexpectedByte, 2, 3), ("tru", .unexpectedEnd, 1, 4),
            ("nul1", .unexpectedByte, 1, 4), ("1 2", .trailingText, 1, 3), ("01", .malformedNumber, 1, 1),
            ("-", .malformedNumber, 1, 1), ("1.", .malformedNumber, 1, 1), ("1e", .malformedNumber, 1, 1),
            (".5", .unexpectedByte, 1, 1), ("+1", .unexpectedByte, 1, 1), ("NaN", .unexpectedByte, 1, 1),
            (#""\x""#, .malformedEscape, 1, 2), (#""\u12g4""#, .malformedEscape, 1, 2),
            (#""\ud800""#, .loneSurrogate, 1, 2), (#""\ud800\u0041""#, .loneSurrogate, 1, 2),
            (#""\udc00""#, .loneSurrogate, 1, 2), ("\"a\nb\"", .controlCharacter, 1, 3), ("\"a", .unexpectedEnd, 1, 3),
            (#"{"a":1,"a":2}"#, .duplicateKey, 1, 8), (#"{"a":1,"\u0061":2}"#, .duplicateKey, 1, 8),
            ("{\"a\" 1}", .unexpectedByte, 1, 6),
        ] as [(String, JSONSyntaxError.Reason, Int, Int)]
    )
    func refuses(text: String, reason: JSONSyntaxError.Reason, line: Int, column: Int) {
        let error = #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: text) }
        #expect(error?.reason == reason)
        #expect(error?.line == line)
        #expect(error?.column == column)
    }

    @Test func refusesInvalidUTF8() {
        for bytes: [UInt8] in [[0x22, 0xFF, 0x22], [0x22, 0xC0, 0x80, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22]] {
            let error = #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: bytes) }
            #expect(error?.reason == .invalidUTF8)
        }
    }

    /// Like PostgreSQL, which keeps both.
    @Test(arguments: [0, 100])
    func keysAreComparedByTheirBytes(others: Int) throws {
        let members = (0..<others).map { "\"k\($0)\":\($0)," }.joined()
        let value = try JSONValue(parsing: "{\(members)\"\u{E9}\":1,\"e\u{301}\":2}")
        #expect(value["\u{E9}"] == 1 && value["e\u{301}"] == 2)
        let other = try JSONValue(parsing: "{\(members)\"\u{E9}\":2,\"e\u{301}\":1}")
        #expect(value != other)
    }

    @Test func refusesRepeatedKeyAmongMany() {
        let members = (0..<100).map { "\"k\($0)\":\($0)" }.joined(separator: ",")
        let error = #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: "{\(members),\"k3\":0}") }
        #expect(error?.reason == .duplicateKey)
    }

    @Test func limitsDepthAndSize() throws {
        let levels = { (count: Int) in String(repeating: "[", count: count) + String(repeating: "]", count: count) }
        let limits = JSONLimits(bytes: 64 << 10, levels: 32)
        #expect(try JSONValue(parsing: levels(32), limits: limits).depth == 32)
        let deep = #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: levels(33), limits: limits) }
        #expect(deep?.reason == .tooDeep(limit: 32))
        let large = "\"" + String(repeating: "x", count: 64 << 10) + "\""
        let size = #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: large, limits: limits) }
        #expect(size?.reason == .tooLarge(limit: 64 << 10))
    }

    @Test func errorsHoldNoText() {
        let error = #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: "{\"secret\": \"s3cret\" x}") }
        #expect(error.map { "\($0)" } == "unexpected character at line 1, column 21")
    }

    @Test(arguments: 0..<200 as Range<UInt64>)
    func randomValuesRoundTrip(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let value = JSONValue.random(levels: 4, using: &generator)
        let text = String(decoding: value.encoded, as: UTF8.self)
        let parsed = try json(text)
        #expect(parsed == value)
        #expect(String(decoding: parsed.encoded, as: UTF8.self) == text)
    }
}

extension JSONValue {
    static func random(levels: Int, using generator: inout SeededGenerator) -> JSONValue {
        switch Int.random(in: 0..<(levels > 0 ? 8 : 6), using: &generator) {
        case 0: return .null
        case 1: return .bool(.random(using: &generator))
        case 2, 3: return .number(JSONNumber(Int64.random(in: .min ... .max, using: &generator)))
        case 4, 5:
            let scalars = (0..<Int.random(in: 0..<12, using: &generator)).compactMap { _ in
                Unicode.Scalar(UInt32.random(in: 0..<0x3000, using: &generator))
            }
            return .string(String(String.UnicodeScalarView(scalars)))
        case 6: return .array((0..<3).map { _ in random(levels: levels - 1, using: &generator) })
        default:
            var object = JSONObject()
            for index in 0..<3 { object["k\(index)"] = random(levels: levels - 1, using: &generator) }
            return .object(object)
        }
    }
}
