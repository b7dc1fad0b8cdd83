import FanfareCore
import FanfareService
import Foundation
import Testing

@testable import DaemonKit
@testable import FanfareConfiguration
@testable import FanfareProviders

@Suite struct RulesFileTests {
    static let text = """
        - name: order-shipped
          app: shop
          event: order.shipped
          to:
            tokens: [a, "{{b}}"]
          message:
            notification: { title: "Order {{order_id}}" }
            apns:
              headers:
                apns-priority: "10"
              payload: { aps: { badge: 1.50, big: 12345678901234567890 } }

        # a second one
        - name: order-lost
          app: shop
        """

    private func problems(_ yaml: String) -> [String] {
        do {
            _ = try RulesFile(yaml: yaml, named: "rules.yaml")
            return []
        } catch {
            return error.problems.map(\.description)
        }
    }

    @Test func aByteOrderMarkIsPassedOver() throws {
        let rules = try RulesFile(yaml: "\u{FEFF}" + Self.text, named: "rules.yaml").rules
        #expect(rules.map(\.name) == ["order-shipped", "order-lost"])
        #expect(rules.map(\.line) == [1, 14])
        #expect(throws: Never.self) { try RulesFile(yaml: "\u{FEFF}- {name: a, app: b}\r\n", named: "rules.yaml") }
    }

    @Test func rulesKeepTheirLinesAndNumbers() throws {
        let rules = try RulesFile(yaml: Self.text, named: "rules.yaml").rules
        #expect(rules.map(\.name) == ["order-shipped", "order-lost"])
        let rule = try #require(rules.first)
        #expect(rule.app == "shop")
        #expect(rule.line == 1)
        #expect(rules[1].line == 14)
        let aps = rule.json["message"]?["apns"]?["payload"]?["aps"]
        #expect(aps?["badge"]?.numberValue?.literal == "1.50")
        #expect(aps?["big"]?.numberValue?.literal == "12345678901234567890")
        #expect(rule.json["message"]?["apns"]?["headers"]?["apns-priority"] == "10")
        #expect(rule.json["to"]?["tokens"] == ["a", "{{b}}"])
    }

    @Test(
        arguments: [
            ("message.apns.headers", 9), ("message.apns.headers.apns-priority", 10), ("to.tokens[1]", 5),
            ("message.notification.title", 7), ("message.android.priority", 6), ("collapse", 1), ("", 1),
            ("to.tokens[1].x", 5), ("message.apns.headersX", 8),
        ]
    ) func everyPathHasALine(path: String, line: Int) throws {
        let rule = try #require(try RulesFile(yaml: Self.text, named: "rules.yaml").rules.first)
        #expect(rule.line(of: path) == line)
    }

    @Test func messagesNameTheirPlace() throws {
        let rule = try #require(try RulesFile(yaml: Self.text, named: "rules.yaml").rules.first)
        #expect(
            rule.message(at: "message.apns.headers", "unknown header")
                == "rules.yaml:9: message.apns.headers: unknown header"
        )
        #expect(rule.message(at: "", "is empty") == "rules.yaml:1: is empty")
        let unknown = try #require(
            try RulesFile(yaml: "- name: a\n  app: shop\n  event: e\n  whenn: $.a == 1", named: "rules.yaml").rules
                .first
        )
        #expect {
            try RuleDefinition(json: unknown.json)
        } throws: {
            ($0 as? RuleProblem).map { unknown.message(for: $0).hasPrefix("rules.yaml:4: whenn: ") } ?? false
        }
    }

    @Test func wordsOfYAML11StayText() throws {
        let yaml = """
            yes: { a: yes, b: on, c: No, d: 12:30, e: 2026-11-21, f: "1", g: !!str 2, h: 1_000, i: 0b1, j: '' }
            core: [true, False, null, ~, 1, -0.5e+3, '~']
            """
        let rule = try #require(try RulesFile(yaml: yaml, named: "rules.yaml").rules.first)
        #expect(
            rule.json["yes"] == [
                "a": "yes", "b": "on", "c": "No", "d": "12:30", "e": "2026-11-21", "f": "1", "g": "2", "h": "1_000",
                "i": "0b1", "j": "",
            ]
        )
        #expect(rule.json["core"]?.arrayValue?.prefix(5) == [true, false, nil, nil, 1])
        #expect(rule.json["core"]?.arrayValue?[5].numberValue?.literal == "-0.5e+3")
        #expect(rule.json["core"]?.arrayValue?[6] == "~")
    }

    @Test(arguments: ["+1", "007", ".5", "1.", "0x1F", "0o17", ".inf", "-.INF", ".nan", "00", "-01", "1.e3"])
    func numbersThatJSONHasNotAreRefused(literal: String) {
        #expect(
            problems("badge: \(literal)") == [
                "rules.yaml:1: badge: is a number in a form that JSON does not have; "
                    + "write it in decimal, or quote it if it is text"
            ]
        )
    }

    @Test(arguments: ["+", ".", "-", "e5", "1e", "1.2.3", "0x", "0xG", "0o8", "--1", "+34 600", "1a", "٣"])
    func whatOnlyLooksLikeANumberIsText(text: String) throws {
        let rule = try #require(try RulesFile(yaml: "a: \(text)x\nb: '\(text)'", named: "r").rules.first)
        #expect(rule.json["a"]?.stringValue == text + "x")
        #expect(rule.json["b"]?.stringValue == text)
    }

    @Test func documentsAndListsAreBothTaken() throws {
        let file = try RulesFile(yaml: "name: a\n---\n- name: b\n- name: c\n---\n---\nname: d\n", named: "r")
        #expect(file.rules.map(\.name) == ["a", "b", "c", "d"])
        #expect(file.rules.map(\.line) == [1, 3, 4, 7])
        #expect(try RulesFile(yaml: "", named: "r").rules.isEmpty)
        #expect(try RulesFile(yaml: "# none\n", named: "r").rules.isEmpty)
    }

    @Test func anchorsAreSharedAndMergeKeysRefused() throws {
        let shared =
            "- { name: a, app: &app shop, message: &m { data: { k: v } } }\n- { name: b, app: *app, message: *m }"
        let rules = try RulesFile(yaml: shared, named: "r").rules
        #expect(rules[1].app == "shop")
        #expect(rules[1].json["message"] == rules[0].json["message"])
        #expect(
            problems("- &a { name: a }\n- name: b\n  to: { <<: *a }\n")
                == ["rules.yaml:3: to: merge keys are not part of YAML 1.2; write the keys out"]
        )
    }

    @Test func allProblemsOfAFileAreReported() {
        let yaml = """
            - name: a
              app: shop
              message: { data: { k: 1, k: 2 } }
              ttl: 0x10
            - just text
            - name: a
              app: shop
            - name: a
              app: news
              to: !secret x
              ? [complex]
              : 1
            """
        #expect(
            problems(yaml) == [
                "rules.yaml:3: message.data.k: duplicate key; it was first set in line 3",
                "rules.yaml:4: ttl: is a number in a form that JSON does not have; "
                    + "write it in decimal, or quote it if it is text",
                "rules.yaml:5: expected a rule, found a string",
                "rules.yaml:6: name: the app “shop” has a rule “a” in line 1 already",
                "rules.yaml:10: to: has the tag !secret, which is not known here",
                "rules.yaml:11: has a key that is not a string",
            ]
        )
    }

    @Test func nestingAndAliasesAreBounded() {
        let deep = "a: " + String(repeating: "[", count: 70) + String(repeating: "]", count: 70)
        #expect(problems(deep).first?.hasSuffix("is nested more than 64 levels deep") == true)
        let deeper = "a: " + String(repeating: "[", count: 100_000)
        #expect(problems(deeper).first?.contains("is not valid YAML") == true)
        var bomb = "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
        for (name, inner) in zip("bcdefghijklm", "abcdefghijkl") {
            bomb += "\(name): &\(name) [" + Array(repeating: "*\(inner)", count: 10).joined(separator: ", ") + "]\n"
        }
        #expect(problems(bomb).first?.hasSuffix("the file has more than 100000 values") == true)
    }

    @Test func manyRepeatedKeysEnd() {
        let yaml = Array(repeating: "a: 1", count: 200).joined(separator: "\n")
        #expect(problems(yaml).first?.contains("appears more than once") == true)
        #expect(
            problems("\"a\\tb\": 1\n\"a\\tb\": 2")
                == ["rules.yaml:1: the key `a\tb` appears more than once in this mapping"]
        )
    }

    @Test func filesAreRead() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).yaml").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try Self.text.write(toFile: path, atomically: true, encoding: .utf8)
        #expect(try RulesFile.load(path).rules.count == 2)
        try Data([0x61, 0x3A, 0x20, 0xFF]).write(to: URL(fileURLWithPath: path))
        #expect {
            try RulesFile.load(path)
        } throws: {
            "\($0)" == "\(path): is not UTF-8"
        }
        #expect {
            try RulesFile.load(path + "x")
        } throws: {
            "\($0)" == "\(path)x: there is no such file"
        }
    }
}
