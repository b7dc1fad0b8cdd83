package import PushTransport

/// The means to send for one app to one environment of a provider.
package struct ProviderPool: Sendable {
    /// `production` or `sandbox`.
    package let environment: String
    /// The provider-specific part: credentials, requests, answers.
    package let access: any ProviderAccess
    /// Whether requests go to many origins, which each names.
    package let hasManyOrigins: Bool
    /// Makes the transport of one thread, on that thread.
    package let makeTransport: @Sendable () throws -> any PushTransport

    /// Makes a pool.
    package init(
        environment: String,
        access: any ProviderAccess,
        hasManyOrigins: Bool = false,
        makeTransport: @escaping @Sendable () throws -> any PushTransport
    ) {
        (self.environment, self.access) = (environment, access)
        (self.hasManyOrigins, self.makeTransport) = (hasManyOrigins, makeTransport)
    }
}

/// The senders of an app at one provider.
package struct ProviderSenders: Sendable {
    /// The app's identity at the provider.
    package let identity: ProviderIdentity
    /// The pools, one for each environment.
    package let pools: [ProviderPool]

    /// Makes senders from pools.
    package init(_ pools: [ProviderPool], identity: ProviderIdentity = ProviderIdentity()) {
        (self.pools, self.identity) = (pools, identity)
    }
}

/// The file descriptors that the senders of one app may open.
package struct DescriptorCosts {
    /// The descriptors of a pool with one endpoint, for all its threads.
    package let pool: Int
    /// The descriptors of a pool with many endpoints, for all its threads.
    package let origins: Int

    /// Makes the costs.
    package init(pool: Int, origins: Int) {
        (self.pool, self.origins) = (pool, origins)
    }
}
