package import PushTransport

/// How to reach one app's provider in one environment.
package struct ProviderPool: Sendable {
    /// `production` or `sandbox`.
    package let environment: String
    /// Credentials, requests, answers.
    package let access: any ProviderAccess
    /// Whether requests name the origins that they go to.
    package let hasManyOrigins: Bool
    /// Makes one thread's transport, on that thread.
    package let makeTransport: @Sendable () throws -> any PushTransport

    /// Describes a pool.
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

/// What an app's credentials become at one provider.
package struct ProviderSenders: Sendable {
    /// What the app is called there.
    package let identity: ProviderIdentity
    /// One for each environment.
    package let pools: [ProviderPool]

    /// Puts pools together.
    package init(_ pools: [ProviderPool], identity: ProviderIdentity = ProviderIdentity()) {
        (self.pools, self.identity) = (pools, identity)
    }
}

/// What the senders of one app's provider can have open, in file descriptors.
package struct DescriptorCosts {
    /// All threads of a pool with one endpoint.
    package let pool: Int
    /// All threads of a pool with many.
    package let origins: Int

    /// Takes what was counted.
    package init(pool: Int, origins: Int) {
        (self.pool, self.origins) = (pool, origins)
    }
}
