internal import FanfareCore
internal import FanfareHTTP
internal import FanfareTools
internal import HummingbirdCore
internal import NIOCore
internal import PostgresClient

/// A stream of log lines for one reader: server-sent events.
struct TailStream: AnswerStream {
    /// How long a stream lasts; afterwards the client reconnects and continues after the last line.
    static let lifetime = Duration.seconds(1800)
    /// How long a stream may be silent before a comment is sent, which detects a closed connection.
    static let silence = Duration.seconds(15)

    let hub: TailHub
    let filter: LogTail.Filter
    /// The position to continue after; nil for new lines.
    let after: TailPlace?
    /// Counts towards the token's open streams while this value lives.
    let slot: StreamSlot

    /// Writes lines until the client disconnects, the lifetime ends or the server stops.
    ///
    /// - Parameter writer: receives the body.
    /// - Throws: errors of the connection.
    @concurrent func write(to writer: inout any ResponseBodyWriter) async throws {
        let (bell, start) = hub.follow(behind: after)
        var cursor = TailCursor(filter, behind: start)
        let end = ContinuousClock.now + Self.lifetime
        var last = ContinuousClock.now
        try await writer.write(ByteBuffer(string: "retry: 2000\n\n"))
        for await _ in bell {
            while !hub.isStopped, ContinuousClock.now < end, let news = hub.read({ cursor.next(in: $0) }) {
                let text = Self.text(news)
                guard !text.isEmpty else { continue }
                try await writer.write(ByteBuffer(string: text))
                last = .now
            }
            guard ContinuousClock.now < end else { break }
            if ContinuousClock.now - last > Self.silence {
                // The position spares a client that reconnects the lines that its filter has already skipped.
                let place = cursor.place.map { "id: \($0)\n" } ?? ""
                try await writer.write(ByteBuffer(string: ": nothing came\n\(place)\n"))
                last = .now
            }
        }
        try await writer.write(
            ByteBuffer(string: "event: end\ndata: {\"reason\": \"half an hour has passed, or the daemon stops\"}\n\n")
        )
    }

    private static func text(_ news: TailCursor.News) -> String {
        switch news {
        case .lines(let lines): lines.map { "id: \($0.place)\ndata: \($0.entry.text)\n\n" }.joined()
        case .gap(let after, let until):
            """
            event: gap
            data: {"after":"\(Timestamp(microseconds: after).rfc3339)","until":"\(Timestamp(microseconds: until).rfc3339)",\
            "hint":"lines in between are missing: use fanfare tail --since, or fanfare.events and fanfare.deliveries"}


            """
        }
    }
}
