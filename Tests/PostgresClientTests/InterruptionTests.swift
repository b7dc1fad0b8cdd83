import Foundation
import PostgresClient
import TestKit
import Testing
import Threading

@Suite(.timeLimit(.minutes(5))) struct InterruptionTests {
    /// Runs `body` while another thread's session is stuck on an advisory lock that this one holds.
    private func whileBlocked(
        lock: Int,
        adjust: (inout PostgresOptions) -> Void = { _ in },
        _ interrupt: @Sendable @escaping (PostgresConnection, PostgresWatch, Int32) throws -> Void
    ) async throws -> PostgresError? {
        var options = try await sharedOptions()
        let holderOptions = options
        adjust(&options)
        let blockedOptions = options
        return try await onThread("holder") {
            let holder = try PostgresConnection.open(holderOptions)
            try holder.execute("SELECT pg_catalog.pg_advisory_lock(\(lock))")
            let started = Mailbox<(PostgresWatch, Int32)>()
            let failure = Locked<PostgresError?>(nil)
            let blocked = WorkerThread.start(name: "blocked") {
                do throws(PostgresError) {
                    let connection = try PostgresConnection.open(blockedOptions)
                    started.put((connection.watch, connection.backendPID))
                    try connection.execute("SELECT pg_catalog.pg_advisory_lock(\(lock))")
                } catch {
                    failure.withLock { $0 = error }
                }
                started.close()
            }
            let (watch, backendPID) = try #require(started.take()?.first)
            try holder.waitUntilBlocked(backendPID)
            try interrupt(holder, watch, backendPID)
            blocked.join()
            return failure.withLock { $0 }
        }
    }

    @Test func aCancelledStatementLeavesTheSession() async throws {
        let error = try await whileBlocked(lock: 1) { holder, _, backendPID in
            try holder.execute("SELECT pg_catalog.pg_cancel_backend(\(backendPID))")
        }
        #expect(error?.code == .cancelled)
        #expect(error?.sqlState == "57014")
        #expect(error?.isConnectionLost == false)
    }

    @Test func abandoningNeedsNoServer() async throws {
        let error = try await whileBlocked(lock: 2) { _, watch, _ in watch.abandon() }
        #expect(error?.code == .cancelled)
        #expect(error?.sqlState == nil)
    }

    @Test func aTerminatedSessionIsLost() async throws {
        let error = try await whileBlocked(lock: 3) { holder, _, backendPID in
            try holder.execute("SELECT pg_catalog.pg_terminate_backend(\(backendPID))")
        }
        #expect(error?.code == .connectionLost)
        #expect(error?.sqlState == "57P01")
        #expect(error?.isConnectionLost == true)
        #expect(error?.isTransient == true)
    }

    @Test func aServerThatDoesNotAnswerIsLost() async throws {
        let error = try await whileBlocked(lock: 4, adjust: { $0.responseTimeout = .milliseconds(300) }) { _, _, _ in }
        #expect(error?.code == .connectionLost)
        #expect(error?.isUnanswered == true)
    }

    @Test func statementTimeoutIsNeitherLostNorTransient() async throws {
        let connection = try await connect(.plain.setting("statement_timeout", to: "20ms"))
        let error = #expect(throws: PostgresError.self) { try connection.execute("SELECT pg_catalog.pg_sleep(30)") }
        #expect(error?.isCancelled == true)
        #expect(error?.isTransient == false)
        #expect(try connection.text("SELECT 1") == "1")
    }

    @Test func afterwardsEveryCallSaysLost() async throws {
        let connection = try await connect()
        let other = try await connect()
        try other.execute("SELECT pg_catalog.pg_terminate_backend(\(connection.backendPID), 10000)")
        let first = #expect(throws: PostgresError.self) { try connection.execute("SELECT 1") }
        #expect(first?.code == .connectionLost)
        let second = #expect(throws: PostgresError.self) { try connection.text("SELECT 1") }
        #expect(second?.code == .connectionLost)
        #expect(connection.isClosed)
    }

    @Test func aClosedConnectionSaysSo() async throws {
        let connection = try await connect()
        let watch = connection.watch
        connection.close()
        connection.close()
        #expect(connection.isClosed)
        #expect(throws: PostgresError.self) { try connection.execute("SELECT 1") }
        #expect(throws: PostgresError.self) { try connection.notifications(timeout: .zero) }
        // It may be used after the connection is closed, without effect.
        watch.abandon()
    }
}

@Suite(.timeLimit(.minutes(5))) struct NotificationTests {
    private func channel() -> String { "Test " + UUID().uuidString }

    @Test func notificationsWake() async throws {
        let (options, channel) = (try await sharedOptions(), channel())
        let received = try await onThread {
            let listener = try PostgresConnection.open(options)
            let sender = try PostgresConnection.open(options)
            try listener.listen(to: channel)
            let notify = WorkerThread.start(name: "notify") { [pid = listener.backendPID] in
                let waiting = "SELECT state = 'idle' FROM pg_catalog.pg_stat_activity WHERE pid = \(pid)"
                guard let connection = try? PostgresConnection.open(options) else { return }
                try? connection.waitUntil(waiting)
                try? connection.execute("NOTIFY \"\(channel)\", 'späte Post'; NOTIFY \"\(channel)\"")
            }
            var received: [PostgresNotification] = []
            while received.count < 2 { received += try listener.notifications() }
            notify.join()
            sender.close()
            return received
        }
        #expect(received.map(\.channel) == [channel, channel])
        #expect(received.map(\.payload) == ["späte Post", ""])
    }

    @Test func thoseDuringAStatementAreKept() async throws {
        let (connection, channel) = (try await connect(), channel())
        try connection.listen(to: channel)
        try connection.execute("NOTIFY \"\(channel)\", 'own'")
        #expect(try connection.text("SELECT 1") == "1")
        let received = try connection.notifications(timeout: .zero)
        #expect(received.map(\.payload) == ["own"])
        #expect(received.map(\.senderPID) == [connection.backendPID])
        #expect(try connection.notifications(timeout: .zero).isEmpty)
    }

    @Test func anEchoComesBackToWhoListens() async throws {
        let (connection, own, other) = (try await connect(), channel(), channel())
        #expect(try !connection.echo(on: own, within: .zero).isHeard)
        for name in [own, other] { try connection.listen(to: name) }
        try connection.execute("NOTIFY \"\(other)\"")
        let echo = try connection.echo(on: own, within: .zero)
        #expect(echo.isHeard)
        #expect(echo.others.map(\.channel) == [other])
        #expect(try connection.notifications(timeout: .zero).isEmpty, "its own is not heard again")
    }

    @Test func theSignalWakes() async throws {
        let options = try await sharedOptions()
        let woken = try await onThread {
            let connection = try PostgresConnection.open(options)
            let signal = WakeSignal()
            let waker = WorkerThread.start(name: "waker") { signal.wake() }
            let received = try connection.notifications(alsoWake: signal)
            waker.join()
            return received.isEmpty && !signal.consume()
        }
        #expect(woken)
    }

    @Test func aWakeBeforeTheSleepIsNotLost() async throws {
        let connection = try await connect()
        let signal = WakeSignal()
        signal.wake()
        signal.wake()
        #expect(try connection.notifications(alsoWake: signal).isEmpty)
        #expect(!signal.consume())
        #expect(try connection.notifications(timeout: .milliseconds(1), alsoWake: signal).isEmpty)
    }

    @Test func theEndOfTheConnectionEndsTheWait() async throws {
        let options = try await sharedOptions()
        let error = try await onThread {
            let listener = try PostgresConnection.open(options)
            try listener.listen(to: "any")
            let killer = try PostgresConnection.open(options)
            try killer.execute("SELECT pg_catalog.pg_terminate_backend(\(listener.backendPID))")
            return #expect(throws: PostgresError.self) { try listener.notifications() }
        }
        #expect(error?.code == .connectionLost)
    }

    @Test func abandoningEndsTheWait() async throws {
        let connection = try await connect()
        connection.watch.abandon()
        let error = #expect(throws: PostgresError.self) { try connection.notifications() }
        #expect(error?.code == .cancelled)
    }
}
