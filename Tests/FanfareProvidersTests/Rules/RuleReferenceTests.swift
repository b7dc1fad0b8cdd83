import Testing

@testable import FanfareCore
@testable import FanfareProviders

/// The reference contains exactly the keys that a rule may have.
@Suite struct RuleReferenceTests {
    /// Expects that a list is described in the order in which it is parsed.
    private func expect(_ described: [KeyDescription], below parent: String, toBe keys: [String]) {
        #expect(described.map(\.path) == keys.map { "\(parent)\($0)" })
        #expect(described.map(\.name) == keys)
    }

    @Test func aRuleNeedsItsRequiredKeys() throws {
        let required = DefinitionObject.rule.keys.filter(\.isRequired).map(\.name)
        #expect(required == ["name", "app", "event", "to", "message"])
        for key in required { #expect(problem(rule().setting(key, to: nil))?.path == key) }
    }

    @Test func keysOfObjectsWithinARuleAreDescribedAtTheirPlaces() {
        let paths = DefinitionObject.rule.keys.flatMap { $0.described() }.map(\.path)
        #expect(Set(paths).count == paths.count)
        for path in ["to.users", "quiet_hours.from", "variants[].weight", "digest.every", "debounce.longest"] {
            #expect(paths.contains(path))
        }
    }

    @Test func everyFieldOfAMessageHasItsMeaning() {
        let fields = MessageSchema.message.fields(at: "message").dropFirst().map(\.path)
        #expect(Set(fields).count == fields.count && fields.count > 60)
        let meanings = Set(MessageSchema.meanings.keys.map { "message.\($0)" })
        // Most fields of `android_v2` mean the same as in `android`, where they are described.
        let own = fields.filter { !$0.hasPrefix("message.android_v2.") }
        #expect(meanings.isSubset(of: fields) && Set(own).isSubset(of: meanings))
        #expect(MessageSchema.described.allSatisfy { $0.meaning.hasSuffix(".") })
        let blocks = fields.filter { $0.split(separator: ".").count == 2 }
        #expect(blocks == MessageSchema.keys.map { "message.\($0)" })
    }

    @Test func theHeadersThatCountAreDescribed() {
        expect(APNsHeaders.described, below: "message.apns.headers.", toBe: APNsHeaders.known)
        let names = [WebPushHeaders.timeToLive, WebPushHeaders.urgency, WebPushHeaders.topic]
        expect(WebPushHeaders.described, below: "message.webpush.headers.", toBe: names)
    }

    @Test func aLineHasTheFormatOfTheConfigurations() {
        let lines = RuleDefinition.reference.split(separator: "\n")
        #expect(lines.count == Set(lines).count)
        #expect(lines.contains("* `enabled` (boolean, optional, default: true): Whether the rule takes events at all."))
        let event = "* `event` (string, required, 1 to 255 bytes on one line): "
        #expect(lines.contains { $0 == event + "The type of the events that the rule takes." })
        #expect(lines.contains { $0.hasPrefix("* `locales.<tag>` (object, optional, default: none): ") })
        #expect(lines.contains { $0.hasPrefix("* `message.apns.headers.apns-priority` (string without template, ") })
    }
}
