import ArgumentParser
import FanfareConfiguration
import FanfareCore
import FanfareRecords
import FanfareService
import FanfareTools

/// `fanfare emit`: emits one event, or schedules it.
struct Emit: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Emit an event, now or later, and print its id.")

    @OptionGroup(title: GlobalOptions.title) var options: GlobalOptions

    @Argument(help: "The event's type, such as order.shipped.")
    var type: String

    @Argument(help: "The payload, a JSON object; - reads it from standard input.")
    var payload = "{}"

    @Option(help: "The idempotency key: the same type and key again is not sent again.")
    var key: String?

    @Option(help: "How long it may be delivered: 90s, 15m, 4h, 7d.")
    var ttl: TimeSpan?

    @Option(help: "When it is due: 2026-12-24T18:00:00Z, or a duration from now such as 4h.")
    var at: String?

    @Option(help: "Whose clocks show --at, as 2026-12-24T18:00: a zone such as Europe/Madrid, or recipient.")
    var zone: String?

    @Flag(help: "Replace the event that is scheduled with the same type and key.")
    var replace = false

    @Option(help: "The trace that it is a part of, as a W3C traceparent; an invalid one is ignored.")
    var traceparent: String?

    func validate() throws {
        guard at != nil || zone == nil && !replace else {
            throw ValidationError("--zone and --replace are only for an event with --at")
        }
    }

    func run() async throws {
        let payload = try StandardInput.text(for: payload)
        let trace = traceparent.flatMap { TraceContext(traceparent: $0) }
        let id = try await options.withDatabase { database throws(ToolError) in
            let due = at.map { DueTime($0, zone: zone, replaces: replace) }
            return try await database.emit(type: type, payload: payload, key: key, ttl: ttl, trace: trace, due: due)
        }
        try options.show([at == nil ? "event_id" : "scheduled_id": .number(JSONNumber(id))], "\(id)")
    }
}
