import ArgumentParser
import FanfareConfiguration
import FanfareCore
import FanfareService
import FanfareTools

/// `fanfare emit`: emits one event.
struct Emit: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Emit an event and print its id.")

    @OptionGroup(title: GlobalOptions.title) var options: GlobalOptions

    @Argument(help: "The event's type, such as order.shipped.")
    var type: String

    @Argument(help: "The payload, a JSON object; - reads it from standard input.")
    var payload = "{}"

    @Option(help: "The idempotency key: the same type and key again is not sent again.")
    var key: String?

    @Option(help: "How long it may be delivered: 90s, 15m, 4h, 7d.")
    var ttl: TimeSpan?

    @Option(help: "The trace that it is a part of, as a W3C traceparent; an invalid one is ignored.")
    var traceparent: String?

    func run() async throws {
        let payload = try StandardInput.text(for: payload)
        let trace = traceparent.flatMap { TraceContext(traceparent: $0) }
        let id = try await options.withDatabase { database throws(ToolError) in
            try await database.emit(type: type, payload: payload, key: key, ttl: ttl, trace: trace)
        }
        try options.show(["event_id": .number(JSONNumber(id))], "\(id)")
    }
}
