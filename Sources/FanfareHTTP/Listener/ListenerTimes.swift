internal import NIOCore
internal import Threading

/// The listener's timeouts, its file check interval and its clock; tests replace them.
package struct ListenerTimes: Sendable {
    /// The values in production.
    package static let standard = ListenerTimes()

    /// How long the head of a request may take, including the TLS handshake and idle time.
    var head = RequestDeadline.head
    /// How long a body may take after its head.
    var body = RequestDeadline.body
    /// How long the pending bytes of a connection may exceed its write limit.
    var answer = AnswerDeadline.answer
    /// The same limit while the server shuts down.
    var farewell = AnswerDeadline.farewell
    /// How long a shutdown waits for requests in progress.
    var drain = AnswerDeadline.drain
    /// How often files are checked for changes.
    package var reread = Duration.seconds(1)
    /// Seconds since 1970.
    package var now: @Sendable () -> Int64 = { Clocks.wallSeconds }
}
