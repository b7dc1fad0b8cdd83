import PostgresClient
import TestKit
import Testing

extension Rig {
    /// Waits while a fault lasts, not for a condition.
    func hold(seconds: Double) async throws {
        try await Task.sleep(for: .seconds(seconds))
    }

    /// Waits until the provider has received a number of further requests.
    func pushes(moreThan count: Int, seconds: Int = 60) async throws {
        let now = try await sandbox.awaitCounts().received
        let reached = try await sandbox.awaitCounts(received: now + count, seconds: seconds).received
        try #require(reached >= now + count, "pushes go on")
    }

    /// Pushes to an audience, plays a fault, and audits the deliveries.
    ///
    /// - Parameters:
    ///   - fault: the fault's name in the report.
    ///   - devices: the number of devices that get each of the twenty events a second.
    ///   - provider: `apns` or `fcm`.
    ///   - more: further text for the report.
    ///   - harm: plays and ends the fault; returns the time from which the first push counts.
    /// - Returns: the audit, and the milliseconds from that time to the first push of an event that was emitted after
    ///   the fault began.
    @discardableResult
    func under(
        _ fault: String,
        devices: Int = 20,
        provider: String = "apns",
        rule: String = "",
        more: () -> String = { "" },
        _ harm: (Audience) async throws -> UInt64
    ) async throws -> (audit: DeliveryAudit, firstPush: Int?) {
        try await serve(3)
        let name = fault.filter { $0.isLetter || $0.isNumber }.lowercased() + "-\(random(0...999_999))"
        let audience = try await audience(name, devices: devices, provider: provider, rule)
        let traffic = traffic(to: audience, perSecond: 20)
        try await pushes(moreThan: 10 * devices)
        let before = traffic.count
        let moment = try await harm(audience)
        try await pushes(moreThan: 10 * devices)
        let events = try await settle(traffic, seconds: Soak.choose(120, soak: 900))
        let audit = try await audit(audience, events: events)
        let firstPush = try await millisecondsToFirstPush(after: moment, of: audience) { $0.delivery.event > before }
        audit.report(
            fault,
            [firstPush.map { "first new push after \($0) ms" } ?? "", more()].filter { !$0.isEmpty }.joined(
                separator: ", "
            )
        )
        audit.expectNothingLost(fault)
        return (audit, firstPush)
    }
}
