import Foundation
import PushSandbox

/// Shows pushes as the simulated devices receive them.
struct DevTour: Sendable {
    let demo: DevDemo
    let sandbox: PushSandbox
    let console: DevConsole

    /// The number of pushes of a burst that are shown in full.
    private static let shownAtOnce = 5

    /// Ships an order, shows its pushes, and repeats it on the connections that are then open.
    ///
    /// - Returns: the number of the last push shown.
    /// - Throws: ``DevError`` if a push does not arrive.
    func showFirstPushes() async throws -> Int {
        let (shipment, pushes) = try await ship()
        console.sql("INSERT INTO orders (customer_id, total) VALUES ('alice', 42.50);  -- order \(shipment.order)")
        console.sql("UPDATE orders SET status = 'shipped' WHERE id = \(shipment.order);")
        console.line()
        for push in pushes {
            console.push(push)
            console.line()
        }
        console.line(
            "  \(milliseconds(shipment, pushes)) from sending COMMIT to the complete requests, which also opened the connections."
        )
        let (again, second) = try await ship()
        console.line("  \(milliseconds(again, second)) for the next order, on open connections.")
        #if DEBUG
            console.line("  (Built for debugging; deploy/release.sh builds one to see what it can do.)")
        #endif
        return second.map(\.n).max() ?? 0
    }

    /// Shows pushes as they arrive, until the task is cancelled.
    ///
    /// - Parameters:
    ///   - number: the number of the last push already shown.
    ///   - check: called at least once a second; its error ends the loop.
    /// - Throws: `CancellationError`, and the error of `check`.
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

    /// Ships an order and waits for its pushes, one at each provider.
    private func ship() async throws -> (DevDemo.Shipment, [ReceivedPush]) {
        var last = sandbox.counts.received
        let demo = demo
        let shipment = try await onThread { try demo.ship() }
        var found: [String: ReceivedPush] = [:]
        let deadline = ContinuousClock.now + .seconds(15)
        while ContinuousClock.now < deadline {
            try Task.checkCancellation()
            let pushes = try await sandbox.received(after: last, within: .seconds(1))
            for push in pushes where push.body?.contains("Order \(shipment.order) is on its way") ?? false {
                found[push.provider] = push
            }
            let inOrder = PushSandbox.providers.compactMap { found[$0] }
            if inOrder.count == PushSandbox.providers.count { return (shipment, inOrder) }
            last = pushes.last?.n ?? last
        }
        throw DevError(
            description: "Not all pushes for order \(shipment.order) arrived within 15 s; the daemon's log says why."
        )
    }

    /// Returns the latency of each push, such as `3.1, 3.4 and 4.0 ms`.
    private func milliseconds(_ shipment: DevDemo.Shipment, _ pushes: [ReceivedPush]) -> String {
        let times = pushes.map { push in
            String(format: "%.1f", Double(Int64(push.atNanoseconds / 1000) - shipment.committedAt) / 1000)
        }
        return times.dropLast().joined(separator: ", ") + " and \(times.last ?? "") ms"
    }
}
