import Foundation
import PushSandbox

/// Shows pushes as the simulated devices get them.
struct DevTour: Sendable {
    let demo: DevDemo
    let sandbox: PushSandbox
    let console: DevConsole

    /// Pushes of one burst that are shown in full.
    private static let shownAtOnce = 5

    /// Ships an order, shows the push that follows, and does it again on the connection that is open then.
    ///
    /// - Returns: number of the last push that was shown.
    /// - Throws: ``DevError`` if no push arrives.
    func showFirstPush() async throws -> Int {
        let (shipment, push) = try await ship()
        console.sql("INSERT INTO orders (customer_id, total) VALUES ('alice', 42.50);  -- order \(shipment.order)")
        console.sql("UPDATE orders SET status = 'shipped' WHERE id = \(shipment.order);")
        console.line()
        console.push(push)
        console.line()
        let first = milliseconds(shipment, push)
        console.line("  \(first) ms from sending COMMIT to the complete request; this push also opened the connection.")
        let (again, second) = try await ship()
        console.line("  \(milliseconds(again, second)) ms for the next order, on the open connection.")
        #if DEBUG
            console.line("  (Built for debugging; build with -c release to see what it can do.)")
        #endif
        return second.n
    }

    /// Shows what arrives, until the task is cancelled.
    ///
    /// - Parameters:
    ///   - number: of the last push already shown.
    ///   - check: called at least once a second; what it throws ends this.
    /// - Throws: `CancellationError`, and what `check` throws.
    func showPushes(after number: Int, check: () throws -> Void) async throws {
        var last = number
        while true {
            let pushes = try await sandbox.received(after: last, limit: 1000, within: .seconds(1))
            try Task.checkCancellation()
            try check()
            for push in pushes.prefix(Self.shownAtOnce) {
                console.line()
                console.push(push)
            }
            if pushes.count > Self.shownAtOnce {
                console.line("  … and \(pushes.count - Self.shownAtOnce) more at once, up to #\(pushes.last?.n ?? 0)")
            }
            last = pushes.last?.n ?? last
        }
    }

    /// Ships an order and waits for its push.
    private func ship() async throws -> (DevDemo.Shipment, ReceivedPush) {
        var last = sandbox.counts.received
        let demo = demo
        let shipment = try await onThread { try demo.ship() }
        let deadline = ContinuousClock.now + .seconds(15)
        while ContinuousClock.now < deadline {
            try Task.checkCancellation()
            let pushes = try await sandbox.received(after: last, within: .seconds(1))
            if let push = pushes.first(where: { $0.headers["apns-collapse-id"] == "order-\(shipment.order)" }) {
                return (shipment, push)
            }
            last = pushes.last?.n ?? last
        }
        throw DevError(
            description: "No push for order \(shipment.order) arrived within 15 s; the daemon's log says why."
        )
    }

    private func milliseconds(_ shipment: DevDemo.Shipment, _ push: ReceivedPush) -> String {
        let microseconds = Int64(push.atNanoseconds / 1000) - shipment.committedAt
        return String(format: "%.1f", Double(microseconds) / 1000)
    }
}
