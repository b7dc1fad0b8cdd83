import PostgresClient
import TestKit
import Testing
import Threading

/// Emits events to an audience, whatever becomes of the database meanwhile.
///
/// Each event has a key, so that one whose COMMIT got no answer is emitted again and still sent once. Waits while
/// daemons have more than they can do soon: what is to be seen is not how they work off hours of backlog.
final class Traffic: Sendable {
    /// Deliveries that may wait; more stop it for a while.
    private static let patience = 20_000
    let audience: Audience
    private let emitted = Locked(0)
    private let commands = Mailbox<Never>()
    private let thread: WorkerThread

    /// Starts to emit.
    ///
    /// - Parameters:
    ///   - audience: who is pushed.
    ///   - url: the database, past all proxies.
    ///   - perSecond: how many events.
    init(to audience: Audience, url: String, perSecond: Int) {
        self.audience = audience
        let (emitted, commands) = (emitted, commands)
        thread = WorkerThread.start(name: "traffic") {
            var connection: PostgresConnection?
            var next = ContinuousClock.now
            // Ends when the mailbox is closed; nothing ever comes in it.
            while commands.take(timeout: max(.zero, next - .now)) != nil {
                // What an outage took is not made up for.
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

    /// How many events were emitted so far.
    var count: Int { emitted.withLock { $0 } }

    /// Stops.
    ///
    /// - Returns: how many events were emitted; they are numbered from 1. A last one may have been emitted and not be
    ///   counted: see ``Rig/settle(_:)``.
    @discardableResult
    func stop() async -> Int {
        commands.close()
        await thread.value()
        return emitted.withLock { $0 }
    }

    /// Emits one event; for the second time it does nothing.
    static func emit(_ number: Int, to audience: Audience, on connection: PostgresConnection) throws {
        _ = try connection.query(
            "SELECT fanfare.emit($1, $2::jsonb, $3)",
            audience.name,
            #"{"n": "\#(number)", "private": "\#(Rig.secret)"}"#,
            "\(audience.name)-\(number)"
        )
    }

    /// How many deliveries are to be sent, those of events that are not yet planned left out.
    private static func waiting(on connection: PostgresConnection) throws -> Int {
        let rows = try connection.query(
            "SELECT coalesce(sum(cardinality(device_ids)), 0)::text FROM fanfare.batches"
        ).rows
        return rows[0][0].flatMap { Int($0) } ?? 0
    }
}
