internal import FanfareCore
internal import Threading

/// The pools of all configured apps: one for each app, platform and environment.
final class SenderPools: Sendable {
    private struct Place: Hashable {
        let app: String
        let platform: String
        let environment: String

        init(_ target: Target) {
            app = target.app
            platform = target.platform
            environment = target.environment
        }
    }

    /// The provider's topic of each app.
    let topics: [String: String]
    private let pools: [Place: SenderPool]

    init(
        _ settings: [PoolSettings],
        topics: [String: String],
        context: StageContext,
        recorder: Mailbox<RecorderMessage>
    ) {
        self.topics = topics
        var pools: [Place: SenderPool] = [:]
        for setting in settings {
            pools[Place(setting.target)] = SenderPool(settings: setting, context: context, recorder: recorder)
        }
        self.pools = pools
    }

    /// One stage for each sender thread.
    var stages: [any Stage] { pools.values.flatMap(\.stages) }

    /// Whether this daemon has credentials for a target.
    func serves(_ target: Target) -> Bool { pools[Place(target)] != nil }

    /// How many more batches may be claimed.
    func room(_ target: Target, lane: Int16) -> Int { pools[Place(target)]?.room(lane) ?? 0 }

    /// Hands a batch to its pool.
    func send(_ batch: PreparedBatch) { pools[Place(batch.target)]?.send(batch) }
}
