internal import FanfareCore
internal import FanfareProviders
internal import FanfareStages
internal import FanfareStore
internal import Logging
internal import PostgresClient
internal import Threading

/// Looks at the database for the whole daemon: reads the orders that changed, and wakes the stages that have work.
///
/// While it looks, the other stages need not ask the database themselves (``StageContext/sleep(_:on:atMost:)``).
struct Lookout {
    private let context: StageContext
    private let bells: StageBells
    private let orders: Orders
    private let fuses: PruneFuses
    private var cancelsSince: String
    private var preferencesSince: String
    /// The hash of the orders that were read.
    private var known: Int64?
    /// The step of the clock for which the scheduler was woken.
    private var stepAt: Microseconds?

    /// Reads fuses and policies, which apply to what is claimed later, and notes which cancellations are known by then.
    init(_ stage: Controller, on connection: PostgresConnection) throws(PostgresError) {
        (context, bells, orders, fuses) = (stage.context, stage.bells, stage.orders, stage.fuses)
        try FuseSync(fuses, logger: context.logger).synchronize(on: connection)
        guard let cancels = try connection.run(NewCancels(since: nil)).first,
            let preferences = try connection.run(SQL.newPreferences(nil)).first
        else { throw PostgresError(.protocolMismatch, message: "the server has no snapshot") }
        (cancelsSince, preferencesSince) = (cancels.seen, preferences.seen)
        _ = try readPolicies(on: connection)
    }

    /// Looks once, by a single statement unless something changed.
    mutating func look(for owner: Int32, on connection: PostgresConnection) throws(PostgresError) {
        let start = Clocks.steady
        guard let sight = try connection.run(SQL.lookAround(cancelsSince, preferencesSince, owner)).first else {
            return
        }
        let areNew = sight.orders != known
        if sight.hasCancels {
            let rows = try connection.run(NewCancels(since: cancelsSince))
            orders.cancels.add(rows.compactMap(\.fact))
            if let seen = rows.first?.seen { cancelsSince = seen }
        }
        if areNew, orders.replace(gates: try connection.run(LiveGates())) { bells.claim.ring() }
        context.lease.cancelsRead(startedAt: start)
        if sight.hasPreferences {
            let rows = try connection.run(SQL.newPreferences(preferencesSince))
            orders.said(in: rows.compactMap(\.app))
            if let seen = rows.first?.seen { preferencesSince = seen }
        }
        if areNew, try readPolicies(on: connection) { bells.claim.ring() }
        if areNew || !fuses.unstored.isEmpty {
            try FuseSync(fuses, logger: context.logger).synchronize(on: connection)
        }
        known = sight.orders
        // Maintenance acts on cancellations and gates too.
        if sight.hasUpkeep || sight.hasCancels || areNew { bells.ringForUpkeep() }
        if context.status.plans(sight.hasPlans) { bells.ringForPlans() }
        let step = context.lease.clockStep?.noticedAt
        if sight.hasSchedule || step != stepAt { bells.schedule.ring() }
        // The claimer sleeps longer while this daemon is alone.
        if context.status.others(sight.hasOthers) { bells.claim.ring() }
        stepAt = step
    }

    /// Reads the rates and quiet hours of apps' policies, and which of their pushes have handles.
    ///
    /// - Returns: whether rates changed, so that batches have to be claimed differently.
    private func readPolicies(on connection: PostgresConnection) throws(PostgresError) -> Bool {
        let (rates, quiet) = try connection.run(SQL.liveRates(), SQL.liveQuiet())
        let reports = try connection.run(SQL.liveReports()).first
        orders.replace(
            reportKey: reports.flatMap { ReportKey(id: $0.keyID, secret: $0.secret) },
            apps: reports?.apps ?? []
        )
        return orders.replace(rates: rates, quiet: quiet)
    }
}
