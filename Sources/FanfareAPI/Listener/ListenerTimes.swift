internal import NIOCore
internal import Threading

/// How long things may take, and what time it is; tests have it otherwise.
struct ListenerTimes: Sendable {
    /// How long the head of a request may take, TLS and idling included.
    var head = RequestDeadline.head
    /// How long a body may take after its head.
    var body = RequestDeadline.body
    /// How long what waits to be read may be more than is kept for a connection.
    var answer = AnswerDeadline.answer
    /// The same for a server that drains.
    var farewell = AnswerDeadline.farewell
    /// How long a server that drains waits for what was begun.
    var drain = AnswerDeadline.drain
    /// How often files are looked at that may have changed.
    var reread = Duration.seconds(1)
    /// Seconds since 1970.
    var now: @Sendable () -> Int64 = { Clocks.wallSeconds }
}
