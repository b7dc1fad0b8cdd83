package import FanfareConfiguration
package import FanfareCore

/// The differences between providers: the rest of the program uses this protocol and never tests which provider it is.
///
/// Each implementation has a folder beside this one, and is listed in ``Providers/all``.
package protocol Provider: Sendable {
    /// The settings of its block in the configuration, which also name the provider.
    associatedtype Settings: ProviderSettings

    // MARK: Configuration

    /// The keys of its configuration, and the check of their combination.
    var block: ConfigurationBlock { get }

    // MARK: Messages

    /// The kinds of its tokens.
    var kinds: Set<DeviceKind> { get }

    /// Compiles the content that a rule sends to the provider for one locale.
    ///
    /// - Parameters:
    ///   - parts: the message, and the locale's overlay if there is one.
    ///   - rule: the rule, for its options outside the message.
    /// - Returns: nil if the message has nothing for the provider.
    /// - Throws: `RuleProblem` if the provider would refuse the message.
    func content(_ parts: [MessagePart], rule: RuleDefinition) throws(RuleProblem) -> (any ProviderContent)?

    /// The block of a message for this provider only; nil if the fields of FCM's Message suffice.
    var messageBlock: MessageBlock? { get }

    /// The headers that a request has besides those of the rule, as text for people: `authorization is`.
    var addedHeaders: String { get }

    /// A note on a body that is shown, such as ` before it is encrypted`; empty for most providers.
    var bodyNote: String { get }

    /// Returns whether a push shows nothing and only wakes its app.
    ///
    /// - Parameter headers: the headers of the rendered push.
    /// - Returns: false if unknown.
    func isSilent(_ headers: [(name: String, value: String)]) -> Bool

    /// Returns the size limit of a request's body in bytes.
    ///
    /// - Parameter headers: the headers of the rendered push.
    /// - Returns: nil if the limit is not on the whole body.
    func bodyLimit(_ headers: [(name: String, value: String)]) -> Int?

    // MARK: Recipients

    /// Returns the address of a device.
    ///
    /// - Parameters:
    ///   - recipient: the device.
    ///   - identity: the app's identity at the provider.
    /// - Returns: nil if no push to it can ever succeed; its deliveries end as ``invalidRecipient``.
    func address(of recipient: Recipient, as identity: ProviderIdentity) -> PushAddress?

    /// Checks a device before its registration for defects that the database cannot detect.
    ///
    /// - Parameter recipient: the device; a renewed registration may leave out its keys.
    /// - Returns: the defect; nil if the device has none.
    func fault(of recipient: Recipient) -> RecipientError?

    /// The outcome of a delivery whose device has no valid address; the device is disabled if it is a
    /// ``OutcomeKind/gone``.
    var invalidRecipient: Outcome { get }

    /// Returns the address of an audience that the provider manages.
    ///
    /// - Parameters:
    ///   - audience: the audience.
    ///   - identity: the app's identity at the provider.
    /// - Returns: nil if the provider does not manage such audiences.
    func address(of audience: NativeTarget, as identity: ProviderIdentity) -> PushAddress?

    // MARK: Sending

    /// The outcomes of pushes to the provider, as stored.
    var outcomes: OutcomeBlock { get }

    /// Reads an app's credentials and describes the pools of senders that use them.
    ///
    /// - Parameters:
    ///   - settings: the app's settings.
    ///   - app: the app's name.
    ///   - parts: the parts that all pools share.
    ///   - before: the app's present senders, for state that must survive a reload; nil if there are none.
    /// - Returns: a pool for each environment.
    /// - Throws: ``DaemonError`` for a file that cannot be used.
    func senders(
        _ settings: Settings,
        app: String,
        parts: SenderParts,
        before: ProviderSenders?
    ) throws(DaemonError) -> ProviderSenders

    /// Returns the maximum number of file descriptors of an app's senders.
    ///
    /// - Parameter costs: the descriptors of a pool.
    /// - Returns: the maximum number.
    func descriptors(_ costs: DescriptorCosts) -> Int

    // MARK: Operation

    /// Returns the credentials of an app, with names for people.
    ///
    /// - Parameters:
    ///   - settings: the app's settings.
    ///   - checkup: the app, and the means to read its files.
    /// - Returns: the credentials; empty if devices bring their own.
    func credentials(_ settings: Settings, _ checkup: CredentialCheckup) -> [ProviderCredential]

    /// Checks the files of an app's credentials.
    ///
    /// - Parameters:
    ///   - settings: the app's settings.
    ///   - checkup: the app, and the means to read its files.
    /// - Returns: the findings.
    func checkup(_ settings: Settings, _ checkup: CredentialCheckup) -> [CheckItem]

    /// Probes whether the provider accepts an app's credentials, with requests that reach no device.
    ///
    /// - Parameters:
    ///   - settings: the app's settings.
    ///   - checkup: the app, and the means to read its files.
    /// - Returns: a finding for each environment; empty if a provider answers only for real devices.
    func probe(_ settings: Settings, _ checkup: CredentialCheckup) -> [CheckItem]
}

extension Provider {
    /// The provider's name, in configuration, SQL and logs.
    package var name: PushProvider { PushProvider(rawValue: Settings.name) }

    /// The name for people.
    package var title: String { block.title }

    package var kinds: Set<DeviceKind> { [.device] }
    package var messageBlock: MessageBlock? { nil }
    package var bodyNote: String { "" }
    package func isSilent(_ headers: [(name: String, value: String)]) -> Bool { false }
    package func bodyLimit(_ headers: [(name: String, value: String)]) -> Int? { nil }
    package func fault(of recipient: Recipient) -> RecipientError? { nil }
    package func address(of audience: NativeTarget, as identity: ProviderIdentity) -> PushAddress? { nil }
    package func probe(_ settings: Settings, _ checkup: CredentialCheckup) -> [CheckItem] { [] }

    /// Returns whether an app is configured for the provider.
    package func serves(_ app: Configuration.App?) -> Bool { app?[Settings.self] != nil }

    /// Returns an app's senders, as ``senders(_:app:parts:before:)`` does; nil if it is not configured for this
    /// provider.
    package func senders(
        of app: Configuration.App,
        named name: String,
        parts: SenderParts,
        before: ProviderSenders?
    ) throws(DaemonError) -> ProviderSenders? {
        guard let settings = app[Settings.self] else { return nil }
        return try senders(settings, app: name, parts: parts, before: before)
    }

    /// Returns an app's credentials; see ``credentials(_:_:)``.
    package func credentials(of app: Configuration.App, _ context: CredentialCheckup) -> [ProviderCredential] {
        app[Settings.self].map { credentials($0, context) } ?? []
    }

    /// Checks the files of an app's credentials; see ``checkup(_:_:)``.
    package func checkup(of app: Configuration.App, _ context: CredentialCheckup) -> [CheckItem] {
        app[Settings.self].map { checkup($0, context) } ?? []
    }

    /// Probes an app's credentials; see ``probe(_:_:)``.
    package func probe(of app: Configuration.App, _ context: CredentialCheckup) -> [CheckItem] {
        app[Settings.self].map { probe($0, context) } ?? []
    }
}
