import FanfareCore

@testable import FanfareConfiguration
@testable import FanfareProviders

/// The parsers that read what others wrote.
///
/// Beside not crashing, each must keep what it promises about what it took.
enum FuzzedParser: String, CaseIterable {
    case json, condition, template, yaml, rules, apns, fcm, webpush
    case retryAfter = "retry-after"
    case notify

    /// Set once, before the fuzzer runs.
    nonisolated(unsafe) static var chosen = FuzzedParser.json

    func parse(_ bytes: [UInt8]) {
        let text = String(decoding: bytes, as: UTF8.self)
        switch self {
        case .json: Self.json(bytes)
        case .condition: Self.condition(text)
        case .template: Self.template(text)
        case .yaml: _ = try? Configuration.parse(text, named: "fuzz.yaml", directory: "/nonexistent")
        case .rules: _ = try? RulesFile(yaml: text, named: "fuzz.yaml")
        case .apns, .fcm, .webpush: answer(bytes)
        case .retryAfter: Self.retryAfter(text)
        case .notify: Self.notify(text)
        }
    }

    /// What was read is written so that it is read as the same.
    private static func json(_ bytes: [UInt8]) {
        guard let value = try? JSONValue(parsing: bytes) else { return }
        let again = try? JSONValue(parsing: value.encoded)
        precondition(again == value, "JSON is read differently after it was written")
    }

    private static func condition(_ text: String) {
        guard let condition = try? TopicCondition(text) else { return }
        let context = RenderContext(eventID: EventID(rawValue: 1), eventType: "e", payload: JSONObject())
        guard let clauses = try? condition.clauses(context) else { return }
        precondition(clauses.count <= 64, "a condition has too many clauses")
    }

    private static func template(_ text: String) {
        guard let template = try? TextTemplate(text) else { return }
        let payload = (try? JSONValue(parsing: #"{"a": [1, {"b": "<&>"}], "b": true}"#))?.objectValue ?? JSONObject()
        let context = RenderContext(eventID: EventID(rawValue: 1), eventType: "e", payload: payload)
        _ = try? template.text(context)
        _ = try? template.value(context)
    }

    /// The first two bytes are the status, the third asks for `Retry-After`; the verdict is total.
    private func answer(_ bytes: [UInt8]) {
        guard bytes.count >= 3 else { return }
        let status = Int(bytes[0]) << 8 | Int(bytes[1])
        let body = bytes[3...]
        let field = bytes[2] < 128 ? nil : String(decoding: body.prefix(32), as: UTF8.self)
        let marks = RetryHistory.Marks(rawValue: bytes[2])
        let context = AttemptContext(
            history: RetryHistory(marks: marks),
            registeredAt: 1_800_000_000_000_000,
            answeredAt: 1_800_000_100_000_000
        )
        let verdict =
            switch self {
            case .fcm: FCMAnswer(status: status, body: body, retryAfter: field).verdict(in: context)
            case .webpush: WebPushAnswer(status: status, body: body) { _ in field }.verdict(in: context)
            default: APNsAnswer(status: status, body: body, retryAfter: field).verdict(in: context)
            }
        precondition(verdict.outcome != .pending && verdict.outcome != .attempted, "a verdict that is none")
        if case .prune(let evidence) = verdict.disposition {
            let latest = context.answeredAt + Micros.second
            precondition(evidence.registeredUpTo <= latest, "evidence against a registration still to come")
        }
        let decision = RetrySchedule().decide(
            verdict,
            history: context.history,
            deadline: Deadline(createdAt: context.answeredAt, ttl: nil),
            now: context.answeredAt,
            random: 0.5
        )
        if case .again(let at, _, _) = decision { precondition(at >= context.answeredAt, "a retry in the past") }
    }

    private static func retryAfter(_ text: String) {
        guard let wait = RetryAfter.wait(text, now: 1_800_000_000_000_000) else { return }
        precondition(RetryAfter.bounds.contains(wait), "a wait out of bounds")
    }

    /// A payload of a foreign channel, as the listener reads it.
    private static func notify(_ text: String) {
        guard let object = (try? JSONValue(parsing: text))?.objectValue else { return }
        precondition((try? JSONValue(parsing: JSONValue.object(object).encoded)) != nil, "an object that is none")
    }
}

/// libFuzzer's library is linked whole and wants this name, though it is handed what to call.
@_cdecl("LLVMFuzzerTestOneInput")
func fuzzNothing(_: UnsafePointer<UInt8>?, _: Int) -> Int32 { 0 }
