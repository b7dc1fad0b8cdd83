package import FanfareConfiguration
internal import FanfareLogging
internal import FanfareProviders
internal import HTTP2Client
package import Logging
package import Threading

/// How many file descriptors a daemon can have open at once, and how many it may.
///
/// What gets none waits and is tried again: a sender, a session of the database, a connection to a provider.
package struct DescriptorNeed: Equatable {
    /// Standard streams, the runtime's own, and files while they are read.
    private static let base = 32

    /// At most, with everything at work that is configured.
    package let count: Int

    /// Counts what a configuration can lead to.
    package init(_ configuration: Configuration) {
        let send = configuration.send
        let threads = max(1, min(send.threads, send.connections))
        // An old connection is drained while its successor is there.
        let connections = 2 * max(1, send.connections / threads)
        // A poller and two wakers; over libcurl one waker, and one in each connection.
        let isEngine = ProviderTransports(send).kind == .engine
        let pool = threads * (isEngine ? 3 + connections : 1 + 2 * connections)
        // For each origin a client with its waker, its socket, and libcurl's own waker.
        let origins = threads * (2 + 3 * Self.origins)
        let costs = DescriptorCosts(pool: pool, origins: origins)
        let apps = configuration.apps.values.reduce(0) { sum, app in
            sum + Providers.all.filter { $0.serves(app) }.reduce(0) { $0 + $1.descriptors(costs) }
        }
        // Control, the scheduler, foreign channels, badge_sql, the four of users_sql and the two of campaigns' queries come on top;
        // each session has a signal beside its socket.
        let sessions = 2 * (configuration.database.connections + 10)
        let api = configuration.api
        let asked =
            (api.listen == nil ? 0 : api.connections + 2 * api.sessions + 16)
            + (api.healthListen == nil ? 0 : Configuration.API.healthConnections + 8)
        // A session, and for each hook a client with its waker, a socket, and libcurl's own waker.
        let hooks = configuration.feedback.isEmpty ? 0 : 2 + 4 * configuration.feedback.count
        count = Self.base + sessions + apps + asked + hooks
    }

    /// Connections that one thread has to all hosts of a provider together.
    private static let origins = MultiOriginOptions.standardConnections

    /// Says what is needed and what there is.
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
