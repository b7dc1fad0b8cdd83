import FanfareConfiguration
import Foundation
import Logging
import Testing

@testable import DaemonKit
@testable import FanfareLogging
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages

@Suite struct LogLineTests {
    private func line(_ metadata: Logger.Metadata, message: String = "batch recorded") -> LogLine {
        LogLine(
            time: LogTimestamp(microsecondsSince1970: 1_795_266_890_123_456),
            level: .info,
            message: message,
            metadata: metadata
        )
    }

    @Test func theJSONFormIsFixed() {
        let metadata = Logger.Metadata([
            .eventID: .stringConvertible(12), .ruleName: "order-shipped", .lagMilliseconds: .stringConvertible(2.5),
            .outcome: .array(["accepted", .stringConvertible(true)]),
        ])
        #expect(
            line(metadata).json
                == #"{"ts":"2026-11-21T13:14:50.123456Z","level":"info","msg":"batch recorded","v":2,"#
                + #""event.id":12,"lag_ms":2.5,"outcome":["accepted",true],"rule.name":"order-shipped"}"# + "\n"
        )
    }

    @Test func numbersOfOurOwnKeysAreNumbers() {
        let metadata = Logger.Metadata([
            .eventID: "10862", .attempt: "2", .lagMilliseconds: "-3", .count: "many", .reason: "410", .version: "2",
        ])
        #expect(
            line(metadata).json.hasSuffix(
                #""attempt":2,"count":"many","event.id":10862,"lag_ms":-3,"reason":"410","version":"2"}"# + "\n"
            )
        )
    }

    @Test func nestedMetadataBecomesDottedAndReservedKeysAreKept() {
        let metadata: Logger.Metadata = ["device": ["id": .stringConvertible(7), "os": ["name": "x"]], "msg": "own"]
        #expect(
            line(metadata, message: "m").json.hasSuffix(
                #""msg":"m","v":2,"device.id":7,"device.os.name":"x","meta.msg":"own"}"# + "\n"
            )
        )
    }

    @Test(arguments: ["a\"b\\c", "line\nfeed\r\t", "\u{0}\u{1B}[31m", "\u{2028}é🎺", "\u{7F}", ""])
    func everyLineIsOneJSONObject(text: String) throws {
        let json = line([text: .string(text)], message: text).json
        #expect(json.dropLast().allSatisfy { !$0.isNewline })
        let object = try #require(
            JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any]
        )
        #expect(object["msg"] as? String == text)
        #expect(object[text] as? String == text)
    }

    @Test func longTextsAreCutAtACharacter() throws {
        let json = line(["error": .string(String(repeating: "é", count: 5000))]).json
        let object = try #require(JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any])
        #expect(object["error"] as? String == String(repeating: "é", count: 2048) + "…")
    }

    @Test func theTextFormIsForPeople() {
        let metadata: Logger.Metadata = ["rule.name": "a b", "event.id": .stringConvertible(3), "x": "\u{1B}[2J"]
        #expect(
            line(metadata).text(colour: false)
                == "2026-11-21T13:14:50.123456Z INFO     batch recorded event.id=3 rule.name=\"a b\" "
                + "x=\"\\u001b[2J\"\n"
        )
        #expect(line([:]).text(colour: true).contains("\u{1B}[32mINFO    \u{1B}[0m batch recorded"))
        #expect(line([:], message: "a\u{1B}b\n").text(colour: false).hasSuffix("a\\u001bb\\n\n"))
    }

    @Test(
        arguments: [
            (0, "1970-01-01T00:00:00.000000Z"), (-1, "1969-12-31T23:59:59.999999Z"),
            (951_782_400_000_000, "2000-02-29T00:00:00.000000Z"),
            (4_107_542_399_999_999, "2100-02-28T23:59:59.999999Z"),
            (4_107_542_400_000_000, "2100-03-01T00:00:00.000000Z"),
            (1_735_689_599_000_001, "2024-12-31T23:59:59.000001Z"),
        ]
    ) func timestampsAreRFC3339(microseconds: Int, text: String) {
        #expect(LogTimestamp(microsecondsSince1970: Int64(microseconds)).description == text)
    }

    @Test func keysAreDottedAndDistinct() {
        for key in LogKey.allCases {
            #expect(key.rawValue.wholeMatch(of: /[a-z]+([._][a-z]+)*/) != nil, "\(key)")
            #expect(!["ts", "level", "msg", "v"].contains(key.rawValue))
        }
    }
}
