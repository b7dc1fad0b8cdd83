package import FanfareConfiguration
internal import FanfareLogging
internal import FanfareProviders
internal import HTTP2Client
package import Logging
package import Threading

/// The number of file descriptors that a daemon can have open at once.
///
/// A sender, a database session or a provider connection that gets no descriptor waits and retries.
package struct DescriptorNeed: Equatable {
    /// Standard streams, the runtime's own descriptors, and files while they are read.
    private static let base = 32

    /// The maximum, with all configured senders, sessions and connections in use.
    package let count: Int

    /// Computes the maximum for a configuration.
    package init(_ configuration: Configuration) {
        let send = configuration.send
        let threads = max(1, min(send.threads, send.connections))
        // While an old connection drains, its successor is already open.
        let connections = 2 * max(1, send.connections / threads)
        // A poller and two wakers per thread.
        let pool = threads * (3 + connections)
        // Each origin needs a socket and libcurl's own waker.
        let origins = threads * (2 + 2 * Self.origins)
        let costs = DescriptorCosts(pool: pool, origins: origins)
        let apps = configuration.apps.values.reduce(0) { sum, app in
            sum + Providers.all.filter { $0.serves(app) }.reduce(0) { $0 + $1.descriptors(costs) }
        }
        // `database.connections` does not include the 10 sessions of control, the scheduler, foreign channels,
        // badge_sql, users_sql (4) and campaigns' queries (2). Each session has a signal descriptor beside its socket.
        let sessions = 2 * (configuration.database.connections + 10)
        let api = configuration.api
        let asked =
            (api.listen == nil ? 0 : api.connections + 2 * api.sessions + 16)
            + (api.healthListen == nil ? 0 : Configuration.API.healthConnections + 8)
        // A session, and for each hook a client with its waker, a socket, and libcurl's own waker.
        let hooks = configuration.feedback.isEmpty ? 0 : 2 + 3 * configuration.feedback.count
        count = Self.base + sessions + apps + asked + hooks
    }

    /// The number of connections that one thread has to all hosts of a provider together.
    private static let origins = MultiOriginOptions.standardConnections

    /// Logs the need and the limit; warns if the limit is too low.
    package func log(_ limit: DescriptorLimit, to logger: Logger) {
        let metadata = Logger.Metadata([.descriptorsNeeded: "\(count)", .descriptorLimit: "\(limit.soft)"])
        guard limit.soft < UInt64(count) else {
            return logger.info("file descriptor limit OK", metadata: metadata)
        }
        logger.warning(
            "file descriptor limit too low; requests without a descriptor are retried",
            metadata: metadata
        )
    }
}
