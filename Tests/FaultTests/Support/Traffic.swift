import PostgresClient
import TestKit
import Testing
import Threading

/// Emits events to an audience, and continues after outages of the database.
///
/// Each event has a key, so that one whose COMMIT had no response is emitted again and still sent once. It pauses while
/// the daemons have a large backlog, because the tests do not measure how they work off hours of it.
final class Traffic: Sendable {
    /// The number of pending deliveries above which it pauses.
    private static let patience = 20_000
    let audience: Audience
    private let emitted = Locked(0)
    private let commands = Mailbox<Never>()
    private let thread: WorkerThread

    /// Starts to emit.
    ///
    /// - Parameters:
    ///   - audience: the audience.
    ///   - url: the database's URL, bypassing all proxies.
    ///   - perSecond: the events per second.
    init(to audience: Audience, url: String, perSecond: Int) {
        self.audience = audience
        let (emitted, commands) = (emitted, commands)
        thread = WorkerThread.start(name: "traffic") {
            var connection: PostgresConnection?
            var next = ContinuousClock.now
            // Ends when the mailbox is closed; no command is ever sent.
            while commands.take(timeout: max(.zero, next - .now)) != nil {
                // Events missed during an outage are not made up for.
                next = max(next, .now) + .milliseconds(1000 / perSecond)
                let number = emitted.withLock { $0 } + 1
                do {
                    let open = try connection ?? .open(PostgresOptions(url: url, applicationName: "traffic"))
                    connection = open
                    if number % perSecond == 0, try Self.waiting(on: open) > Self.patience { continue }
                    try Self.emit(number, to: audience, on: open)
                    emitted.withLock { $0 = number }
                } catch {
                    connection = nil
                }
            }
        }
    }

    /// The number of events emitted so far.
    var count: Int { emitted.withLock { $0 } }

    /// Stops the traffic.
    ///
    /// - Returns: the number of emitted events, numbered from 1. One more may have been emitted without being counted:
    ///   see ``Rig/settle(_:)``.
    @discardableResult
    func stop() async -> Int {
        commands.close()
        await thread.value()
        return emitted.withLock { $0 }
    }

    /// Emits one event; a second call has no effect.
    static func emit(_ number: Int, to audience: Audience, on connection: PostgresConnection) throws {
        _ = try connection.query(
            "SELECT fanfare.emit($1, $2::jsonb, $3)",
            audience.name,
            #"{"n": "\#(number)", "private": "\#(Rig.secret)"}"#,
            "\(audience.name)-\(number)"
        )
    }

    /// Returns the number of pending deliveries, without those of unplanned events.
    private static func waiting(on connection: PostgresConnection) throws -> Int {
        let rows = try connection.query(
            "SELECT coalesce(sum(cardinality(device_ids)), 0)::text FROM fanfare.batches"
        ).rows
        return rows[0][0].flatMap { Int($0) } ?? 0
    }
}
