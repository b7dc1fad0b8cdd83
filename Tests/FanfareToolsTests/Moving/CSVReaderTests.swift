import Foundation
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareMoving
@testable import FanfareTools

/// RFC 4180 files, and files that deviate from it.
struct CSVReaderTests {
    /// Returns the records of a text that is read in blocks of the given size.
    private func records(_ text: String, by block: Int = 1000, separator: UInt8 = UInt8(ascii: ",")) throws
        -> [SourceRecord]
    {
        var reader = CSVReader(window(Array(text.utf8), by: block), separator: separator)
        var records: [SourceRecord] = []
        while let record = try reader.next() { records.append(record) }
        return records
    }

    private func window(_ bytes: [UInt8], by block: Int, at place: Int64 = 0, line: Int64 = 1) -> ByteWindow {
        var rest = bytes[Int(place)...]
        return ByteWindow(at: place, line: line) { _ in
            defer { rest = rest.dropFirst(block) }
            return Data(rest.prefix(block))
        }
    }

    private static let texts: [(String, [[String]])] = [
        ("a,b\n1,2\n", [["a", "b"], ["1", "2"]]),
        ("a,b\r\n1,2\r\n", [["a", "b"], ["1", "2"]]),
        ("a,b\n1,2", [["a", "b"], ["1", "2"]]),
        ("a,b\n,\n", [["a", "b"], ["", ""]]),
        ("a\n\n\r\nb\n", [["a"], ["b"]]),
        (#""a","b, c""# + "\n", [["a", "b, c"]]),
        ("\"two\nlines\",\"and\r\ntwo\"\n1,2\n", [["two\nlines", "and\r\ntwo"], ["1", "2"]]),
        (#""say ""hi""","""","""""""# + "\n", [["say \"hi\"", "\"", "\"\""]]),
        (#"5" screen,"","# + "\n", [["5\" screen", "", ""]]),
        ("\"a\"\r\n\"b\"", [["a"], ["b"]]),
        ("é,\"ü\nß\"\n", [["é", "ü\nß"]]),
        ("", []),
    ]

    @Test(arguments: texts, [1, 2, 3, 1000])
    func fieldsAreWhatWasWritten(_ example: (String, [[String]]), by block: Int) throws {
        let read = try records(example.0, by: block)
        #expect(read.map { record in record.fields.map { record.text(of: $0) } } == example.1)
        #expect(read.allSatisfy { $0.problem == nil })
    }

    @Test func otherSeparatorsLeaveCommasAlone() throws {
        let read = try records("a;b\n\"1;2\";3,4\n", separator: UInt8(ascii: ";"))
        #expect(read.map { record in record.fields.map { record.text(of: $0) } } == [["a", "b"], ["1;2", "3,4"]])
    }

    @Test func linesArePlacesWhereOneCanGoOn() throws {
        let text = "h\r\n\"a\nb\"\n\n\nc\n"
        let read = try records(text)
        #expect(read.map(\.line) == [1, 2, 6] && read.map(\.nextLine) == [2, 4, 7])
        var reader = CSVReader(window(Array(text.utf8), by: 4, at: read[1].nextPlace, line: read[1].nextLine))
        let next = try #require(try reader.next())
        #expect(next.bytes == Array("c".utf8) && next.line == 6 && next.nextPlace == text.utf8.count)
    }

    @Test(arguments: [1, 5, 1000])
    func aBrokenRowCostsItselfOnly(by block: Int) throws {
        let read = try records("a,b\n\"x\"y,1\n2,3\n\"open,4\n5,6\n7,8", by: block)
        #expect(read.map(\.line) == [1, 2, 3, 4, 5, 6])
        #expect(read.map { $0.problem == nil } == [true, false, true, false, true, true])
        #expect(read[1].problem?.contains("field 1") == true)
        #expect(read[3].bytes == Array("\"open,4".utf8))
    }

    @Test func aQuoteThatSwallowsTheFileIsGivenUpInTime() throws {
        let rows = String(repeating: "12345678,abcdefgh\n", count: 200_000)
        let read = try records("\"lost,1\n" + rows, by: ByteWindow.block)
        #expect(read.count == 200_001)
        #expect(read.filter { $0.problem != nil }.map(\.line) == [1])
    }

    @Test func whatHasNoLinesIsNoTextFile() throws {
        let error = #expect(throws: ToolError.self) {
            try records(String(repeating: "x", count: 3 << 20), by: ByteWindow.block)
        }
        #expect(error?.hint.contains("zcat") == true)
    }

    @Test func bytesThatAreNoUTF8AreNoText() throws {
        var reader = CSVReader(window([0x61, 0x2C, 0xFF, 0x0A], by: 10))
        let record = try #require(try reader.next())
        #expect(record.fields.map { record.text(of: $0) } == ["a", nil])
    }

    @Test(arguments: 1...20)
    func whatIsWrittenByTheRulesIsReadBack(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let pieces = ["a", "\"", ",", "\n", "\r\n", "é", " ", "token:x"]
        let rows = (0..<30).map { _ in
            (0..<3).map { _ in
                (0..<Int.random(in: 0...5, using: &random)).map { _ in pieces.randomElement(using: &random) ?? "" }
                    .joined()
            }
        }
        let end = Bool.random(using: &random) ? "\r\n" : "\n"
        let text = rows.map { $0.map { "\"\($0.replacing("\"", with: "\"\""))\"" }.joined(separator: ",") }
            .joined(separator: end)
        let read = try records(text, by: Int.random(in: 1...20, using: &random))
        #expect(read.map { record in record.fields.map { record.text(of: $0) ?? "" } } == rows)
    }

    @Test(arguments: [
        ("2024-11-10", "2024-11-10T00:00:00Z"), ("2024-02-29 12:34:56", "2024-02-29T12:34:56Z"),
        ("2024-11-10 12:34:56 UTC", "2024-11-10T12:34:56Z"),
        ("2024-11-10T12:34:56.1234567Z", "2024-11-10T12:34:56.123456Z"),
        ("2024-11-10 12:34:56.5+0530", "2024-11-10T12:34:56.5+05:30"),
        ("2024-11-10T12:34-08", "2024-11-10T12:34:00-08:00"),
        ("1700000000", "2023-11-14T22:13:20.000000Z"), ("1700000000123", "2023-11-14T22:13:20.123000Z"),
        ("2023-02-29", nil), ("2024-13-01", nil), ("10/11/2024", nil), ("2024-11-10 25:00:00", nil), ("", nil),
        ("2024-11-10 12", nil), ("yesterday", nil), ("2024-11-10T12:34:56X", nil),
    ])
    func timesAreReadAsOthersWriteThem(text: String, time: String?) {
        #expect(ImportTime.normalized(text) == time)
    }
}
