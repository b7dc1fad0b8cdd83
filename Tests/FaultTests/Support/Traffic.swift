import Foundation
import PostgresClient
import TestKit
import Threading

/// Devices of one test, and a rule that pushes all of them at each of its events.
struct Audience: Sendable {
    /// Name of the event type, the rule and the topic.
    let name: String
    /// Beginning of all its tokens.
    let prefix: String
    let tokens: [String]
}

/// Emits events to an audience, whatever becomes of the database meanwhile.
///
/// Each event has a key, so that one whose COMMIT got no answer is emitted again and still sent once.
final class Traffic: Sendable {
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
            // Ends when the mailbox is closed; nothing ever comes in it.
            while commands.take(timeout: .milliseconds(1000 / perSecond)) != nil {
                let number = emitted.withLock { $0 } + 1
                do {
                    let open = try connection ?? .open(PostgresOptions(url: url, applicationName: "traffic"))
                    connection = open
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
}
