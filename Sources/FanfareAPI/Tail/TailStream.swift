internal import FanfareCore
internal import FanfareTools
internal import HummingbirdCore
internal import NIOCore
internal import PostgresClient
internal import Threading

/// What a viewer of the logs is sent: server-sent events.
struct TailStream: AnswerStream {
    /// How long a stream lasts; then the client asks again, behind the last line.
    static let lifetime = Duration.seconds(1800)
    /// Lines of before that are sent first, at most.
    static let catchUpLimit = 10_000

    let hub: TailHub
    let database: ToolDatabase
    let filter: LogTail.Filter
    /// Behind which time to go on, in microseconds since 1970; nil for now.
    let after: Int64?

    /// Writes until the viewer goes, is too slow, or the server stops.
    ///
    /// - Parameter writer: where to.
    /// - Throws: what the connection says.
    @concurrent func write(to writer: inout any ResponseBodyWriter) async throws {
        // Followed first, so that nothing falls between: what is there twice comes twice.
        let live = hub.follow(filter)
        let end = ContinuousClock.now + Self.lifetime
        try await writer.write(ByteBuffer(string: "retry: 2000\n\n"))
        if let after {
            for line in try await earlier(after) { try await writer.write(ByteBuffer(string: Self.event(line))) }
        }
        for await signal in live {
            switch signal {
            case .lines(let lines): try await writer.write(ByteBuffer(string: lines.map(Self.event).joined()))
            case .quiet: try await writer.write(ByteBuffer(string: ": nothing came\n\n"))
            }
            if ContinuousClock.now > end { return }
        }
        try await writer.write(
            ByteBuffer(string: "event: end\ndata: {\"reason\": \"too slow, or the daemon stops\"}\n\n")
        )
    }

    private static func event(_ line: TailLine) -> String {
        "id: \(line.place)\ndata: \(line.json.text)\n\n"
    }

    private func earlier(_ after: Int64) async throws -> [TailLine] {
        var filter = filter
        filter.since = Since(Timestamp(microseconds: after).rfc3339)
        let found = Locked<Result<[TailLine], any Error>>(.success([]))
        let thread = WorkerThread.start(name: "api tail") { [filter, database] in
            let result = Result { () throws -> [TailLine] in
                let tail = try database.tail(filter)
                var lines: [TailLine] = []
                while lines.count < Self.catchUpLimit {
                    let more = try tail.next()
                    guard !more.isEmpty else { break }
                    lines += more.filter { $0.place > after }
                }
                return lines
            }
            found.withLock { $0 = result }
        }
        await thread.value()
        return try found.withLock { $0 }.get()
    }
}
